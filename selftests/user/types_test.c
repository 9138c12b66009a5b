// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each operator on each type, through the library: any length, in place and not, in
 * flight together. What is right comes from the reference of canary perf, which shares nothing with
 * the core. Then names, lengths that are refused, and ranks that run something else. Members use the
 * user engine and, where the module is loaded, AF_CANARY as well.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kmod/core/core.h"
#include "selftests/tap.h"
#include "tools/canary/reference.h"
#include "own_net.h"

#define RANKS		5	/* at most */
#define CONNECT_MS	10000
#define MOST		5003	/* elements: blocks have 3200 bytes here */
#define EDGES		6
#define OPERATORS	CANARY_OP_MAXLOC
#define TYPES		CANARY_COMPLEX128
#define LARGEST		16	/* bytes of an element */

struct member {
	struct canary	*c;
	pthread_t	thread;
	uint32_t	rank;
	int		(*run)(struct member *m);
	int		wrong;
	char		error[160];	/* of the operation that failed */
};

static uint32_t next_comm = 1;
static uint32_t algorithm, engine;

/* What runs */
static uint32_t ranks = 3;
static uint8_t dtype, op, how;

/* Another operation of rank 1 */
static uint8_t other_dtype, other_op, other_how;
static size_t differ_bytes, other_bytes;

static unsigned int size_of(uint8_t type)
{
	return reference_bits(type) / 8;
}

static bool is_float(uint8_t type)
{
	return type >= CANARY_FLOAT16 && type <= CANARY_FLOAT64;
}

static bool is_complex(uint8_t type)
{
	return type == CANARY_COMPLEX64 || type == CANARY_COMPLEX128;
}

static bool is_pair(uint8_t type)
{
	return type >= CANARY_INT16_INDEX && type <= CANARY_FLOAT64_INDEX;
}

/* The first elements are all combinations of edges at three ranks. */
static uint64_t integer(uint8_t type, uint32_t rank, size_t i, uint64_t random)
{
	const uint64_t sign = 1ULL << (reference_bits(type) - 1);
	const uint64_t edge[EDGES] = { 0, ~0ULL, sign, sign - 1, 1, sign + 1 };

	if (i < EDGES * EDGES * EDGES)
		return edge[(rank == 0 ? i : rank == 1 ? i / EDGES : i / EDGES / EDGES) % EDGES];
	return random;
}

/* One in 16 numbers is an edge. In half of the rest, neighbours are of like size. */
static uint64_t number(uint8_t type, uint64_t random)
{
	const unsigned int bits = reference_bits(type);
	const unsigned int fraction = type == CANARY_BFLOAT16 ? 7 : bits == 16 ? 10 :
				      bits == 32 ? 23 : 52;
	const uint64_t sign = 1ULL << (bits - 1), one = 1ULL << fraction, infinity = sign - one;
	const uint64_t middle = (infinity / 2) & infinity;
	const uint64_t edge[] = {
		0, sign, infinity, sign | infinity, infinity | 1, ~0ULL, 1, one, infinity - 1,
		sign | (infinity - 1), middle, sign | middle,
	};

	if (random % 16 == 0)
		return edge[(random >> 8) % (sizeof(edge) / sizeof(edge[0]))];
	if (random % 2)
		return (random & (sign | (3 * one - 1))) + middle - 2 * one;
	return (random & infinity) == infinity ? random ^ one : random;
}

static uint64_t given(const struct reference *r, uint32_t rank, size_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL ^
		     (rank + 1 + 16 * r->seed) * 0xbf58476d1ce4e5b9ULL;

	x = (x ^ x >> 29) * 0x94d049bb133111ebULL;
	x ^= x >> 32;
	/* Half of the values with an index are alike at some ranks. */
	if (is_pair(dtype) && i % 4 == 0)
		x = is_float(r->dtype) ? number(r->dtype, x % 16 * 256) :
		    integer(r->dtype, rank, x % EDGES, 0);
	else
		x = is_float(r->dtype) ? number(r->dtype, x) : integer(r->dtype, rank, i, x);
	return x & ~0ULL >> (64 - reference_bits(r->dtype));
}

