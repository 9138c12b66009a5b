// SPDX-License-Identifier: GPL-2.0
/*
 * Operators on integers of 1 to 8 bytes: results of any length, with copies and in the
 * application's memory, and the memory that they take. What is right is computed here once more.
 */
#include "harness.h"
#include "pinned.h"

#define MOST		(1 << 20)	/* bytes of a vector */
#define EDGES		8

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

static const struct type {
	const char *name;
	uint8_t dtype, bytes;
	bool with_sign;
} types[] = {
	{ "int8", CANARY_INT8, 1, true }, { "uint8", CANARY_UINT8, 1, false },
	{ "int16", CANARY_INT16, 2, true }, { "uint16", CANARY_UINT16, 2, false },
	{ "int32", CANARY_INT32, 4, true }, { "uint32", CANARY_UINT32, 4, false },
	{ "int64", CANARY_INT64, 8, true }, { "uint64", CANARY_UINT64, 8, false },
};

#define INT8	(&types[0])
#define INT16	(&types[2])
#define UINT64	(&types[7])

static const char *const operator_name[] = {
	"", "sum", "prod", "min", "max", "and", "or", "xor", "land", "lor", "lxor", "avg",
};

static uint64_t mask(const struct type *t)
{
	return ~0ULL >> (64 - 8 * t->bytes);
}

static wide number(const struct type *t, uint64_t bits)
{
	uint64_t sign = 1ULL << (8 * t->bytes - 1);

	return t->with_sign ? (wide)(int64_t)((bits ^ sign) - sign) : (wide)bits;
}

/* Every pair of edges appears among the first 64 elements. */
static uint64_t given(const struct type *t, unsigned int rank, size_t i)
{
	const uint64_t sign = 1ULL << (8 * t->bytes - 1);
	const uint64_t edge[EDGES] = { 0, ~0ULL, sign, sign - 1, sign + 1, 1, 2, 0x55 };

	if (i < EDGES * EDGES)
		return edge[rank ? i / EDGES : i % EDGES] & mask(t);
	return (value(rank, i) | (uint64_t)value(rank + 2, i) << 32) & mask(t);
}

static uint64_t right(const struct type *t, unsigned int op, size_t i)
{
	wide a = number(t, given(t, 0, i)), b = number(t, given(t, 1, i)), all = a + b;

	switch (op) {
	case CANARY_OP_PROD:
		all = (wide)((uwide)a * (uwide)b);
		break;
	case CANARY_OP_MIN:
		all = a < b ? a : b;
		break;
	case CANARY_OP_MAX:
		all = a > b ? a : b;
		break;
	case CANARY_OP_AND:
		all = a & b;
		break;
	case CANARY_OP_OR:
		all = a | b;
		break;
	case CANARY_OP_XOR:
		all = a ^ b;
		break;
	case CANARY_OP_LAND:
		all = a && b;
		break;
	case CANARY_OP_LOR:
		all = a || b;
		break;
	case CANARY_OP_LXOR:
		all = !a != !b;
		break;
	case CANARY_OP_AVG:
		all /= 2;
		break;
	}
	return (uint64_t)all & mask(t);
}

static void give(const struct type *t, unsigned int rank, char *to, size_t n)
{
	uint64_t element;
	size_t i;

	for (i = 0; i < n; i++) {
		element = given(t, rank, i);
		memcpy(to + i * t->bytes, &element, t->bytes);
	}
}

static bool is_right(const struct type *t, unsigned int op, const char *got, size_t n)
{
	uint64_t element, want;
	size_t i;

	for (i = 0; i < n; i++) {
		element = 0;
		memcpy(&element, got + i * t->bytes, t->bytes);
		want = right(t, op, i);
		if (element == want)
			continue;
		fprintf(stderr, "# %s of %s: element %zu of %zu is %#llx, not %#llx\n",
			operator_name[op], t->name, i, n, (unsigned long long)element,
			(unsigned long long)want);
		return false;
	}
	return true;
}

static ssize_t send_as(int fd, char *data, size_t size, const struct type *t, unsigned int op)
{
	struct canary_operation o = { .op = op, .dtype = t->dtype };

	return send_operation(fd, data, size, &o, 0, 0, false);
}

static ssize_t pin_as(int fd, char *from, char *to, size_t size, const struct type *t,
		      unsigned int op)
{
	struct form form = { .op = op, .dtype = t->dtype };

	return post_form(fd, from, to, size, &form);
}

FIXTURE(types) {
	int x, y;
	long before;
	char *in[2], *out[2];
};

