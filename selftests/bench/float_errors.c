// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors of sums by shared exponents, beside sums of floating-point numbers that are added up one
 * after the other. docs/floating-point.md has the tables. It uses the core's conversions and no
 * network.
 *
 * An error is the length of the difference of two vectors, divided by the length of the exact sum.
 * Each figure is the mean of several vectors; a ratio is the largest of them, without vectors whose
 * sums need no rounding.
 */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/float_lanes.h"

#define CHANNELS	1024	/* elements of a row; some channels are outliers */
#define LAYERS		8
#define ROW		64	/* of an embedding */

enum data { GAUSS, HEAVY, EMBEDDINGS, OUTLIERS, DATA };

static const char *const data_name[] = { "Gaussian", "heavy", "embeddings", "outliers" };

static const struct {
	const char *name;
	u8	dtype;
} types[] = {
	{ "float16", CANARY_FLOAT16 }, { "bfloat16", CANARY_BFLOAT16 },
	{ "float32", CANARY_FLOAT32 },
};

/* What is measured */
static u32 elements = 65536, vectors = 5;
static u8 lane, group;		/* 0: those of the core */

struct errors {
	double	exact;		/* rounded once */
	double	once;		/* added up in float32, rounded once */
	double	ring;		/* rounded at each step */
	double	each;
	double	groups;
	double	ratio_each;	/* to @once, of FLOAT32 to @ring */
	double	ratio_groups;
};

/* ---- data ---- */

static u64 state;