static struct reference reference(uint32_t salt)
{
	return (struct reference){
		.dtype = dtype, .op = op, .members = ranks, .seed = salt, .how = how,
		.give = given,
	};
}

static void give(const struct member *m, char *to, size_t n, uint32_t salt)
{
	const struct reference r = reference(salt);

	reference_fill(&r, m->rank, to, n);
}

/* Return: number of wrong elements */
static int compare(const char *got, size_t n, uint32_t salt)
{
	const struct reference r = reference(salt);

	return reference_wrong(&r, got, n, true);
}

static void *member_thread(void *arg)
{
	struct member *m = arg;

	if (canary_connect(m->c, CONNECT_MS)) {
		printf("# rank %u: connect: %s\n", m->rank, canary_errmsg());
		m->wrong = 1;
		return NULL;
	}
	m->wrong = m->run(m);
	return NULL;
}

/*
 * The kernel's engines may serve others for a moment after close(), and keep their port meanwhile.
 */
static int open_member(const struct canary_params *p, struct canary **c)
{
	int i, err = canary_open(p, c);

	for (i = 0; err == -EADDRINUSE && i < 500; i++) {
		usleep(10000);
		err = canary_open(p, c);
	}
	return err;
}

/* Return: number of members that found something wrong. @error: receives what rank 0 was told */
static int with_ranks(int (*run)(struct member *m), char *error)
{
	struct member m[RANKS] = { 0 };
	struct canary_params p;
	int wrong = 0;
	uint32_t i;

	next_comm++;
	for (i = 0; i < ranks; i++) {
		m[i].rank = i;
		m[i].run = run;
		canary_params_init(&p);
		p.engine = engine;
		p.comm = next_comm;
		p.rank = i;
		p.members = ranks;
		p.algorithm = algorithm;
		canary_params_set(&p, "root", "127.0.0.1");
		if (open_member(&p, &m[i].c)) {
			printf("# rank %u: open: %s\n", i, canary_errmsg());
			return ranks;
		}
	}
	for (i = 0; i < ranks; i++)
		pthread_create(&m[i].thread, NULL, member_thread, &m[i]);
	for (i = 0; i < ranks; i++)
		pthread_join(m[i].thread, NULL);
	for (i = 0; i < ranks; i++) {
		canary_close(m[i].c);
		wrong += !!m[i].wrong;
	}
	if (error)
		strcpy(error, m[0].error);
	return wrong;
}

/* Out of place, then in place. Vectors are at odd addresses. */
static int run_length(struct member *m, char *in, char *out, size_t n, uint32_t salt)
{
	struct canary_call call = {
		.sendbuf = in + 1, .recvbuf = out + 1, .count = n, .dtype = dtype, .op = op,
		.how = how,
	};
	size_t bytes = n * size_of(dtype);
	int wrong;

	give(m, in + 1, n, salt);
	memset(out, 0x5a, bytes + 2);
	wrong = !!canary_allreduce_call(m->c, &call, sizeof(call), NULL, 0);
	wrong += compare(out + 1, n, salt);
	wrong += out[0] != 0x5a || out[bytes + 1] != 0x5a;
	in[bytes + 1] = 0x5a;
	call.recvbuf = in + 1;
	wrong += !!canary_allreduce_call(m->c, &call, sizeof(call), NULL, 0);
	return wrong + (compare(in + 1, n, salt) || in[bytes + 1] != 0x5a);
}

/* Nothing is written behind vectors. */
static int run_type(struct member *m)
{
	static const size_t lengths[2][5] = { { 1, 0, 3, 217, MOST }, { 1, 0, 150, 257, 5000 } };
	char *in = malloc(MOST * LARGEST + 9), *out = malloc(MOST * LARGEST + 9);
	int i, wrong = 0;

	for (i = 0; i < 5; i++)
		wrong += run_length(m, in, out, lengths[dtype >= CANARY_FLOAT16][i], i);
	free(in);
	free(out);
	return wrong;
}

