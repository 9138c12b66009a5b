// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel keeps of operations whose words are not the elements: it is charged to the socket
 * and the namespace, with copies and without, refused by name where there is no room, and given
 * back however an operation ends. How much that is follows from docs/floating-point.md, and is
 * computed here once more.
 */
#include "harness.h"
#include "pinned.h"

#define N		100001		/* elements */
#define BYTES		(N * 4)
#define WINDOWS		512		/* partial sums that a ring may have, of a window of 256 */

FIXTURE(kept) {
	int x, y;
	long before;
	char *in[2], *out[2];
};

FIXTURE_SETUP(kept)
{
	int i;

	set_up_net(_metadata);
	self->before = pinned();
	ASSERT_TRUE(pair(&self->x, &self->y));
	for (i = 0; i < 2; i++) {
		self->in[i] = pages(2 * BYTES);
		self->out[i] = pages(2 * BYTES);
	}
}

FIXTURE_TEARDOWN(kept)
{
	unpair(self->x, self->y);
	EXPECT_TRUE(given_back(self->before));
	count_checks(_metadata);
}

static ssize_t put(FIXTURE_DATA(kept) *self, int rank, const struct form *form, size_t bytes)
{
	struct form f = *form;

	f.flags |= MSG_DONTWAIT;
	return post_form(rank ? self->y : self->x, self->in[rank], self->out[rank], bytes, &f);
}

static ssize_t put_copy(int fd, char *data, const struct form *form, size_t bytes)
{
	struct canary_operation o = { .op = form->op, .dtype = form->dtype, .flags = form->how };

	return send_operation(fd, data, bytes, &o, 0, 0, false);
}

static bool nothing_charged(FIXTURE_DATA(kept) *self)
{
	double until = now() + PATIENCE / 1000;

	while ((outq(self->x) || outq(self->y) || proc_value("vector-bytes")) && now() < until)
		usleep(10000);
	return !outq(self->x) && !outq(self->y) && !proc_value("vector-bytes");
}

static const struct form plain = { .op = CANARY_OP_SUM, .dtype = CANARY_INT32 };
static const struct form groups = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT32 };
static const struct form each = { .op = CANARY_OP_AVG, .dtype = CANARY_FLOAT32,
				  .how = CANARY_HOW_ELEMENTWISE };
static const struct form exact = { .op = CANARY_OP_SUM, .dtype = CANARY_FLOAT32,
				   .how = CANARY_HOW_EXACT };
static const struct form product = { .op = CANARY_OP_PROD, .dtype = CANARY_FLOAT32 };
static const struct form least = { .op = CANARY_OP_MIN, .dtype = CANARY_FLOAT32 };

/*
 * @own: bytes kept for itself, without heads and the like; all have partial sums of rings besides
 * @words: bytes of words for each byte of the vector, in all blocks that there may be, at most
 */
static const struct kept {
	const char *name;
	const struct form *form;
	long own, words;
} kept_table[] = {
	/* exponents twice, a byte for each group of at most 16; 2 bits for each element */
	{ "groups", &groups, 2 * (N / 16 + 1) + N / 4, 3 },
	{ "each", &each, 2 * N + N / 4, 3 },
	{ "exact", &exact, 0, 33 },
	{ "product", &product, 0, 2 },
	{ "minimum", &least, 0, 1 },
};

static long less(long a, long b)
{
	return a < b ? a : b;
}

/*
 * Two ranks, one of which has posted: its operation is under way. Without copies, the kernel has
 * what is kept, 8 bytes for each block, and some for each page.
 */
TEST_F(kept, charged)
{
	long taken, pages_of = 2 * (BYTES / PAGE + 2) * 16, room, least_of, most;
	long length = status(self->x).elements * 4;
	const struct kept *k;
	int i;

	for (k = kept_table; k < kept_table + ARRAY_SIZE(kept_table); k++) {
		ASSERT_EQ(BYTES, put(self, 0, k->form, BYTES));
		taken = outq(self->x);
		room = WINDOWS * length;
		least_of = k->own + less(room, BYTES);
		most = k->own + k->own / 16 + less(room, k->words * BYTES + 8 * length) +
		       8 * (k->words * BYTES / length + 8) + pages_of + 3 * PAGE;
		TH_LOG("%s: %ld bytes are kept, of them %ld by itself", k->name, taken, k->own);
		ok("charged: it is not less than what is kept", taken >= least_of);
		ok("charged: nor much more", taken <= most);
		ok("charged: to the namespace, too", proc_value("vector-bytes") == taken);
		ASSERT_EQ(BYTES, put(self, 1, k->form, BYTES));
		for (i = 0; i < 2; i++)
			ASSERT_EQ(BYTES, ended(i ? self->y : self->x));
		ok("charged: it is given back at the end", nothing_charged(self));
		ASSERT_EQ(BYTES, put_copy(self->x, self->in[0], k->form, BYTES));
		ok("charged: with a copy, the vector besides",
		   outq(self->x) >= BYTES + least_of && outq(self->x) <= BYTES + most);
		ASSERT_EQ(BYTES, put_copy(self->y, self->in[1], k->form, BYTES));
		for (i = 0; i < 2; i++)
			ASSERT_EQ(BYTES, recv(i ? self->y : self->x, self->out[i], BYTES, 0));
		ok("charged: it is given back, with a copy", nothing_charged(self));
	}
}