FIXTURE_SETUP(types)
{
	int i;

	set_up_net(_metadata);
	self->before = pinned();
	ASSERT_TRUE(pair(&self->x, &self->y));
	for (i = 0; i < 2; i++) {
		self->in[i] = pages(MOST + PAGE);
		self->out[i] = pages(MOST + PAGE);
	}
}

FIXTURE_TEARDOWN(types)
{
	unpair(self->x, self->y);
	EXPECT_TRUE(given_back(self->before));
	count_checks(_metadata);
}

/* Reduce @n elements of both ranks. Return: is the result right at both? */
static bool reduce(FIXTURE_DATA(types) *self, const struct type *t, unsigned int op, size_t n)
{
	size_t size = n * t->bytes;
	int i, fd[2] = { self->x, self->y };
	bool good = true;

	for (i = 0; i < 2; i++) {
		give(t, i, self->in[i], n);
		good &= send_as(fd[i], self->in[i], size, t, op) == (ssize_t)size;
	}
	for (i = 0; i < 2; i++) {
		memset(self->out[i], 0x5a, size + 8);
		good &= recv(fd[i], self->out[i], size + 8, 0) == (ssize_t)size &&
			is_right(t, op, self->out[i], n) && self->out[i][size] == 0x5a;
	}
	return good;
}

TEST_F(types, results)
{
	static const size_t few[] = { 0, 1, 2, 3, 5, 7 };
	unsigned int op, t, i;
	char what[64];

	for (op = CANARY_OP_SUM; op <= CANARY_OP_AVG; op++) {
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			snprintf(what, sizeof(what), "%s of %s", operator_name[op], types[t].name);
			ok(what, reduce(self, &types[t], op, 1501));
		}
	}
	for (t = 0; t < ARRAY_SIZE(types); t++)
		for (i = 0; i < ARRAY_SIZE(few); i++)
			ok("few elements, or none",
			   reduce(self, &types[t], CANARY_OP_MIN, few[i]) &&
			   reduce(self, &types[t], CANARY_OP_PROD, few[i]) &&
			   reduce(self, &types[t], CANARY_OP_AVG, few[i]));
}

TEST_F(types, lengths)
{
	char data[16] = { 0 };
	int x = self->x, y = self->y;

	ok_errno("int64: 12 bytes are EINVAL", send_as(x, data, 12, UINT64, CANARY_OP_SUM), EINVAL);
	ok_errno("int16: 3 bytes are EINVAL", send_as(x, data, 3, INT16, CANARY_OP_MIN), EINVAL);
	ok_errno("type 20 is EOPNOTSUPP",
		 send_as(x, data, 8, &(struct type){ "", 20, 8, false }, CANARY_OP_SUM), EOPNOTSUPP);
	ok_errno("operator 14 is EOPNOTSUPP", send_as(x, data, 8, INT16, 14), EOPNOTSUPP);
	give(INT8, 0, self->in[0], 7);
	give(INT8, 1, self->in[1], 7);
	ASSERT_EQ(7, send_as(x, self->in[0], 7, INT8, CANARY_OP_MAX));
	ASSERT_EQ(7, send_as(y, self->in[1], 7, INT8, CANARY_OP_MAX));
	ok("a shorter buffer has the beginning",
	   recv(x, self->out[0], 5, MSG_TRUNC) == 7 &&
	   is_right(INT8, CANARY_OP_MAX, self->out[0], 5) && !self->out[0][5]);
	ok("the other rank", recv(y, self->out[1], 7, 0) == 7 &&
	   is_right(INT8, CANARY_OP_MAX, self->out[1], 7));
}

/* @apart: between the beginnings of source and destination; 0: in place */
static const struct pin {
	const struct type *type;
	uint8_t op;
	size_t n, at, apart;
	bool one_copies;
} pin_table[] = {
	{ INT16, CANARY_OP_MIN, 3, 0, PAGE, false },
	{ INT16, CANARY_OP_MIN, 100001, 4, MOST, false },
	{ INT16, CANARY_OP_MIN, 100001, 12, 0, true },
	{ INT8, CANARY_OP_SUM, 100003, PAGE - 4, 0, false },
	{ INT8, CANARY_OP_LAND, 70001, 0, MOST, true },
	{ INT8, CANARY_OP_AVG, MOST - 1, 4, 0, false },
	{ INT8, CANARY_OP_AVG, 300001, 4, MOST, false },
	{ UINT64, CANARY_OP_MAX, 20001, 4, 0, false },
	{ UINT64, CANARY_OP_SUM, 20001, 4, MOST, true },
};