/* Each operator on this type, one operation each, in flight together */
static int run_flight(struct member *m)
{
	enum { COUNT = 1001 };
	static char out[RANKS][OPERATORS][COUNT * LARGEST];
	uint64_t request[OPERATORS];
	char in[COUNT * LARGEST];
	int i, wrong = 0;

	for (i = 0; i < OPERATORS; i++) {
		give(m, in, COUNT, i);
		wrong += !!canary_room(m->c, CANARY_FOREVER);
		if (canary_supports(dtype, i + 1))
			wrong += !!canary_post(m->c, in, out[m->rank][i], COUNT, dtype, i + 1,
					       &request[i]);
	}
	for (i = OPERATORS - 1; i >= 0; i--)
		if (canary_supports(dtype, i + 1))
			wrong += !!canary_wait(m->c, request[i], CANARY_FOREVER);
	/* The reference knows one operator at a time, and all threads have to agree on it. */
	if (m->rank)
		return wrong;
	for (i = 0; i < OPERATORS; i++) {
		op = i + 1;
		if (canary_supports(dtype, op))
			wrong += compare(out[0][i], COUNT, i);
	}
	return wrong;
}

static uint32_t method_of(size_t n)
{
	if (op == CANARY_OP_MAX)
		return CANARY_METHOD_ELEMENTS;
	if (op == CANARY_OP_PROD)
		return CANARY_METHOD_RANKS;
	n *= is_complex(dtype) ? 2 : 1;
	if (n <= 256 || how & CANARY_HOW_EXACT)
		return CANARY_METHOD_EXACT;
	if (n <= 4096 || how & CANARY_HOW_ELEMENTWISE)
		return CANARY_METHOD_EACH;
	return CANARY_METHOD_GROUPS;
}

/* Several in flight, longer ones and shorter ones; completions tell the method. */
static int run_how(struct member *m)
{
	static const size_t lengths[] = { 256, 4999, 1, 4096, 257, 4097, 128, 2049 };
	enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
	char *data = malloc(LENGTHS * MOST * LARGEST);
	struct canary_call call = { .dtype = dtype, .op = op, .how = how };
	struct canary_outcome o[2];
	uint64_t request[LENGTHS];
	int i, wrong = 0;

	for (i = 0; i < LENGTHS; i++) {
		call.recvbuf = data + i * MOST * LARGEST;
		call.sendbuf = call.recvbuf;
		call.count = lengths[i];
		give(m, call.recvbuf, call.count, i);
		wrong += !!canary_post_call(m->c, &call, sizeof(call), &request[i]);
	}
	for (i = 0; i < LENGTHS; i++) {
		memset(o, 0xff, sizeof(o));
		wrong += !!canary_wait_outcome(m->c, request[i], CANARY_FOREVER, o, sizeof(o));
		wrong += o[0].method != method_of(lengths[i]) || o[1].method;
		wrong += compare(data + i * MOST * LARGEST, lengths[i], i);
	}
	free(data);
	return wrong;
}

/* Rank 1 runs something else: all end with EPROTO, and are told of it. */
static int run_differs(struct member *m)
{
	static const char *const named[] = { "rank 1", "rank", "rank 1" };
	static char v[RANKS][40000];
	struct canary_call call = {
		.sendbuf = v[m->rank], .recvbuf = v[m->rank], .dtype = dtype, .op = op, .how = how,
	};
	int err;

	/* all are connected before the first one fails */
	if (canary_allreduce(m->c, v[m->rank], v[m->rank], 1, CANARY_INT32, CANARY_OP_SUM))
		return 1;
	if (m->rank == 1) {
		call.dtype = other_dtype;
		call.op = other_op;
		call.how = other_how;
	}
	call.count = (m->rank == 1 ? other_bytes : differ_bytes) / size_of(call.dtype);
	err = canary_allreduce_call(m->c, &call, sizeof(call), NULL, 0);
	snprintf(m->error, sizeof(m->error), "%s", err ? canary_errmsg() : "");
	if (err == -EPROTO && strstr(m->error, named[m->rank]))
		return 0;
	printf("# rank %u: %d: %s\n", m->rank, err, m->error);
	return 1;
}

