// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on the application's own memory (CANARY_DESTINATION): sums at any offset, refusals,
 * limits. Every page is released, however an operation ends. The kernel's counters of pinned pages
 * are compared.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "harness.h"
#include "pinned.h"

#define BIG		(1 << 20)
#define IN_FLIGHT	8
#define THREAD_PAIRS	3
#define THREADS		2
#define THREAD_OPS	12
#define THREAD_BYTES	(40 * 1024)

/* However a test ends, every page is released. */
FIXTURE(pins) {
	long before;
};

FIXTURE_SETUP(pins)
{
	set_up_net(_metadata);
	self->before = pinned();
}

FIXTURE_TEARDOWN(pins)
{
	EXPECT_TRUE(given_back(self->before));
	count_checks(_metadata);
}

FIXTURE(pinned_ranks) {
	int x, y;
	long before;
};

FIXTURE_SETUP(pinned_ranks)
{
	set_up_net(_metadata);
	self->before = pinned();
	ASSERT_TRUE(pair(&self->x, &self->y));
}

FIXTURE_TEARDOWN(pinned_ranks)
{
	unpair(self->x, self->y);
	EXPECT_TRUE(given_back(self->before));
	count_checks(_metadata);
}

static const struct {
	const char *what;
	size_t bytes, from, to;		/* offsets in their pages */
	bool in_place, one_copies;
} sum_table[] = {
	{ "sum: one element", 4, 0, 0, false, false },
	{ "sum: one element at the end of a page", 4, PAGE - 4, PAGE - 4, false, false },
	{ "sum: across a page's end", 400, PAGE - 200, PAGE - 4, false, false },
	{ "sum: one block", 1408, 4, 2052, false, false },
	{ "sum: 100 KiB", 100 << 10, 0, 0, false, false },
	{ "sum: at odd elements", (300 << 10) + 4, 4, 4092, false, false },
	{ "sum: in place", (300 << 10) + 20, 12, 12, true, false },
	{ "sum: the other rank copies", (200 << 10) + 8, 8, 1028, false, true },
	{ "sum: in place, the other rank copies", 200 << 10, 516, 516, true, true },
	{ "sum: 1 MiB", BIG, 0, 0, false, false },
};

/* Return: is the sum right, and was nothing else written? */
static bool sum(unsigned int i, int x, int y)
{
	size_t bytes = sum_table[i].bytes, room = bytes + 2 * PAGE;
	char *mem[4] = { pages(room), pages(room), pages(room), pages(room) };
	uint32_t *from[2], *to[2];
	struct canary_completion c;
	bool same = true;
	int r, flags;

	for (r = 0; r < 2; r++) {
		from[r] = (uint32_t *)(mem[r] + sum_table[i].from);
		to[r] = sum_table[i].in_place ? from[r] :
						(uint32_t *)(mem[2 + r] + sum_table[i].to);
		memset(mem[2 + r], 0xaa, room);
		fill(from[r], bytes, r);
	}
	same &= post(x, from[0], to[0], bytes) == (ssize_t)bytes;
	if (sum_table[i].one_copies)
		same &= send(y, from[1], bytes, 0) == (ssize_t)bytes;
	else
		same &= post(y, from[1], to[1], bytes) == (ssize_t)bytes;
	same &= recv_completion(x, NULL, 0, &c, sizeof(c), &flags) == 0 &&
		c.bytes == bytes && !c.error && !(flags & MSG_TRUNC);
	same &= recv(y, to[1], bytes, MSG_TRUNC) == (ssize_t)bytes;
	for (r = 0; r < 2; r++) {
		same &= is_sum(to[r], bytes);
		/* the bytes around it are unchanged */
		if (!sum_table[i].in_place)
			same &= (sum_table[i].to < 1 || ((uint8_t *)to[r])[-1] == 0xaa) &&
				((uint8_t *)to[r])[bytes] == 0xaa && from[r][0] == value(r, 0);
	}
	for (r = 0; r < 4; r++)
		munmap(mem[r], room);
	return same;
}

TEST_F(pinned_ranks, sums)
{
	long before = self->before;
	unsigned int i;
	uint32_t v[8];
	int x = self->x, y = self->y;

	for (i = 0; i < ARRAY_SIZE(sum_table); i++)
		ok(sum_table[i].what, sum(i, x, y));
	ok("sum: no page is pinned any more", pinned() == before);
	ok("barrier: needs no destination", post(x, v, NULL, 0) == 0 && post(y, v, NULL, 0) == 0 &&
	   recv(x, v, 4, MSG_TRUNC) == 0 && recv(y, v, 4, MSG_TRUNC) == 0);
	unpair(x, y);
	ok("sum: all was given back", given_back(before));
}

