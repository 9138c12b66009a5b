// SPDX-License-Identifier: BSD-2-Clause
/* A sum over all ranks through the kernel's socket: socket RANK MEMBERS ADDRESS-OF-RANK-0 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/canary.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct canary_comm_req comm = { .id = 1 };
	struct sockaddr_canary root = { .scan_family = AF_CANARY, .scan_addr = CANARY_ADDR_IP4(0) };
	int vector[4] = { 1, 10, 100, 1000 };
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
	if (send(fd, vector, sizeof(vector), 0) < 0)			/* this rank's part */
		err(1, "send");
	if (recv(fd, vector, sizeof(vector), 0) < 0)			/* the sum of all */
		err(1, "recv");
	for (i = 0; i < 4; i++)
		printf("%d%c", vector[i], i < 3 ? ' ' : '\n');
	close(fd);
	return 0;
}
