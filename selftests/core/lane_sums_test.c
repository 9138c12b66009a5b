// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lanes of floating-point sums: when the vector unit is borrowed for them, what the program has set
 * for it, and what they add up to among more members than other tests have.
 */
#include <fenv.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>

#include "core/inside.h"
#include "core/float_lanes.h"
#include "tools/canary/reference_float.h"
#include "selftests/tap.h"
#include "fixture.h"

u32 vector_borrowed;

/* ---- the vector unit ---- */

static const struct {
	const char *name;
	u8	dtype;
	u8	how;
} kinds[] = {
	{ "float32", CANARY_FLOAT32, 0 },
	{ "bfloat16", CANARY_BFLOAT16, 0 },
	{ "float16", CANARY_FLOAT16, 0 },
	{ "float64", CANARY_FLOAT64, 0 },
};

/* It is borrowed once for a packet, of exponents or of data. */
static void test_borrowed(void)
{
	struct tnet *s = connected(2, false);
	struct cnr_comm *c = tnet_comm(s, 0);
	struct cnr_operation o = { 0 };
	u32 i, index, most, bad = 0;
	struct cnr_part p;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct cnr_op op = {
			.op = CANARY_OP_SUM, .dtype = kinds[i].dtype, .elements = 1 << 20,
			.data = calloc(1 << 20, 8), .how = kinds[i].how,
		};

		op.memory = calloc(1, cnr_memory(c, &op));
		o = (struct cnr_operation){ .op = op, .encoding = cnr_encoding_of(c, &op) };
		cnr_encoding_begin(c, &o);
		o.blocks = cnr_blocks(c, o.encoding, &op);
		most = 0;
		for (index = 0; index < o.blocks; index++) {
			cnr_part(c, &o, index, &p);
			vector_borrowed = 0;
			o.encoding->encode(c, &o, &p, (u32 *)c->scratch);
			most = max_t(u32, most, vector_borrowed);
		}
		printf("# %s: borrowed %u times for a packet, at most\n", kinds[i].name, most);
		bad += most != (cnr_vectors() != CNR_VECTORS_NONE);
		free(op.data);
		free(op.memory);
	}
	tap(!bad, "the vector unit is borrowed once for a packet");
	tnet_free(s);
}

static void trapped(int signal)
{
	_exit(signal);
}

/* A program may want a signal when a number overflows. Our arithmetic is none of its business. */
static void overflow(void)
{
	u32 words[256], bits = 0x7f7fffff, i;
	u8 fields[256 / 16];
	struct cnr_lanes l = {
		.f = cnr_format(CANARY_FLOAT32), .dtype = CANARY_FLOAT32, .members = 2, .lane = 32,
		.group = 16, .wide = 1, .scale = 30, .fields = fields,
	};
	float v[256];

	memset(fields, 254, sizeof(fields));
	for (i = 0; i < 256; i++)
		memcpy(&v[i], &bits, sizeof(bits));
	signal(SIGFPE, trapped);
	feenableexcept(FE_OVERFLOW | FE_DIVBYZERO | FE_INVALID | FE_INEXACT);
	cnr_lanes_encode(&l, words, v, 0, 256);
	for (i = 0; i < 256; i++)
		words[i] *= 2;
	cnr_lanes_finish(&l, words, 0, 256);
	_exit(words[0] != 0x7f800000);
}

static void test_traps(void)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child)
		overflow();
	waitpid(child, &status, 0);
	tap(WIFEXITED(status) && !WEXITSTATUS(status),
	    "a program that has traps for overflows gets none, and infinity");
}

/* ---- many members ---- */

static const struct {
	const char *name;
	u8	dtype;
	u8	how;
} types[] = {
	{ "float16", CANARY_FLOAT16, CANARY_HOW_ELEMENTWISE },
	{ "bfloat16", CANARY_BFLOAT16, CANARY_HOW_ELEMENTWISE },
	{ "float32", CANARY_FLOAT32, CANARY_HOW_ELEMENTWISE },
	{ "float32, narrow", CANARY_FLOAT32, CANARY_HOW_ELEMENTWISE | CANARY_HOW_NARROW },
	{ "float64", CANARY_FLOAT64, CANARY_HOW_ELEMENTWISE },
};

/* Add up element @i as members, switches and the leader do. Return: false: one is not finite */
static bool sum_lanes(const struct cnr_lanes *l, const struct reference *r, u32 i, u64 *sum)
{
	u32 k, field, most = 0;
	u64 word, bits;
	s32 unit;

	for (k = 0; k < r->members; k++) {
		field = cnr_exponent_field(l->f, reference_given(r, k, i));
		if (field == cnr_exponent_max(l->f))
			return false;
		most = max_t(u32, most, field);
	}
	unit = cnr_unit(l, most);
	*sum = 0;
	for (k = 0; k < r->members; k++) {
		bits = reference_given(r, k, i);
		word = 0;
		cnr_lanes_put(l, &word, 0, &bits, 1, unit, true);
		/* As words of the kind: a carry out of 32 bits is lost. */
		*sum = l->lane == 21 || l->lane == 64 ? *sum + word : (u32)(*sum + word);
	}
	cnr_lanes_sum(l, sum, 0, 1, unit);
	return true;
}

static void test_members(u32 t, u8 op)
{
	static const u32 members[] = { 2, 17, 129, 300, 513, 1000, 1024, 1025, 5000, 65535 };
	u32 m, i, tried = 0, right = 0;
	struct cnr_lanes l;
	u64 sum, want;

	for (m = 0; m < ARRAY_SIZE(members); m++) {
		struct reference r = {
			.dtype = types[t].dtype, .op = op, .members = members[m],
			.how = types[t].how, .seed = 100 * m + t,
		};

		cnr_lanes_init(&l, r.dtype, r.how, r.members);
		l.group = 1;
		l.average = op == CANARY_OP_AVG;
		for (i = 0; i < (members[m] > 2000 ? 5 : 40); i++) {
			struct reference_group none = { 0 };

			if (!sum_lanes(&l, &r, i, &sum))
				continue;
			want = reference_float(&r, 5000, i, &none);
			tried++;
			right += !memcmp(&sum, &want, l.f->bytes);
		}
	}
	tap(tried > 100 && right == tried, "%s of %s, 2 to 65535 members: %u of %u sums of lanes",
	    op == CANARY_OP_AVG ? "averages" : "sums", types[t].name, right, tried);
}

int main(void)
{
	u32 t;

	test_borrowed();
	test_traps();
	for (t = 0; t < ARRAY_SIZE(types); t++) {
		test_members(t, CANARY_OP_SUM);
		test_members(t, CANARY_OP_AVG);
	}
	return tap_done("core-lane-sums");
}
