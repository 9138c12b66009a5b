// SPDX-License-Identifier: GPL-2.0
/* Common functions of the tests of operations on the application's own memory */
#include <err.h>

#include "pinned.h"

/*
 * Number of pinned pages that were not released, on the whole machine. Each processor has its own
 * counter.
 */
long pinned(void)
{
	FILE *refresh = fopen("/proc/sys/vm/stat_refresh", "w"), *f;
	char name[64];
	long value, sum = 0;

	if (refresh) {
		fputs("1", refresh);
		fclose(refresh);
	}
	f = fopen("/proc/vmstat", "r");
	while (f && fscanf(f, "%63s %ld", name, &value) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			sum += value;
		if (!strcmp(name, "nr_foll_pin_released"))
			sum -= value;
	}
	if (f)
		fclose(f);
	return sum;
}

/* Are all released? Engines that linger, and the work queue, release theirs soon. */
bool given_back(long before)
{
	double until = now() + PATIENCE / 1000;

	while (pinned() != before && now() < until)
		usleep(10000);
	if (pinned() != before)
		fprintf(stderr, "# %ld pages pinned, %ld before\n", pinned(), before);
	return pinned() == before && proc_value("vector-bytes") == 0;
}

void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");		/* only the test in this process fails */
	return p;
}

/* Post @size bytes from @from; the result goes to @to. @form: deviations, or NULL */
ssize_t post_form(int fd, void *from, void *to, size_t size, const struct form *form)
{
	static const struct form usual;
	const struct form *f = form ?: &usual;
	struct canary_operation op = {
		.op = f->op ?: CANARY_OP_SUM, .dtype = f->dtype ?: CANARY_INT32, .flags = f->how,
		.tag = f->tag,
	};
	struct canary_destination dst = { (uintptr_t)to };
	char control[CMSG_SPACE(sizeof(op)) + CMSG_SPACE(sizeof(dst))] = { 0 };
	struct iovec iov[2] = { { from, size }, { 0 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	if (f->iovs == 2) {
		iov[0].iov_len = size / 2;
		iov[1].iov_base = (char *)from + size / 2;
		iov[1].iov_len = size - size / 2;
		msg.msg_iovlen = 2;
	}
	cmsg->cmsg_level = SOL_CANARY;
	cmsg->cmsg_type = CANARY_OPERATION;
	cmsg->cmsg_len = CMSG_LEN(sizeof(op));
	memcpy(CMSG_DATA(cmsg), &op, sizeof(op));
	cmsg = CMSG_NXTHDR(&msg, cmsg);
	cmsg->cmsg_level = SOL_CANARY;
	cmsg->cmsg_type = f->type ? f->type : CANARY_DESTINATION;
	cmsg->cmsg_len = CMSG_LEN(f->len ? f->len : (int)sizeof(dst));
	memcpy(CMSG_DATA(cmsg), &dst, sizeof(dst));
	return sendmsg(fd, &msg, f->flags);
}

/* Wait for the oldest operation. Return: its length, or -1 if it failed */
ssize_t ended(int fd)
{
	return recv(fd, NULL, 0, MSG_TRUNC);
}

ssize_t post(int fd, void *from, void *to, size_t size)
{
	return post_form(fd, from, to, size, NULL);
}

uint32_t value(unsigned int rank, unsigned int i)
{
	return (i + 1) * 2654435761U ^ rank * 0x9e3779b9U;
}

void fill(uint32_t *v, size_t bytes, unsigned int rank)
{
	size_t i;

	for (i = 0; i < bytes / 4; i++)
		v[i] = value(rank, i);
}

bool is_sum(const uint32_t *v, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes / 4; i++) {
		if (v[i] != value(0, i) + value(1, i)) {
			fprintf(stderr, "# element %zu of %zu is %#x, expected %#x\n", i, bytes / 4,
				v[i], value(0, i) + value(1, i));
			return false;
		}
	}
	return true;
}