/* Packets have room for exact sums, and for nothing that there is not. */
static int block_elements(struct canary *c)
{
	size_t words = canary_block_elements(c, CANARY_INT32, CANARY_OP_SUM);

	return !words + (canary_block_elements(c, CANARY_INT8, CANARY_OP_MIN) != 4 * words) +
	       (canary_block_elements(c, CANARY_UINT64, CANARY_OP_XOR) != words / 2) +
	       (canary_block_elements(c, CANARY_UINT8, CANARY_OP_AVG) != words) +
	       (canary_block_elements(c, CANARY_INT32, CANARY_OP_AVG) != words / 2) +
	       (canary_block_elements(c, CANARY_UINT64, CANARY_OP_AVG) != words / 4) +
	       (canary_block_elements(c, CANARY_FLOAT16, CANARY_OP_MAX) != 2 * words) +
	       !!canary_block_elements(c, CANARY_FLOAT32, CANARY_OP_SUM) +
	       !!canary_block_elements(c, CANARY_FLOAT64, CANARY_OP_PROD) +
	       !!canary_block_elements(c, CANARY_COMPLEX64, CANARY_OP_SUM) +
	       !!canary_block_elements(c, CANARY_FLOAT32, CANARY_OP_LAND) +
	       !!canary_block_elements(c, 0, CANARY_OP_SUM) +
	       !!canary_block_elements(c, CANARY_INT32 + 256, CANARY_OP_SUM) +
	       !!canary_block_elements(c, CANARY_INT32, CANARY_OP_MINLOC) +
	       !!canary_block_elements(c, CANARY_INT16_INDEX, CANARY_OP_MAX) +
	       (canary_block_elements(c, CANARY_INT16_INDEX, CANARY_OP_MAXLOC) != words / 2) +
	       !!canary_block_elements(c, CANARY_INT32, OPERATORS + 1);
}

/* Calls with a struct */
static int refused_calls(struct canary *c)
{
	char v[64] = { 0 };
	struct canary_call good = {
		.sendbuf = v, .recvbuf = v, .count = 2, .dtype = CANARY_FLOAT32,
		.op = CANARY_OP_SUM, .how = CANARY_HOW_FLOATS,
	};
	struct canary_call bad[2] = { good };
	const size_t size = sizeof(good);
	struct canary_outcome o;
	uint64_t request;
	int wrong;

	bad->how = CANARY_HOW_ALL + 1;
	wrong = canary_post_call(c, bad, size, &request) != -EINVAL;
	bad->how = CANARY_HOW_SATURATE;
	wrong += canary_post_call(c, bad, size, &request) != -EINVAL ||
		 strcmp(canary_errmsg(), "how: 0x8 is not for sum of float32");
	bad->dtype = CANARY_INT8;
	bad->op = CANARY_OP_AVG;
	wrong += canary_post_call(c, bad, size, &request) != -EINVAL;
	bad->op = CANARY_OP_SUM;
	bad->how |= CANARY_HOW_EXACT;
	wrong += canary_post_call(c, bad, size, &request) != -EINVAL;
	*bad = good;
	bad->how = 0x101;
	wrong += canary_post_call(c, bad, size, &request) != -EINVAL;
	*bad = good;
	bad->dtype = CANARY_INT32;
	wrong += canary_post_call(c, bad, size, &request) != -EINVAL;
	*bad = good;
	bad->reserved = 1;
	wrong += canary_post_call(c, bad, size, &request) != -EINVAL;
	*bad = good;
	wrong += canary_post_call(c, bad, size - 1, &request) != -EINVAL;
	wrong += canary_allreduce_call(c, bad, size, &o, sizeof(o) - 1) != -EINVAL;
	bad[1].how = 1;
	wrong += canary_allreduce_call(c, bad, 2 * size, &o, sizeof(o)) != -EINVAL;
	bad[1].how = 0;
	return wrong + (canary_allreduce_call(c, bad, 2 * size, &o, sizeof(o)) != 0);
}