TEST_F(pins, alone)
{
	int fd = new_socket();
	uint32_t v[8];

	ASSERT_EQ(0, set_comm(fd, 77, 0, 1));
	ASSERT_EQ(0, connect_to(fd, PAIR_PORT));
	fill(v, 16, 3);
	ok("alone: the contribution is the result", post(fd, v, v + 4, 16) == 16 &&
	   ended(fd) == 16 && !memcmp(v, v + 4, 16));
	close(fd);
	drain_ports();
}

TEST_F(pinned_ranks, refused)
{
	char *a = pages(4 * PAGE), *read_only = pages(PAGE), *hole = pages(3 * PAGE);
	struct form two = { .iovs = 2 }, unknown = { .type = 9 }, brief = { .len = 4 };
	struct form again = { .type = CANARY_OPERATION, .len = 16 };
	long before = self->before;
	int x = self->x, y = self->y;

	mprotect(read_only, PAGE, PROT_READ);
	munmap(hole + PAGE, PAGE);
	ok_errno("source at an odd byte is EINVAL", post(x, a + 1, a + PAGE, 100), EINVAL);
	ok_errno("destination at an odd byte is EINVAL", post(x, a, a + PAGE + 2, 100), EINVAL);
	ok_errno("overlap is EINVAL", post(x, a, a + 40, 100), EINVAL);
	ok_errno("overlap from below is EINVAL", post(x, a + 40, a, 100), EINVAL);
	ok_errno("source in two pieces is EINVAL", post_form(x, a, a + PAGE, 100, &two), EINVAL);
	ok_errno("unknown control message is EINVAL", post_form(x, a, a + PAGE, 8, &unknown),
		 EINVAL);
	ok_errno("short control message is EINVAL", post_form(x, a, a + PAGE, 8, &brief), EINVAL);
	ok_errno("operation twice is EINVAL", post_form(x, a, a + PAGE, 8, &again), EINVAL);
	ok_errno("destination that is read-only is EFAULT", post(x, a, read_only, 100), EFAULT);
	ok_errno("in place, read-only, is EFAULT", post(x, read_only, read_only, 100), EFAULT);
	ok_errno("destination with a hole is EFAULT", post(x, a, hole, 3 * PAGE), EFAULT);
	ok_errno("source with a hole is EFAULT", post(x, hole, a, 3 * PAGE), EFAULT);
	ok_errno("destination of the kernel is EFAULT", post(x, a, (void *)-PAGE, 100), EFAULT);
	ok_errno("destination 0 is EFAULT", post(x, a, NULL, 100), EFAULT);
	ok("nothing of that was posted", outq(x) == 0 && operations(x) == 0);
	ok("no page is pinned", pinned() == before);
	ok("a read-only source is right", post(x, read_only, a, 100) == 100 &&
	   post(y, read_only, a + PAGE, 100) == 100 && ended(x) == 100 &&
	   ended(y) == 100);
	unpair(x, y);
	ok("refused: all was given back", given_back(before));
	munmap(a, 4 * PAGE);
	munmap(read_only, PAGE);
	munmap(hole, PAGE);
	munmap(hole + 2 * PAGE, PAGE);
}

/* Run in a process without privilege that may lock 64 pages. */
static int limited(int x, int y)
{
	struct rlimit limit = { 64 * PAGE, 64 * PAGE };
	char *a = pages(BIG), *b = pages(BIG);
	int i;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(65534) || setuid(65534))
		return 2;
	if (post(x, a, b, BIG) >= 0 || errno != ENOBUFS)
		return 3;
	/* far more than the limit, but one after another */
	for (i = 0; i < 40; i++) {
		if (post(x, a, a, 20 * PAGE) != 20 * PAGE ||
		    post(y, b, b, 20 * PAGE) != 20 * PAGE ||
		    ended(x) != 20 * PAGE || ended(y) != 20 * PAGE)
			return 4;
	}
	/* both at once exceed the limit, but copies do not count */
	if (post(x, a, a, 40 * PAGE) != 40 * PAGE || post(y, b, b, 40 * PAGE) >= 0 ||
	    errno != ENOBUFS || send(y, b, 40 * PAGE, 0) != 40 * PAGE)
		return 5;
	return ended(x) == 40 * PAGE && recv(y, b, 40 * PAGE, MSG_TRUNC) == 40 * PAGE ? 0 : 6;
}

TEST_F(pinned_ranks, limit)
{
	long before = self->before;
	int x = self->x, y = self->y, st;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(limited(x, y));
	waitpid(pid, &st, 0);
	ok("RLIMIT_MEMLOCK: beyond is ENOBUFS, and what is over counts no more", st == 0);
	if (st)
		TH_LOG("step %d", WEXITSTATUS(st));
	unpair(x, y);
	ok("limit: all was given back", given_back(before));
}