static double uniform(void)
{
	u64 x = state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return ((double)((x ^ x >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double gauss(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(2 * M_PI * uniform());
}

/* Student's distribution with 3 degrees of freedom */
static double student(void)
{
	double x = gauss(), a = gauss(), b = gauss(), c = gauss();

	return x / sqrt((a * a + b * b + c * c) / 3);
}

/* Scales of elements, which all members have in common */
static void make_scales(double *scale, enum data data)
{
	bool outlier[CHANNELS] = { false };
	u32 i;

	for (i = 0; data == OUTLIERS && i < 3; i++)
		outlier[(u32)(uniform() * CHANNELS)] = true;
	for (i = 0; i < elements; i++) {
		scale[i] = outlier[i % CHANNELS] ? 1000 : 1;
		if (data == HEAVY)
			scale[i] = exp(1.5 * gauss()) *
				   pow(1000, (double)(i / (elements / LAYERS)) / (LAYERS - 1));
	}
}

/* The vector of a member. Some 5 % of rows of embeddings are there. */
static void make_vector(double *x, const double *scale, enum data data)
{
	bool there = true;
	u32 i;

	for (i = 0; i < elements; i++) {
		if (data == EMBEDDINGS && !(i % ROW))
			there = uniform() < 0.05;
		x[i] = !there ? 0 : scale[i] * (data == HEAVY ? student() : gauss());
	}
}

/* ---- numbers ---- */

static u64 bits_of(const struct cnr_format *f, double x)
{
	struct cnr_number n = { .negative = x < 0 };
	int exponent;

	n.significand = (u64)ldexp(frexp(fabs(x), &exponent), 53);
	n.exponent = exponent - 53;
	return cnr_round(f, n);
}

static double value_of(const struct cnr_format *f, u64 bits)
{
	struct cnr_number n = cnr_number(f, bits);
	double x = ldexp((double)n.significand, n.exponent);

	return n.negative ? -x : x;
}

static double rounded(const struct cnr_format *f, double x)
{
	return value_of(f, bits_of(f, x));
}

/* ---- sums ---- */

static void *buffer(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p) {
		fputs("float_errors: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* Return: the error of sums by shared exponents; @one: an exponent for each element */
static double shared(struct cnr_lanes l, const u8 *given, const double *sum, bool one)
{
	u32 i, r, fields, words;
	u64 *all, *lanes;
	double error = 0, length = 0, d;
	u8 *field;

	if (one)
		l.group = 1;
	fields = cnr_div_up(elements, l.group);
	words = cnr_lanes_bytes(&l, elements) / 8 + 1;
	field = buffer(fields);
	l.fields = buffer(fields);
	all = buffer(words * 8ULL);
	lanes = buffer(words * 8ULL);
	for (r = 0; r < l.members; r++) {
		cnr_lanes_fields(&l, field, given + (size_t)r * elements * l.f->bytes, elements);
		for (i = 0; i < fields; i++)
			l.fields[i] = max_t(u8, l.fields[i], field[i]);
	}
	for (r = 0; r < l.members; r++) {
		memset(lanes, 0, words * 8ULL);
		cnr_lanes_encode(&l, lanes, given + (size_t)r * elements * l.f->bytes, 0, elements);
		for (i = 0; i < words; i++)
			all[i] += lanes[i];
	}
	cnr_lanes_finish(&l, all, 0, elements);
	for (i = 0; i < elements; i++) {
		d = value_of(l.f, cnr_bits_at(l.f, all, i)) - sum[i];
		error += d * d;
		length += sum[i] * sum[i];
	}
	free(field);
	free(l.fields);
	free(all);
	free(lanes);
	return sqrt(error / length);
}

/* The sums that are compared with */
struct sums {
	double	*exact;
	float	*single;
	double	*ring;
};

/* Give all members vectors of @data. */
static void give(const struct cnr_lanes *l, enum data data, u8 *given, struct sums *s)
{
	double *x = buffer(elements * sizeof(*x)), *scale = buffer(elements * sizeof(*scale));
	double most = 0, factor = 1;
	u32 i, r;
	u64 bits;

	make_scales(scale, data);
	for (i = 0; i < elements; i++)
		most = fmax(most, scale[i]);
	/* A user scales gradients so that they fit into 16 bits, too. */
	if (l->dtype == CANARY_FLOAT16)
		factor = 64 / most / l->members;
	for (r = 0; r < l->members; r++) {
		make_vector(x, scale, data);
		for (i = 0; i < elements; i++) {
			bits = bits_of(l->f, x[i] * factor);
			if (cnr_special(l->f, bits))
				bits = 0;
			cnr_bits_put(l->f, given, r * elements + i, bits);
			x[i] = value_of(l->f, bits);
			s->exact[i] += x[i];
			s->single[i] += (float)x[i];
			s->ring[i] = rounded(l->f, s->ring[i] + x[i]);
		}
	}
	free(x);
	free(scale);
}

static void measure(const struct cnr_lanes *l, enum data data, struct errors *e)
{
	u8 *given = buffer((size_t)l->members * elements * l->f->bytes);
	struct sums s = {
		buffer(elements * 8ULL), buffer(elements * 4ULL), buffer(elements * 8ULL)
	};
	double length = 0, exact = 0, once = 0, ring = 0, each, groups, base;
	u32 i;

	give(l, data, given, &s);
	for (i = 0; i < elements; i++) {
		length += s.exact[i] * s.exact[i];
		exact += pow(rounded(l->f, s.exact[i]) - s.exact[i], 2);
		once += pow(rounded(l->f, s.single[i]) - s.exact[i], 2);
		ring += pow(s.ring[i] - s.exact[i], 2);
	}
	each = shared(*l, given, s.exact, true);
	groups = shared(*l, given, s.exact, false);
	base = sqrt((l->dtype == CANARY_FLOAT32 ? ring : once) / length);
	e->exact += sqrt(exact / length) / vectors;
	e->once += sqrt(once / length) / vectors;
	e->ring += sqrt(ring / length) / vectors;
	e->each += each / vectors;
	e->groups += groups / vectors;
	if (base > 0) {
		e->ratio_each = fmax(e->ratio_each, each / base);
		e->ratio_groups = fmax(e->ratio_groups, groups / base);
	}
	free(given);
	free(s.exact);
	free(s.single);
	free(s.ring);
}

/* Print a line for each kind of data. */
static void row(const char *name, u8 dtype, u32 members)
{
	struct cnr_lanes l;
	struct errors e;
	u32 i, data;

	cnr_lanes_init(&l, dtype, 0, members);
	if (lane)
		l.lane = lane;
	if (group)
		l.group = group;
	l.scale = l.lane - 1 - cnr_log2_up(members);
	for (data = 0; data < DATA; data++) {
		memset(&e, 0, sizeof(e));
		for (i = 0; i < vectors; i++) {
			state = ((u64)members << 32) + data * 1000003 + i;
			measure(&l, data, &e);
		}
		printf("%-8s %-10s %5u %4u %5u %9.2e %9.2e %9.2e %9.2e %9.2e %6.3f %6.3f\n", name,
		       data_name[data], members, l.lane, l.group, e.exact, e.once, e.ring, e.each,
		       e.groups, e.ratio_each, e.ratio_groups);
		fflush(stdout);
	}
}

static void usage(void)
{
	fputs("usage: float_errors [--elements N] [--vectors N] [--lane BITS] [--group ELEMENTS]\n"
	      "                    TYPE MEMBERS...\n"
	      "TYPE is float16, bfloat16 or float32. The ratio is to sums in float32 that are\n"
	      "rounded once, of float32 to those of a ring.\n", stderr);
	exit(2);
}

static u32 number(const char *text, u32 least, u32 most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n < least || n > most)
		usage();
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "elements", required_argument, NULL, 'n' },
		{ "vectors", required_argument, NULL, 'v' },
		{ "lane", required_argument, NULL, 'l' },
		{ "group", required_argument, NULL, 'g' },
		{ 0 }
	};
	u32 t = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			elements = number(optarg, CHANNELS, 1 << 24);
			break;
		case 'v':
			vectors = number(optarg, 1, 1000);
			break;
		case 'l':
			lane = number(optarg, 16, 64);
			break;
		case 'g':
			group = number(optarg, 1, 128);
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 2)
		usage();
	while (t < ARRAY_SIZE(types) && strcmp(argv[optind], types[t].name))
		t++;
	if (t == ARRAY_SIZE(types))
		usage();
	printf("%-8s %-10s %5s %4s %5s %9s %9s %9s %9s %9s %6s %6s\n", "type", "data", "N", "lane",
	       "group", "exact", "once", "ring", "each", "groups", "/each", "/group");
	while (++optind < argc)
		row(types[t].name, types[t].dtype, number(argv[optind], 2, 4096));
	return 0;
}