static int run_refusals(struct member *m)
{
	int wrong = block_elements(m->c) + refused_calls(m->c);
	char v[64] = { 0 };
	uint64_t request;

	wrong += canary_allreduce(m->c, v, v, 1, 0, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, TYPES + 1, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_INT32_INDEX, CANARY_OP_SUM) != -EINVAL ||
		 strcmp(canary_errmsg(), "operator 1 (sum) on type 14 (int32_index): there is none");
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_INT32, CANARY_OP_MAXLOC) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_COMPLEX64, CANARY_OP_MAX) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v + 8, 1, CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC) !=
		 -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_FLOAT32, CANARY_OP_LAND) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_INT32 + 256, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v, 1, CANARY_INT8, OPERATORS + 1) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v + 8, 2, CANARY_INT64, CANARY_OP_SUM) != -EINVAL;
	wrong += canary_allreduce(m->c, v, v + 8, 8, CANARY_INT8, CANARY_OP_MAX) != 0;
	/* A vector is as long as its bytes are. */
	wrong += canary_post(m->c, v, v, CANARY_COUNT_MAX, CANARY_INT64, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, CANARY_BYTES_MAX / 8 + 1, CANARY_UINT64, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, CANARY_BYTES_MAX / 2 + 1, CANARY_INT16, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, (size_t)CANARY_BYTES_MAX + 1, CANARY_INT8, CANARY_OP_MIN,
			     &request) != -EMSGSIZE;
	wrong += canary_post(m->c, v, v, SIZE_MAX / 8 + 2, CANARY_INT64, CANARY_OP_SUM,
			     &request) != -EMSGSIZE;
	return wrong;
}

/*
 * Floating-point numbers have no operators of bits or of truth, complex ones no order either. Types
 * with an index have operators of their own.
 */
static bool is_there(uint32_t type, uint32_t operator)
{
	if (operator == CANARY_OP_MINLOC || operator == CANARY_OP_MAXLOC)
		return is_pair(type);
	if (is_complex(type))
		return operator == CANARY_OP_SUM || operator == CANARY_OP_PROD ||
		       operator == CANARY_OP_AVG;
	if (type < CANARY_INT32 || type > CANARY_FLOAT64)
		return false;
	return (operator >= CANARY_OP_SUM && operator <= CANARY_OP_MAX) ||
	       operator == CANARY_OP_AVG ||
	       (operator >= CANARY_OP_AND && operator <= CANARY_OP_LXOR && type <= CANARY_UINT64);
}

static void test_how(void)
{
	uint32_t h = 8, i;

	tap(!canary_how_parse("narrow,exact", &h) &&
	    h == (CANARY_HOW_EXACT | CANARY_HOW_NARROW) &&
	    !canary_how_parse("elementwise", &h) && h == CANARY_HOW_ELEMENTWISE &&
	    canary_how_parse("", &h) == -EINVAL && canary_how_parse("exact,", &h) == -EINVAL &&
	    canary_how_parse(NULL, &h) == -EINVAL && canary_how_parse("exac", &h) == -EINVAL &&
	    h == CANARY_HOW_ELEMENTWISE, "names of how: %s", canary_errmsg());
	for (i = 1; i <= CANARY_HOW_ALL &&
	     !canary_how_parse(canary_how_name(i), &h) && h == i; i <<= 1)
		;
	tap(i == CANARY_HOW_ALL + 1 && !canary_how_name(i) && !canary_how_name(3) &&
	    !canary_how_name(0), "names of each of them");
	tap(canary_how_supported(CANARY_INT8, CANARY_OP_SUM) == CANARY_HOW_SATURATE &&
	    !canary_how_supported(CANARY_INT8, CANARY_OP_AVG) &&
	    canary_how_supported(CANARY_FLOAT16, CANARY_OP_SUM) == CANARY_HOW_FLOATS &&
	    !canary_how_supported(CANARY_INT32_INDEX, CANARY_OP_MINLOC) &&
	    !canary_how_supported(CANARY_INT8 + 256, CANARY_OP_SUM), "what may be asked for");
	tap(!strcmp(canary_method_name(CANARY_METHOD_ELEMENTS), "elements") &&
	    !strcmp(canary_method_name(CANARY_METHOD_RANKS), "ranks") &&
	    !canary_method_name(CANARY_METHOD_RANKS + 1), "names of methods");
}

