// SPDX-License-Identifier: BSD-2-Clause
/* A sum over all ranks through the kernel's socket: socket RANK MEMBERS ADDRESS-OF-RANK-0 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/canary.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* send() with a control message that says what to do. Without one, it is the sum of int32. */
static ssize_t send_operation(int fd, const struct canary_operation *op, void *data, size_t bytes)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(*op))] = { 0 };
	struct iovec iov = { data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_CANARY;
	cmsg->cmsg_type = CANARY_OPERATION;
	cmsg->cmsg_len = CMSG_LEN(sizeof(*op));
	memcpy(CMSG_DATA(cmsg), op, sizeof(*op));
	return sendmsg(fd, &msg, 0);
}

int main(int argc, char **argv)
{
	struct canary_comm_req comm = { .id = 1 };
	struct sockaddr_canary root = { .scan_family = AF_CANARY, .scan_addr = CANARY_ADDR_IP4(0) };
	struct canary_operation op = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT32 };
	float vector[4] = { 0.1, 10, 100, 1000 };
	int fd, i;

	if (argc != 4 || inet_pton(AF_INET, argv[3], &root.scan_addr.word[3]) != 1)
		errx(2, "usage: %s RANK MEMBERS ADDRESS-OF-RANK-0", argv[0]);
	comm.rank = atoi(argv[1]);
	comm.members = atoi(argv[2]);
	fd = socket(AF_CANARY, SOCK_SEQPACKET, 0);
	if (fd < 0)
		err(1, "socket(AF_CANARY): is the module loaded?");
	if (setsockopt(fd, SOL_CANARY, CANARY_COMM, &comm, sizeof(comm)))
		err(1, "CANARY_COMM");
	if (connect(fd, (struct sockaddr *)&root, sizeof(root)))	/* waits for all ranks */
		err(1, "connect");
	if (send_operation(fd, &op, vector, sizeof(vector)) < 0)	/* this rank's part */
		err(1, "sendmsg");
	if (recv(fd, vector, sizeof(vector), 0) < 0)			/* the sum of all */
		err(1, "recv");
	for (i = 0; i < 4; i++)
		printf("%g%c", vector[i], i < 3 ? ' ' : '\n');
	close(fd);
	return 0;
}