TEST_F(pinned_ranks, in_flight)
{
	static uint32_t got[PAGE];
	char *mem = pages(4 * BIG);
	long before = self->before;
	struct canary_completion c;
	bool good = true;
	int x = self->x, y = self->y, i, r, flags;

	for (i = 0; i < IN_FLIGHT; i++) {
		for (r = 0; r < 2; r++) {
			struct form f = { .tag = i };
			char *from = mem + (2 * i + r) * (BIG / 8) + 4 * i;

			fill((uint32_t *)from, 100000, r);
			/* every third one with copies */
			if (i % 3 == 2)
				good &= send(r ? y : x, from, 16384, 0) == 16384;
			else
				good &= post_form(r ? y : x, from, from, 100000, &f) == 100000;
		}
	}
	for (i = 0; i < IN_FLIGHT; i++) {
		for (r = 0; r < 2; r++) {
			bool copied = i % 3 == 2;
			ssize_t want = copied ? 16384 : 100000;

			good &= recv_completion(r ? y : x, got, sizeof(got), &c, sizeof(c),
						&flags) == (copied ? want : 0);
			good &= c.bytes == want && c.seq == (uint32_t)i &&
				(copied || c.tag == (uint64_t)i);
			good &= is_sum(copied ? got :
				       (uint32_t *)(mem + (2 * i + r) * (BIG / 8) + 4 * i), want);
		}
	}
	ok("in flight: eight, with and without copies, in the order of posting", good);
	ok("in flight: no page is pinned any more", pinned() == before);
	unpair(x, y);
	munmap(mem, 4 * BIG);
}

struct worker {
	pthread_t thread;
	int fd, rank;
	bool good;
};

/* Post and receive on a socket that others use as well. Nobody knows who gets which result. */
static void *work(void *arg)
{
	struct worker *w = arg;
	uint32_t *from = pages(THREAD_BYTES), *to = pages(THREAD_BYTES);
	int i;

	fill(from, THREAD_BYTES, w->rank);
	w->good = true;
	for (i = 0; i < THREAD_OPS; i++) {
		w->good &= post(w->fd, from, to, THREAD_BYTES) == THREAD_BYTES;
		w->good &= ended(w->fd) == THREAD_BYTES;
	}
	return to;
}

TEST_F(pins, threads)
{
	struct worker w[THREAD_PAIRS][2][THREADS];
	int fd[THREAD_PAIRS][2], p, r, t;
	long before = self->before;
	bool good = true;
	void *to;

	for (p = 0; p < THREAD_PAIRS; p++) {
		fd[p][0] = new_socket();
		fd[p][1] = new_socket();
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, set_comm(fd[p][r], 500 + p, r, 2));
			nonblock(fd[p][r], true);
			connect_to(fd[p][r], PAIR_PORT + p);
		}
	}
	for (p = 0; p < THREAD_PAIRS; p++) {
		for (r = 0; r < 2; r++) {
			good &= !!(wait_events(fd[p][r], POLLOUT) & POLLOUT);
			nonblock(fd[p][r], false);
			for (t = 0; t < THREADS; t++) {
				w[p][r][t] = (struct worker){ .fd = fd[p][r], .rank = r };
				pthread_create(&w[p][r][t].thread, NULL, work, &w[p][r][t]);
			}
		}
	}
	for (p = 0; p < THREAD_PAIRS; p++) {
		for (r = 0; r < 2; r++) {
			for (t = 0; t < THREADS; t++) {
				pthread_join(w[p][r][t].thread, &to);
				good &= w[p][r][t].good && is_sum(to, THREAD_BYTES);
				munmap(to, THREAD_BYTES);
			}
		}
	}
	ok("threads: many a socket, many sockets, exact", good);
	for (p = 0; p < THREAD_PAIRS; p++)
		unpair(fd[p][0], fd[p][1]);
	ok("threads: all was given back", given_back(before));
}

/* A process with both ranks is killed when one of them has posted. */
FIXTURE(killed) {
	long before;
};

FIXTURE_VARIANT(killed) {
	const char *what;
	size_t other;		/* bytes that the other rank has posted, too */
};

FIXTURE_VARIANT_ADD(killed, in_an_operation) {
	.what = "killed in an operation: pages are given back",
};

FIXTURE_VARIANT_ADD(killed, disagreed) {
	.what = "killed after ranks disagreed: pages are given back",
	.other = BIG / 2,
};

FIXTURE_VARIANT_ADD(killed, not_received) {
	.what = "killed with a result not received: pages are given back",
	.other = BIG,
};

FIXTURE_SETUP(killed)
{
	set_up_net(_metadata);
	self->before = pinned();
}

FIXTURE_TEARDOWN(killed)
{
	count_checks(_metadata);
}