static void test_names(void)
{
	enum canary_operator o = CANARY_OP_PROD;
	enum canary_dtype d = CANARY_INT8;
	uint32_t i, k, types = 0, operators = 0, bad = 0;

	while (canary_dtype_name(types + 1))
		types++;
	while (canary_operator_name(operators + 1))
		operators++;
	tap(types == TYPES && operators == OPERATORS &&
	    !canary_dtype_name(0) && !canary_operator_name(0) &&
	    !canary_dtype_name(~0U) && !canary_operator_name(~0U),
	    "%u types and %u operators have names", types, operators);
	for (i = 0; i < 256; i++) {
		bad += canary_dtype_size(i) != (i && i <= types ? size_of(i) : 0);
		for (k = 0; k < 256; k++)
			bad += cnr_element(k, i) !=
			       (is_there(i, k) ? canary_dtype_size(i) : 0) ||
			       canary_supports(i, k) != is_there(i, k);
	}
	tap(!bad, "the core knows each of them, and no other");
	for (i = 1; i <= types; i++)
		bad += canary_dtype_parse(canary_dtype_name(i), &d) || d != i;
	for (i = 1; i <= operators; i++)
		bad += canary_operator_parse(canary_operator_name(i), &o) || o != i;
	bad += canary_dtype_parse("half", &d) || d != CANARY_FLOAT16;
	bad += canary_dtype_parse("float", &d) || d != CANARY_FLOAT32;
	bad += canary_dtype_parse("double", &d) || d != CANARY_FLOAT64;
	bad += canary_dtype_parse("2int", &d) || d != CANARY_INT32_INDEX;
	bad += canary_dtype_parse("double_int", &d) || d != CANARY_FLOAT64_INDEX;
	bad += canary_dtype_parse("uint16", &d) || d != CANARY_UINT16;
	bad += canary_operator_parse("lxor", &o) || o != CANARY_OP_LXOR;
	tap(!bad, "names are found again");
	tap(canary_dtype_parse("real", &d) == -EINVAL && d == CANARY_UINT16, "%s",
	    canary_errmsg());
	tap(canary_operator_parse("SUM", &o) == -EINVAL && o == CANARY_OP_LXOR, "%s",
	    canary_errmsg());
	tap(canary_dtype_parse("", &d) == -EINVAL && canary_dtype_parse("int", &d) == -EINVAL &&
	    canary_operator_parse(NULL, &o) == -EINVAL, "none, and a part of one");
}

