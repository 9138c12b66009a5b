// SPDX-License-Identifier: GPL-2.0
/*
 * Operators on floating-point and complex numbers and on values with an index, and saturated sums:
 * results, with copies and in the application's memory; how sums are made, what completions say,
 * what is refused. What is right comes from the reference of canary perf.
 */
#include "harness.h"
#include "pinned.h"
#include "tools/canary/reference.h"

#define MOST		(1 << 19)	/* bytes of a vector */

static const struct type {
	const char *name;
	uint8_t dtype;
} types[] = {
	{ "float16", CANARY_FLOAT16 }, { "bfloat16", CANARY_BFLOAT16 },
	{ "float32", CANARY_FLOAT32 }, { "float64", CANARY_FLOAT64 },
	{ "int16_index", CANARY_INT16_INDEX }, { "int32_index", CANARY_INT32_INDEX },
	{ "int64_index", CANARY_INT64_INDEX }, { "float32_index", CANARY_FLOAT32_INDEX },
	{ "float64_index", CANARY_FLOAT64_INDEX },
	{ "complex64", CANARY_COMPLEX64 }, { "complex128", CANARY_COMPLEX128 },
};

static const struct operator {
	const char *name;
	uint8_t op;
} operators[] = {
	{ "sum", CANARY_OP_SUM }, { "prod", CANARY_OP_PROD }, { "min", CANARY_OP_MIN },
	{ "max", CANARY_OP_MAX }, { "avg", CANARY_OP_AVG },
	{ "minloc", CANARY_OP_MINLOC }, { "maxloc", CANARY_OP_MAXLOC },
};

/* @one_copies: one rank has its vector copied, the other one has not; else none is copied */
struct run {
	uint8_t dtype, op, how;
	size_t n;
	bool pinned, one_copies, in_place;
};

static uint32_t seed;

FIXTURE(floats) {
	int x, y;
	long before;
	char *in[2], *out[2];
};

FIXTURE_SETUP(floats)
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

FIXTURE_TEARDOWN(floats)
{
	unpair(self->x, self->y);
	EXPECT_TRUE(given_back(self->before));
	count_checks(_metadata);
}

static size_t size_of(uint8_t dtype)
{
	return reference_bits(dtype) / 8;
}

static ssize_t send_as(int fd, char *data, size_t size, uint8_t dtype, uint8_t op, uint16_t flags)
{
	struct canary_operation o = { .op = op, .dtype = dtype, .flags = flags };

	return send_operation(fd, data, size, &o, 0, 0, false);
}

/* Return: the method that completions tell, if both results are right; else -1 */
static int reduce(FIXTURE_DATA(floats) *self, const struct run *run)
{
	const struct reference r = { .dtype = run->dtype, .op = run->op, .members = 2,
				     .seed = ++seed, .how = run->how };
	struct form form = { .op = run->op, .dtype = run->dtype, .how = run->how };
	int i, flags, method = -1, fd[2] = { self->x, self->y };
	const size_t size = run->n * size_of(run->dtype);
	struct canary_completion c;
	bool copied, good = true;
	char *to;

	for (i = 0; i < 2; i++) {
		copied = !run->pinned || (i && run->one_copies);
		to = run->in_place ? self->in[i] : self->out[i];
		reference_fill(&r, i, self->in[i], run->n);
		good &= (copied ? send_as(fd[i], self->in[i], size, run->dtype, run->op, run->how) :
			 post_form(fd[i], self->in[i], to, size, &form)) == (ssize_t)size;
	}
	for (i = 0; good && i < 2; i++) {
		to = run->in_place ? self->in[i] : self->out[i];
		good = recv_completion(fd[i], to, size, &c, sizeof(c), &flags) >= 0 &&
		       !flags && c.bytes == size && !c.reserved &&
		       !reference_wrong(&r, to, run->n, true);
		good = good && (method == -1 || (int)c.method == method);
		method = good ? (int)c.method : -1;
	}
	return method;
}

/* Types with an index have operators of their own, and complex numbers have no order. */
static bool is_there(uint8_t dtype, uint8_t op)
{
	if (reference_numbers(dtype) == 1)
		return op <= CANARY_OP_AVG;
	if (dtype == CANARY_COMPLEX64 || dtype == CANARY_COMPLEX128)
		return op != CANARY_OP_MIN && op != CANARY_OP_MAX && op <= CANARY_OP_AVG;
	return op >= CANARY_OP_MINLOC;
}