TEST_F(killed, killed)
{
	char *mem = pages(BIG);
	int x, y, st, ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		if (!pair(&x, &y) || post(x, mem, mem, BIG) != BIG)
			_exit(1);
		if (variant->other)
			post(y, mem, mem, variant->other);
		(void)!write(ready[1], "r", 1);
		pause();
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	kill(pid, SIGKILL);
	waitpid(pid, &st, 0);
	close(ready[0]);
	drain_ports();
	ok(variant->what, given_back(self->before));
	munmap(mem, BIG);
}

TEST_F(pins, ended)
{
	char *mem = pages(2 * BIG);
	long before = self->before;
	int x, y;

	memset(mem, 1, 2 * BIG);
	ASSERT_TRUE(pair(&x, &y));
	ok("ended: posted", post(x, mem, mem + BIG, BIG) == BIG);
	ok("ended: pages are pinned meanwhile", pinned() >= before + 2 * BIG / PAGE);
	close(x);
	send(y, mem, BIG, 0);
	ok_errno("ended: the other rank is told", recv(y, mem, BIG, MSG_TRUNC), ECONNRESET);
	close(y);
	drain_ports();
	ok("closed in an operation: pages are given back", given_back(before));
	ASSERT_TRUE(pair(&x, &y));
	post(x, mem, mem + BIG, BIG);
	close(y);
	ok_errno("failed in an operation: recv says so", ended(x), ECONNRESET);
	ok("failed in an operation: pages are given back", given_back(before));
	close(x);
	drain_ports();
	ASSERT_TRUE(pair(&x, &y));
	post(x, mem, mem + BIG, BIG);
	munmap(mem, 2 * BIG);
	mem = pages(BIG);
	post(y, mem, mem, BIG);
	ok("unmapped meanwhile: completes all the same", ended(x) == BIG &&
	   ended(y) == BIG);
	unpair(x, y);
	ok("unmapped meanwhile: pages are given back", given_back(before));
	munmap(mem, BIG);
}

static volatile bool scribbling;

static void *scribble(void *arg)
{
	volatile uint32_t *v = arg;
	unsigned int i = 0;

	while (scribbling) {
		v[i % (BIG / 4)]++;
		i += 97;
	}
	return NULL;
}

/*
 * An application that changes its buffers meanwhile harms nobody: all operations end, with a result
 * or an error.
 */
TEST_F(pins, scribbled)
{
	char *mem = pages(2 * BIG);
	long before = self->before;
	pthread_t thread;
	ssize_t got;
	int x, y, i;

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(pair(&x, &y));
		scribbling = true;
		pthread_create(&thread, NULL, scribble, mem + BIG * i);
		post(x, mem, mem + BIG, BIG);
		send(y, mem, BIG, 0);
		got = ended(x);
		scribbling = false;
		pthread_join(thread, NULL);
		ok(i ? "scribbled into the results: ends" : "scribbled into the contributions: ends",
		   got == BIG || (got < 0 && errno == ECONNRESET));
		close(x);
		close(y);
		drain_ports();
	}
	ok("scribbled: all was given back", given_back(before));
	ASSERT_TRUE(pair(&x, &y));
	fill((uint32_t *)mem, BIG, 0);
	post(x, mem, mem, BIG);
	fill((uint32_t *)(mem + BIG), BIG, 1);
	post(y, mem + BIG, mem + BIG, BIG);
	ok("scribbled: the next ones are exact", ended(x) == BIG &&
	   ended(y) == BIG && is_sum((uint32_t *)mem, BIG) &&
	   is_sum((uint32_t *)(mem + BIG), BIG));
	unpair(x, y);
	munmap(mem, 2 * BIG);
}

/*
 * Other ways to receive the result of an operation on own memory put nothing into the caller's
 * buffer. They must not pass on old content as if it were the result.
 */
TEST_F(pinned_ranks, other_reads)
{
	char *from = pages(BIG), *to = pages(BIG), buf[64];
	int x = self->x, y = self->y, pipes[2], left = -1;

	ASSERT_EQ(0, pipe(pipes));
	memset(buf, 0xaa, sizeof(buf));
	ok("read: posted", post(x, from, to, BIG) == BIG && send(y, from, BIG, 0) == BIG);
	wait_events(x, POLLIN);
	ok("read: says that nothing was", read(x, buf, sizeof(buf)) == 0 && buf[0] == (char)0xaa);
	ok("splice: posted", recv(y, from, BIG, 0) == BIG && post(x, from, to, BIG) == BIG &&
	   send(y, from, BIG, 0) == BIG);
	wait_events(x, POLLIN);
	ok("splice: nothing either", splice(x, NULL, pipes[1], NULL, PAGE, 0) <= 0);
	ok("splice: nothing is in the pipe", !ioctl(pipes[0], FIONREAD, &left) && left == 0);
	close(pipes[0]);
	close(pipes[1]);
	unpair(x, y);
	munmap(from, BIG);
	munmap(to, BIG);
}

TEST_HARNESS_MAIN
