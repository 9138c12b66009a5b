// SPDX-License-Identifier: BSD-2-Clause
/*
 * The delay line of the fault injector: a veth pair with an HTB that has one class for each slot. A
 * class has the rate FAULT_LINE_BYTES / delay, and every packet counts as FAULT_LINE_BYTES. So it
 * lets one packet go in each delay. iproute2 does the netlink part.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/fault/fault.h"
#include "fault_line.h"
#include "userspace/common/complain.h"

static void child(const char *const argv[], const int in[2], const int out[2], bool quiet)
{
	int null = open("/dev/null", O_RDWR);

	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	if (quiet && null >= 0)
		dup2(null, STDERR_FILENO);
	close(in[1]);
	close(out[0]);
	execvp(argv[0], (char *const *)argv);
	complain_errno("canary fault", argv[0]);
	_exit(127);
}

static void feed(int fd, const char *input)
{
	size_t left = input ? strlen(input) : 0;
	ssize_t n;

	while (left) {
		n = write(fd, input, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		input += n;
		left -= n;
	}
	close(fd);
}

/* The child reads all of its input before it prints. So feeding it first cannot deadlock. */
int fault_run(const char *const argv[], const char *input, bool quiet, bool *printed)
{
	int in[2], out[2], status;
	char buffer[512];
	bool any = false;
	ssize_t n;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC))
		return -1;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(argv, in, out, quiet);
	close(in[0]);
	close(out[1]);
	feed(in[1], pid < 0 ? NULL : input);
	while ((n = read(out[0], buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		any |= n > 0;
	}
	close(out[0]);
	if (printed)
		*printed = any;
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

void fault_line_name(struct fault_line *line, unsigned int ifindex, bool ingress)
{
	memset(line, 0, sizeof(*line));
	snprintf(line->near, sizeof(line->near), "cnyf%u%c0", ifindex % 100000000,
		 ingress ? 'i' : 'e');
	snprintf(line->far, sizeof(line->far), "cnyf%u%c1", ifindex % 100000000,
		 ingress ? 'i' : 'e');
}

void fault_line_remove(const struct fault_line *line)
{
	const char *const argv[] = { "ip", "link", "del", "dev", line->near, NULL };

	if (if_nametoindex(line->near))
		fault_run(argv, NULL, false, NULL);
}

/* No addresses and no ARP, so that the kernel sends little of its own. The rest is dropped. */
static int make_pair(const struct fault_line *line)
{
	static const char *const argv[] = { "ip", "-batch", "-", NULL };
	char batch[512];

	snprintf(batch, sizeof(batch),
		 "link add name %s mtu 65535 type veth peer name %s mtu 65535\n"
		 "link set dev %s addrgenmode none arp off up\n"
		 "link set dev %s addrgenmode none arp off up\n",
		 line->near, line->far, line->near, line->far);
	return fault_run(argv, batch, false, NULL);
}

static int make_classes(const struct fault_line *line, const uint64_t *slot_ns)
{
	static const char *const argv[] = { "tc", "-batch", "-", NULL };
	size_t size = 128 + FAULT_SLOTS * 160, used;
	char *batch = malloc(size);
	unsigned long long rate;
	int i, err;

	if (!batch)
		return -1;
	used = snprintf(batch, size, "qdisc add dev %s root handle %x: htb\n", line->near,
			FAULT_LINE_MAJOR);
	for (i = 0; i < FAULT_SLOTS; i++) {
		if (!slot_ns[i])
			continue;
		rate = FAULT_LINE_BYTES * 8ULL * 1000000000ULL / slot_ns[i];
		used += snprintf(batch + used, size - used,
				 "class add dev %s parent %x: classid %x:%x htb rate %llubit ceil %llubit"
				 " burst 1 cburst 1 mpu %d quantum %d\n",
				 line->near, FAULT_LINE_MAJOR, FAULT_LINE_MAJOR, i + 1, rate, rate,
				 FAULT_LINE_BYTES, FAULT_LINE_BYTES);
	}
	err = fault_run(argv, batch, false, NULL);
	free(batch);
	return err;
}

int fault_line_make(struct fault_line *line, const uint64_t *slot_ns)
{
	/* Another device may have had this index before, and left its line behind. */
	fault_line_remove(line);
	if (make_pair(line) || make_classes(line, slot_ns)) {
		complain("canary fault", "cannot make the delay line %s", line->near);
		fault_line_remove(line);
		return -1;
	}
	line->near_ifindex = if_nametoindex(line->near);
	line->far_ifindex = if_nametoindex(line->far);
	return 0;
}