TEST_F(floats, results)
{
	static const size_t lengths[] = { 0, 1, 150, 257, 5000 };
	unsigned int o, t, i;
	struct run run = { 0 };
	char what[64];

	for (o = 0; o < ARRAY_SIZE(operators); o++) {
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			for (i = 0; i < ARRAY_SIZE(lengths); i++) {
				if (!is_there(types[t].dtype, operators[o].op))
					break;
				snprintf(what, sizeof(what), "%s of %zu %s", operators[o].name,
					 lengths[i], types[t].name);
				run.dtype = types[t].dtype;
				run.op = operators[o].op;
				run.n = lengths[i];
				ok(what, reduce(self, &run) >= 0);
			}
		}
	}
}

/* Results of all ways to add up, and the method that completions tell */
TEST_F(floats, how)
{
	static const struct {
		uint8_t dtype, op, how;
		size_t n;
		int method;
	} table[] = {
		{ CANARY_FLOAT32, CANARY_OP_SUM, 0, 256, CANARY_METHOD_EXACT },
		{ CANARY_FLOAT32, CANARY_OP_AVG, 0, 257, CANARY_METHOD_EACH },
		{ CANARY_FLOAT64, CANARY_OP_SUM, 0, 4097, CANARY_METHOD_GROUPS },
		{ CANARY_FLOAT64, CANARY_OP_SUM, CANARY_HOW_EXACT, 4097, CANARY_METHOD_EXACT },
		{ CANARY_FLOAT16, CANARY_OP_SUM, CANARY_HOW_ELEMENTWISE, 4097, CANARY_METHOD_EACH },
		{ CANARY_FLOAT32, CANARY_OP_SUM, CANARY_HOW_NARROW, 4097, CANARY_METHOD_GROUPS },
		{ CANARY_BFLOAT16, CANARY_OP_PROD, CANARY_HOW_FLOATS, 300, CANARY_METHOD_RANKS },
		{ CANARY_BFLOAT16, CANARY_OP_MAX, 0, 300, CANARY_METHOD_ELEMENTS },
		{ CANARY_COMPLEX64, CANARY_OP_SUM, 0, 128, CANARY_METHOD_EXACT },
		{ CANARY_COMPLEX64, CANARY_OP_SUM, 0, 129, CANARY_METHOD_EACH },
		{ CANARY_COMPLEX64, CANARY_OP_AVG, 0, 2049, CANARY_METHOD_GROUPS },
		{ CANARY_COMPLEX128, CANARY_OP_PROD, 0, 300, CANARY_METHOD_RANKS },
		{ CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC, 0, 300, CANARY_METHOD_ELEMENTS },
		{ CANARY_INT8, CANARY_OP_SUM, CANARY_HOW_SATURATE, 3001, CANARY_METHOD_ELEMENTS },
		{ CANARY_UINT16, CANARY_OP_SUM, CANARY_HOW_SATURATE, 3001, CANARY_METHOD_ELEMENTS },
		{ CANARY_INT32, CANARY_OP_SUM, CANARY_HOW_SATURATE, 3001, CANARY_METHOD_ELEMENTS },
		{ CANARY_INT64, CANARY_OP_SUM, CANARY_HOW_SATURATE, 3001, CANARY_METHOD_ELEMENTS },
		{ CANARY_UINT64, CANARY_OP_SUM, CANARY_HOW_SATURATE, 3001, CANARY_METHOD_ELEMENTS },
	};
	struct run run = { 0 };
	unsigned int i;
	char what[64];

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		run.dtype = table[i].dtype;
		run.op = table[i].op;
		run.how = table[i].how;
		run.n = table[i].n;
		snprintf(what, sizeof(what), "how: row %u has method %d", i, table[i].method);
		ok(what, reduce(self, &run) == table[i].method);
	}
}

/*
 * In the application's memory: also where blocks are appended, as vectors have infinities and NaNs
 */