/* What is refused takes nothing. What a vector takes besides its length makes the error. */
TEST_F(kept, refused)
{
	int x = self->x, room = 250000, was;	/* setsockopt() doubles it */
	socklen_t len = sizeof(was);
	long max;

	ASSERT_EQ(0, getsockopt(x, SOL_SOCKET, SO_SNDBUF, &was, &len));
	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)));
	ok_errno("SO_SNDBUF: more than all of it is EMSGSIZE", put(self, 0, &groups, BYTES),
		 EMSGSIZE);
	ok("SO_SNDBUF: the same length of int32 is not", put(self, 0, &plain, BYTES) == BYTES);
	ASSERT_EQ(BYTES, put(self, 1, &plain, BYTES));
	ASSERT_EQ(BYTES, ended(x));
	ASSERT_EQ(BYTES, ended(self->y));
	ok("SO_SNDBUF: what was refused takes nothing", nothing_charged(self));
	room = 600000;
	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)));
	ASSERT_EQ(BYTES, put(self, 0, &groups, BYTES));
	ok_errno("SO_SNDBUF: more than what is left is EAGAIN", put(self, 0, &groups, BYTES),
		 EAGAIN);
	ASSERT_EQ(BYTES, put(self, 1, &groups, BYTES));
	ASSERT_EQ(BYTES, ended(x));
	ASSERT_EQ(BYTES, ended(self->y));
	ok("SO_SNDBUF: then there is room again", nothing_charged(self) &&
	   put(self, 0, &groups, BYTES) == BYTES);
	ASSERT_EQ(BYTES, put(self, 1, &groups, BYTES));
	ASSERT_EQ(BYTES, ended(x));
	ASSERT_EQ(BYTES, ended(self->y));
	was /= 2;
	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_SNDBUFFORCE, &was, sizeof(was)));
	ASSERT_TRUE(nothing_charged(self));
	max = set_value(SYSCTL "mem_max", proc_value("core-bytes") + 500000);
	ASSERT_LE(0, max);
	ok_errno("mem_max: more is ENOBUFS", put(self, 0, &groups, BYTES), ENOBUFS);
	ok("mem_max: and takes nothing", nothing_charged(self));
	ok("mem_max: the same length of int32 is not", put(self, 0, &plain, BYTES) == BYTES);
	ASSERT_LE(0, set_value(SYSCTL "mem_max", 1 << 30));
	ASSERT_EQ(BYTES, put(self, 1, &plain, BYTES));
	ASSERT_EQ(BYTES, ended(x));
	ASSERT_EQ(BYTES, ended(self->y));
}

/* However operations end that have not settled, and others behind them, all is given back. */
TEST_F(kept, ended)
{
	int i, x = self->x;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(1000, put_copy(x, self->in[0], &each, 1000));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(BYTES, put(self, 0, i ? &exact : &groups, BYTES));
	ok("ended: six are under way, and charged",
	   proc_value("vector-bytes") >= 3 * BYTES);
	close(self->y);
	for (i = 0; i < 6; i++)
		ok_errno("ended: the other rank closed", recv(x, self->out[1], BYTES, 0),
			 ECONNRESET);
	self->y = new_socket();
	ok("ended: it is given back", nothing_charged(self));
}

/* The same when the socket itself is closed: the engine of the other rank lingers. */
TEST_F(kept, closed)
{
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(BYTES, put(self, 0, &groups, BYTES));
	close(self->x);
	self->x = new_socket();
	ok("closed: it is given back", nothing_charged(self) && given_back(self->before));
}

TEST_HARNESS_MAIN