static bool pinned_right(const struct pin *p, int x, int y)
{
	size_t size = p->n * p->type->bytes;
	int i, fd[2] = { x, y };
	char *from, *to[2];
	bool good = true;

	for (i = 0; i < 2; i++) {
		from = (char *)pages(2 * MOST + 2 * PAGE) + p->at;
		to[i] = from + p->apart;
		give(p->type, i, from, p->n);
		if (i && p->one_copies)
			good &= send_as(fd[i], from, size, p->type, p->op) == (ssize_t)size;
		else
			good &= pin_as(fd[i], from, to[i], size, p->type, p->op) == (ssize_t)size;
	}
	for (i = 0; i < 2; i++) {
		good &= recv(fd[i], to[i], i && p->one_copies ? size : 0, MSG_TRUNC) ==
			(ssize_t)size && is_right(p->type, p->op, to[i], p->n) && !to[i][size];
		munmap(to[i] - p->apart - p->at, 2 * MOST + 2 * PAGE);
	}
	return good;
}

TEST_F(types, pinned)
{
	const struct pin *p;
	char what[96];

	for (p = pin_table; p < pin_table + ARRAY_SIZE(pin_table); p++) {
		snprintf(what, sizeof(what), "%zu elements, %s of %s, without copies%s", p->n,
			 operator_name[p->op], p->type->name, p->apart ? "" : ", in place");
		ok(what, pinned_right(p, self->x, self->y));
	}
	ok("a barrier with a destination",
	   !pin_as(self->x, self->in[0], self->out[0], 0, INT16, CANARY_OP_MIN) &&
	   !send_as(self->y, self->in[1], 0, INT16, CANARY_OP_MIN) &&
	   !recv(self->x, self->out[0], 8, 0) && !recv(self->y, self->out[1], 8, 0));
	ok_errno("no multiple of 4 as destination is EINVAL",
		 pin_as(self->x, self->in[0], self->out[0] + 2, 64, INT16, CANARY_OP_MIN), EINVAL);
}

/* Do both ranks hear that the other one runs something else? */
static bool differ(const struct type *t, unsigned int op, const struct type *t2, unsigned int op2)
{
	char data[64] = { 0 };
	bool good;
	int x, y;

	if (!pair(&x, &y))
		return false;
	good = send_as(x, data, 64, t, op) == 64 && send_as(y, data, 64, t2, op2) == 64;
	good &= recv(x, data, 64, 0) < 0 && errno == EPROTO;
	good &= recv(y, data, 64, 0) < 0 && errno == EPROTO;
	unpair(x, y);
	return good;
}

TEST_F(net, differs)
{
	ok("min and max: EPROTO", differ(INT16, CANARY_OP_MIN, INT16, CANARY_OP_MAX));
	ok("int8 and int16: EPROTO", differ(INT8, CANARY_OP_MIN, INT16, CANARY_OP_MIN));
	ok("int8 and uint8: EPROTO", differ(INT8, CANARY_OP_SUM, &types[1], CANARY_OP_SUM));
}

/* Wait until no vector is charged. */
static bool nothing_charged(int x, int y)
{
	double until = now() + PATIENCE / 1000;

	while ((outq(x) || outq(y)) && now() < until)
		usleep(10000);
	return !outq(x) && !outq(y);
}

/* What an encoding keeps counts as memory of the socket, until all have the results. */
TEST_F(types, memory)
{
	static const struct {
		unsigned int op, least, most;	/* times the vector */
	} table[] = { { CANARY_OP_SUM, 1, 2 }, { CANARY_OP_MIN, 2, 3 }, { CANARY_OP_AVG, 5, 6 } };
	const size_t size = 100001;
	long cores = proc_value("core-bytes"), taken;
	int x = self->x, y = self->y;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		ASSERT_EQ(size, send_as(x, self->in[0], size, INT8, table[i].op));
		taken = outq(x);
		TH_LOG("%s of int8: %zu bytes take %ld", operator_name[table[i].op], size, taken);
		ok("memory: the vector, and what is kept besides",
		   taken >= (long)(table[i].least * size) && taken < (long)(table[i].most * size));
		ok("memory: vector-bytes has it", proc_value("vector-bytes") == taken);
		ASSERT_EQ(size, send_as(y, self->in[1], size, INT8, table[i].op));
		ASSERT_EQ(size, recv(x, self->out[0], size, 0));
		ASSERT_EQ(size, recv(y, self->out[1], size, 0));
		ok("memory: all is given back",
		   nothing_charged(x, y) && !proc_value("vector-bytes"));
	}
	ok("memory: engines take no other", proc_value("core-bytes") == cores);
}