TEST_F(floats, pinned)
{
	static const struct run table[] = {
		{ CANARY_FLOAT32, CANARY_OP_SUM, 0, 200, .pinned = true, .in_place = true },
		{ CANARY_FLOAT32, CANARY_OP_SUM, 0, 100001, .pinned = true },
		{ CANARY_FLOAT32, CANARY_OP_AVG, 0, 100001, .pinned = true, .in_place = true },
		{ CANARY_FLOAT16, CANARY_OP_SUM, 0, 99999, .pinned = true, .in_place = true,
		  .one_copies = true },
		{ CANARY_FLOAT64, CANARY_OP_SUM, CANARY_HOW_EXACT, 30001, .pinned = true,
		  .in_place = true },
		{ CANARY_BFLOAT16, CANARY_OP_SUM, CANARY_HOW_ELEMENTWISE, 50001, .pinned = true,
		  .one_copies = true },
		{ CANARY_FLOAT64, CANARY_OP_PROD, 0, 20001, .pinned = true, .in_place = true },
		{ CANARY_BFLOAT16, CANARY_OP_MIN, 0, 70001, .pinned = true, .in_place = true },
		{ CANARY_INT32_INDEX, CANARY_OP_MAXLOC, 0, 30001, .pinned = true, .in_place = true },
		{ CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC, 0, 30001, .pinned = true,
		  .in_place = true },
		{ CANARY_INT64_INDEX, CANARY_OP_MAXLOC, 0, 30001, .pinned = true,
		  .one_copies = true },
		{ CANARY_COMPLEX64, CANARY_OP_SUM, 0, 50001, .pinned = true, .in_place = true },
		{ CANARY_COMPLEX128, CANARY_OP_PROD, 0, 10001, .pinned = true, .in_place = true },
		{ CANARY_INT64, CANARY_OP_SUM, CANARY_HOW_SATURATE, 30001, .pinned = true,
		  .in_place = true },
	};
	int room = 16 << 20;
	unsigned int i;
	char what[64];

	ASSERT_EQ(0, setsockopt(self->x, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)));
	ASSERT_EQ(0, setsockopt(self->y, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)));
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		snprintf(what, sizeof(what), "pinned: row %u, %zu elements", i, table[i].n);
		ok(what, reduce(self, &table[i]) >= 0);
	}
}

/* All operators on all types without copies, at odd lengths: one element, and of each method */
TEST_F(floats, pinned_all)
{
	static const size_t lengths[] = { 1, 255, 301, 4099 };
	struct run run = { .pinned = true };
	unsigned int o, t, i, k = 0;
	char what[80];

	for (o = 0; o < ARRAY_SIZE(operators); o++) {
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			for (i = 0; i < ARRAY_SIZE(lengths); i++, k++) {
				if (!is_there(types[t].dtype, operators[o].op))
					break;
				run.dtype = types[t].dtype;
				run.op = operators[o].op;
				run.n = lengths[i];
				run.in_place = k % 2;
				run.one_copies = k % 3 == 1;
				snprintf(what, sizeof(what), "pinned: %s of %zu %s%s%s",
					 operators[o].name, run.n, types[t].name,
					 run.in_place ? ", in place" : "",
					 run.one_copies ? ", the other rank copies" : "");
				ok(what, reduce(self, &run) >= 0);
			}
		}
	}
}

TEST_F(floats, refused)
{
	char data[24] = { 0 };
	int x = self->x;

	ok_errno("land of float32 is EOPNOTSUPP",
		 send_as(x, data, 16, CANARY_FLOAT32, CANARY_OP_LAND, 0), EOPNOTSUPP);
	ok_errno("type 20 is EOPNOTSUPP",
		 send_as(x, data, 16, CANARY_COMPLEX128 + 1, CANARY_OP_SUM, 0), EOPNOTSUPP);
	ok_errno("sum of int32_index is EOPNOTSUPP",
		 send_as(x, data, 16, CANARY_INT32_INDEX, CANARY_OP_SUM, 0), EOPNOTSUPP);
	ok_errno("maxloc of int32 is EOPNOTSUPP",
		 send_as(x, data, 16, CANARY_INT32, CANARY_OP_MAXLOC, 0), EOPNOTSUPP);
	ok_errno("max of complex64 is EOPNOTSUPP",
		 send_as(x, data, 16, CANARY_COMPLEX64, CANARY_OP_MAX, 0), EOPNOTSUPP);
	ok_errno("saturated sum of float32 is EINVAL",
		 send_as(x, data, 16, CANARY_FLOAT32, CANARY_OP_SUM, CANARY_HOW_SATURATE), EINVAL);
	ok_errno("saturated maximum is EINVAL",
		 send_as(x, data, 16, CANARY_INT32, CANARY_OP_MAX, CANARY_HOW_SATURATE), EINVAL);
	ok_errno("int64_index: 24 bytes are EINVAL",
		 send_as(x, data, 24, CANARY_INT64_INDEX, CANARY_OP_MAXLOC, 0), EINVAL);
	ok_errno("how on int32 is EINVAL",
		 send_as(x, data, 16, CANARY_INT32, CANARY_OP_SUM, CANARY_HOW_EXACT), EINVAL);
	ok_errno("an unknown flag is EINVAL",
		 send_as(x, data, 16, CANARY_FLOAT32, CANARY_OP_SUM, CANARY_HOW_ALL + 1), EINVAL);
	ok_errno("a flag beyond 8 bits is EINVAL",
		 send_as(x, data, 16, CANARY_FLOAT32, CANARY_OP_SUM, 0x101), EINVAL);
	ok_errno("float64: 12 bytes are EINVAL",
		 send_as(x, data, 12, CANARY_FLOAT64, CANARY_OP_SUM, 0), EINVAL);
}