/* What rank 0 posts, and what rank 1 does */
static const struct {
	uint8_t dtype, op, other_dtype, other_op, other_how;
	size_t bytes, other_bytes;	/* 0: as many */
} differing[] = {
	{ CANARY_FLOAT32, CANARY_OP_SUM, CANARY_INT32, CANARY_OP_SUM, 0, .bytes = 800 },
	{ CANARY_FLOAT16, CANARY_OP_SUM, CANARY_BFLOAT16, CANARY_OP_SUM, 0,
	  .bytes = 40000 },
	{ CANARY_FLOAT64, CANARY_OP_SUM, CANARY_FLOAT32, CANARY_OP_SUM, 0, .bytes = 2048 },
	{ CANARY_FLOAT64, CANARY_OP_SUM, CANARY_FLOAT64, CANARY_OP_SUM,
	  CANARY_HOW_EXACT, .bytes = 800 },
	{ CANARY_FLOAT32, CANARY_OP_SUM, CANARY_FLOAT32, CANARY_OP_SUM,
	  CANARY_HOW_EXACT, .bytes = 40000 },
	{ CANARY_FLOAT32, CANARY_OP_AVG, CANARY_FLOAT32, CANARY_OP_AVG,
	  CANARY_HOW_ELEMENTWISE, .bytes = 40000 },
	{ CANARY_FLOAT32, CANARY_OP_PROD, CANARY_FLOAT32, CANARY_OP_SUM, 0,
	  .bytes = 40000 },
	{ CANARY_INT16, CANARY_OP_MIN, CANARY_INT16, CANARY_OP_MAX, 0, .bytes = 800 },
	{ CANARY_INT32, CANARY_OP_SUM, CANARY_UINT32, CANARY_OP_SUM, 0, .bytes = 800 },
	{ CANARY_INT8, CANARY_OP_SUM, CANARY_INT64, CANARY_OP_SUM, 0, .bytes = 800 },
	{ CANARY_UINT8, CANARY_OP_AVG, CANARY_UINT8, CANARY_OP_SUM, 0, .bytes = 800 },
	{ CANARY_INT32, CANARY_OP_SUM, CANARY_INT32, CANARY_OP_LAND, 0, .bytes = 800 },
	{ CANARY_INT32, CANARY_OP_SUM, CANARY_INT32, CANARY_OP_SUM, 0,
	  .bytes = 800, .other_bytes = 804 },
	{ CANARY_INT32, CANARY_OP_SUM, CANARY_INT32, CANARY_OP_SUM, 0,
	  .bytes = 40000, .other_bytes = 800 },
	{ CANARY_FLOAT32, CANARY_OP_SUM, CANARY_FLOAT32, CANARY_OP_SUM, 0,
	  .bytes = 800, .other_bytes = 40000 },
	{ CANARY_INT8, CANARY_OP_SUM, CANARY_INT8, CANARY_OP_SUM, CANARY_HOW_SATURATE,
	  .bytes = 800 },
	{ CANARY_UINT64, CANARY_OP_SUM, CANARY_UINT64, CANARY_OP_SUM,
	  CANARY_HOW_SATURATE, .bytes = 40000 },
	{ CANARY_INT32_INDEX, CANARY_OP_MAXLOC, CANARY_INT32, CANARY_OP_MAX, 0,
	  .bytes = 800 },
	{ CANARY_INT32_INDEX, CANARY_OP_MAXLOC, CANARY_INT64, CANARY_OP_MAX, 0,
	  .bytes = 800 },
	{ CANARY_FLOAT64_INDEX, CANARY_OP_MINLOC, CANARY_FLOAT64, CANARY_OP_MIN, 0,
	  .bytes = 40000 },
	{ CANARY_INT64_INDEX, CANARY_OP_MINLOC, CANARY_INT64_INDEX, CANARY_OP_MAXLOC, 0,
	  .bytes = 800 },
	{ CANARY_INT32_INDEX, CANARY_OP_MINLOC, CANARY_FLOAT32_INDEX, CANARY_OP_MINLOC, 0,
	  .bytes = 800 },
	{ CANARY_INT64_INDEX, CANARY_OP_MAXLOC, CANARY_INT64_INDEX, CANARY_OP_MAXLOC, 0,
	  .bytes = 40000, .other_bytes = 800 },
	{ CANARY_COMPLEX64, CANARY_OP_SUM, CANARY_FLOAT32, CANARY_OP_SUM, 0, .bytes = 800 },
	{ CANARY_COMPLEX64, CANARY_OP_SUM, CANARY_FLOAT32, CANARY_OP_SUM, 0,
	  .bytes = 40000 },
	{ CANARY_COMPLEX64, CANARY_OP_PROD, CANARY_FLOAT64, CANARY_OP_PROD, 0,
	  .bytes = 800 },
	{ CANARY_COMPLEX128, CANARY_OP_AVG, CANARY_COMPLEX64, CANARY_OP_AVG, 0,
	  .bytes = 800 },
	{ CANARY_COMPLEX128, CANARY_OP_PROD, CANARY_COMPLEX128, CANARY_OP_PROD, 0,
	  .bytes = 800,
	  .other_bytes = 1600 },
};