/* Without copies, a vector takes what is noted of each block, of which averages have more. */
TEST_F(types, memory_pinned)
{
	const size_t size = 100001;
	int x = self->x, y = self->y, max, avg;

	ASSERT_EQ(size, pin_as(x, self->in[0], self->in[0], size, INT8, CANARY_OP_SUM));
	max = outq(x);
	ASSERT_EQ(size, pin_as(x, self->out[0], self->out[0], size, INT8, CANARY_OP_AVG));
	avg = outq(x) - max;
	TH_LOG("pinned: the sum takes %d, the average %d", max, avg);
	ok("pinned: a sum takes little", max < (int)size / 10);
	ok("pinned: an average keeps words, and 8 bytes for each of more blocks",
	   avg > 4 * (int)size + max && avg < 5 * (int)size);
	ASSERT_EQ(size, pin_as(y, self->in[1], self->in[1], size, INT8, CANARY_OP_SUM));
	ASSERT_EQ(size, pin_as(y, self->out[1], self->out[1], size, INT8, CANARY_OP_AVG));
	ok("pinned: both end", ended(x) == size && ended(x) == size && ended(y) == size &&
	   ended(y) == size);
	ok("pinned: all is given back", nothing_charged(x, y) && !proc_value("vector-bytes"));
}

/* Whoever was told to wait for room is woken when there is room, not before. */
TEST_F(types, budget)
{
	int x = self->x, y = self->y, room = 120000, i;
	const size_t size = 16384;

	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)));
	ASSERT_EQ(0, set_u32(x, CANARY_MAX_VECTOR, size));
	nonblock(x, true);
	ok("budget: two averages", send_as(x, self->in[0], size, INT8, CANARY_OP_AVG) == size &&
	   send_as(x, self->in[0], size, INT8, CANARY_OP_AVG) == size);
	ok_errno("budget: the third is EAGAIN", send_as(x, self->in[0], size, INT8, CANARY_OP_AVG),
		 EAGAIN);
	ok("budget: then poll says not OUT", !(events(x, 0) & POLLOUT));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(size, send_as(y, self->in[1], size, INT8, CANARY_OP_AVG));
		ASSERT_EQ(size, recv(y, self->out[1], size, 0));
		wait_events(x, POLLIN);
		ASSERT_EQ(size, recv(x, self->out[0], size, 0));
	}
	ok("budget: poll says OUT", wait_events(x, POLLOUT) & POLLOUT);
	ok("budget: it is taken", send_as(x, self->in[0], size, INT8, CANARY_OP_AVG) == size);
	set_u32(x, CANARY_MAX_VECTOR, MOST);
	ok_errno("budget: what would never fit is EMSGSIZE",
		 send_as(x, self->in[0], 60000, INT8, CANARY_OP_AVG), EMSGSIZE);
}

/* Return: what the socket is charged for a vector of @size bytes, which comes back at once */
static int charge_of(int fd, char *data, size_t size)
{
	int charge;

	if (send_as(fd, data, size, INT8, CANARY_OP_SUM) != (ssize_t)size)
		return -1;
	charge = outq(fd);
	return recv(fd, data, size, 0) == (ssize_t)size ? charge : -1;
}

/* A vector of large ones ends where its last page does. No byte is written behind. */
TEST_F(sock, page_end)
{
	struct sockaddr_canary a = address("127.0.0.1", 0);
	static char data[1 << 17];
	size_t low = 1 << 16, high = low + PAGE, middle;
	int fd = self->fd, least;

	ASSERT_EQ(0, set_comm(fd, 9, 0, 1));
	ASSERT_EQ(0, connect(fd, (struct sockaddr *)&a, sizeof(a)));
	least = charge_of(fd, data, low);
	ASSERT_LT(0, least);
	while (high - low > 1) {
		middle = (low + high) / 2;
		if (charge_of(fd, data, middle) == least)
			low = middle;
		else
			high = middle;
	}
	ok("page end: a byte more takes a page", charge_of(fd, data, low) == least &&
	   charge_of(fd, data, low + 1) == least + PAGE);
	ok("page end: two and three", charge_of(fd, data, low + 2) == least + PAGE &&
	   charge_of(fd, data, low + 3) == least + PAGE);
}

TEST_HARNESS_MAIN