/* Programs that know the first members of a completion only get those. */
TEST_F(floats, older)
{
	struct canary_completion c;
	char data[16] = { 0 };
	int flags;

	ASSERT_EQ(16, send_as(self->x, data, 16, CANARY_FLOAT32, CANARY_OP_SUM, 0));
	ASSERT_EQ(16, send_as(self->y, data, 16, CANARY_FLOAT32, CANARY_OP_SUM, 0));
	ok("older: room for 24 bytes", recv_completion(self->x, data, 16, &c,
						       CANARY_COMPLETION_LEAST, &flags) == 16);
	ok("older: has them, and no MSG_CTRUNC", !flags && c.bytes == 16 && !c.error && !c.seq);
	ok("older: less room is MSG_CTRUNC",
	   recv_completion(self->y, data, 16, &c, CANARY_COMPLETION_LEAST - 8, &flags) == 16 &&
	   flags & MSG_CTRUNC);
}

/* Do both ranks hear that the other one runs something else? */
static bool differ(const struct run *a, const struct run *b)
{
	static char data[MOST];
	size_t n = a->n * size_of(a->dtype), m = b->n * size_of(b->dtype);
	bool good;
	int x, y;

	if (!pair(&x, &y))
		return false;
	good = send_as(x, data, n, a->dtype, a->op, a->how) == (ssize_t)n &&
	       send_as(y, data, m, b->dtype, b->op, b->how) == (ssize_t)m;
	good &= recv(x, data, n, 0) < 0 && errno == EPROTO;
	good &= recv(y, data, m, 0) < 0 && errno == EPROTO;
	unpair(x, y);
	return good;
}

TEST_F(net, differs)
{
	const struct run sum = { CANARY_FLOAT32, CANARY_OP_SUM, 0, .n = 5000 };
	struct run other = sum;

	other.how = CANARY_HOW_EXACT;
	ok("groups and exact: EPROTO", differ(&sum, &other));
	other.how = CANARY_HOW_ELEMENTWISE;
	ok("groups and elementwise: EPROTO", differ(&sum, &other));
	other = sum;
	other.dtype = CANARY_INT32;
	ok("float32 and int32: EPROTO", differ(&sum, &other));
	other.dtype = CANARY_BFLOAT16;
	ok("float32 and bfloat16: EPROTO", differ(&sum, &other));
	other = sum;
	other.n = 100;
	ok("5000 and 100 elements: EPROTO", differ(&sum, &other));
	ok("complex64 and float32: EPROTO",
	   differ(&(struct run){ CANARY_COMPLEX64, CANARY_OP_SUM, 0, .n = 2500 }, &sum));
	ok("saturated and not: EPROTO",
	   differ(&(struct run){ CANARY_INT16, CANARY_OP_SUM, CANARY_HOW_SATURATE, .n = 5000 },
		  &(struct run){ CANARY_INT16, CANARY_OP_SUM, 0, .n = 5000 }));
	ok("with an index and without: EPROTO",
	   differ(&(struct run){ CANARY_FLOAT64_INDEX, CANARY_OP_MAXLOC, 0, .n = 500 },
		  &(struct run){ CANARY_FLOAT64, CANARY_OP_MAX, 0, .n = 1000 }));
	ok("minloc and maxloc: EPROTO",
	   differ(&(struct run){ CANARY_INT64_INDEX, CANARY_OP_MAXLOC, 0, .n = 500 },
		  &(struct run){ CANARY_INT64_INDEX, CANARY_OP_MINLOC, 0, .n = 500 }));
}

TEST_HARNESS_MAIN