static void test_differs(void)
{
	char error[160];
	size_t i;

	for (i = 0; i < sizeof(differing) / sizeof(differing[0]); i++) {
		dtype = differing[i].dtype;
		op = differing[i].op;
		other_dtype = differing[i].other_dtype;
		other_op = differing[i].other_op;
		other_how = differing[i].other_how;
		differ_bytes = differing[i].bytes;
		other_bytes = differing[i].other_bytes ?: differ_bytes;
		tap(!with_ranks(run_differs, error),
		    "%zu bytes, %s of %s, rank 1 has %zu, %s of %s, how %u: %s", differ_bytes,
		    canary_operator_name(op), canary_dtype_name(dtype), other_bytes,
		    canary_operator_name(other_op), canary_dtype_name(other_dtype), other_how,
		    error);
	}
}

/* The guest is slow. api_types has all types. */
static bool is_left_out(void)
{
	return engine == CANARY_ENGINE_KERNEL && dtype != CANARY_INT8 && dtype != CANARY_UINT16 &&
	       dtype != CANARY_INT64 && dtype != CANARY_FLOAT32 &&
	       dtype != CANARY_INT32_INDEX && dtype != CANARY_FLOAT64_INDEX &&
	       dtype != CANARY_COMPLEX64;
}

static void test_type(void)
{
	uint32_t most = dtype >= CANARY_FLOAT16 && engine == CANARY_ENGINE_USER ? RANKS : 3;

	for (op = CANARY_OP_SUM; op <= OPERATORS; op++) {
		if (!canary_supports(dtype, op))
			continue;
		for (ranks = most == RANKS ? 1 : 3; ranks <= most; ranks++)
			tap(!with_ranks(run_type, NULL), "%s: %s of %s, %u ranks",
			    canary_algorithm_name(algorithm), canary_operator_name(op),
			    canary_dtype_name(dtype), ranks);
		ranks = 3;
	}
	tap(!with_ranks(run_flight, NULL), "%s: all of %s, in flight together",
	    canary_algorithm_name(algorithm), canary_dtype_name(dtype));
	op = CANARY_OP_SUM;
	how = CANARY_HOW_SATURATE;
	if (dtype <= CANARY_UINT64)
		tap(!with_ranks(run_type, NULL), "%s: saturated sum of %s",
		    canary_algorithm_name(algorithm), canary_dtype_name(dtype));
	for (how = 0; (is_float(dtype) || is_complex(dtype)) && how <= CANARY_HOW_FLOATS; how++)
		tap(!with_ranks(run_how, NULL), "%s: sums of %s, how %u",
		    canary_algorithm_name(algorithm), canary_dtype_name(dtype), how);
	how = 0;
}

static void test_methods(void)
{
	dtype = CANARY_BFLOAT16;
	for (op = CANARY_OP_PROD; op <= CANARY_OP_MAX; op += CANARY_OP_MAX - CANARY_OP_PROD)
		tap(!with_ranks(run_how, NULL), "%s: %s", canary_operator_name(op),
		    canary_method_name(method_of(1)));
}

static void test_engine(uint32_t which)
{
	static const uint32_t algorithms[] = { CANARY_ALG_TREE, CANARY_ALG_RING };
	size_t a;

	engine = which;
	printf("# the %s engine\n", which == CANARY_ENGINE_USER ? "user" : "kernel");
	for (a = 0; a < 2; a++) {
		algorithm = algorithms[a];
		for (dtype = CANARY_INT32; dtype <= TYPES; dtype++)
			if (!is_left_out())
				test_type();
	}
	test_methods();
	algorithm = CANARY_ALG_AUTO;
	tap(!with_ranks(run_refusals, NULL), "calls that are refused");
	test_differs();
}

int main(void)
{
	test_names();
	test_how();
	if (!own_net()) {
		tap_skip("everything else", "may not make a network namespace");
		return tap_done("user/types");
	}
	test_engine(CANARY_ENGINE_USER);
	if (access("/sys/module/canary", F_OK) == 0)
		test_engine(CANARY_ENGINE_KERNEL);
	return tap_done("user/types");
}
