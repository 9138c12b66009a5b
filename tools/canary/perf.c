// SPDX-License-Identifier: BSD-2-Clause
/*
 * canary perf: measures how fast collectives are, and checks that they are right. Flags, columns
 * and the meaning of the bandwidths are those of nccl-tests. Rank 0 prints.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds.h"
#include "member_json.h"
#include "perf.h"
#include "userspace/common/complain.h"

#define SIZE_MAX_BYTES	CANARY_BYTES_MAX
#define FACTOR		2		/* used if neither it nor --stepbytes is given */

#define BYTES(member, least, usual)					\
	OPTION_AT(struct perf, member), .units = parse_bytes, .min = (least), \
	.max = SIZE_MAX_BYTES, .standard = (usual)
#define COUNT(member, least, most, usual)				\
	OPTION_AT(struct perf, member), .units = parse_counts, .min = (least), .max = (most), \
	.standard = (usual)

static const struct option_row rows[] = {
	{ OPTION("minbytes", 'b', "SIZE", "first size in bytes, K, M, G may follow (4)"),
	  BYTES(min, 0, 4) },
	{ OPTION("maxbytes", 'e', "SIZE", "last size (4M)"), BYTES(max, 0, 4 << 20) },
	{ OPTION("stepfactor", 'f', "N", "next size is N times the last one, {range} (2)"),
	  COUNT(factor, 2, 1024, 0) },
	{ OPTION("stepbytes", 'i', "SIZE", "next size is that much larger, instead of -f"),
	  BYTES(step_bytes, 4, 0) },
	{ OPTION("iters", 'n', "N", "operations that are timed, {range} ({default})"),
	  COUNT(iters, 1, 1000000, 20) },
	{ OPTION("warmup_iters", 'w', "N", "operations before, {range} ({default})"),
	  COUNT(warmup, 0, 1000000, 5) },
	{ OPTION("check", 'c', "N", "operations whose result is checked, {range} ({default})"),
	  COUNT(check, 0, 1000, 1) },
	{ OPTION("agg_iters", 'm', "N", "operations in flight together, {range} ({default})"),
	  COUNT(aggregate, 1, PERF_FLIGHT, 1) },
	{ OPTION("datatype", 'd', "TYPE",
		 "type of elements, or all (int32): int8, uint8, int16, uint16,\n"
		 "int32, uint32, int64, uint64, float16 (half), bfloat16,\n"
		 "float32 (float), float64 (double), int16_index, int32_index,\n"
		 "int64_index, float32_index, float64_index, complex64, complex128"),
	  OPTION_AT(struct perf, dtypes) },
	{ OPTION("op", 'o', "OP",
		 "operator, or all (sum): sum, prod, min, max, and, or, xor,\n"
		 "land, lor, lxor, avg; of floating-point numbers: sum, prod,\n"
		 "min, max, avg; of values with an index: minloc, maxloc; of\n"
		 "complex numbers: sum, prod, avg"),
	  OPTION_AT(struct perf, ops) },
	{ OPTION("how", 'H', "HOW", COMM_HOW_HELP), OPTION_AT(struct perf, how) },
	{ OPTION("output_file", 'J', "FILE", "results as JSON as well, from rank 0"),
	  OPTION_AT(struct perf, json) },
};

static int usage(FILE *to)
{
	const struct option_group own[] = { { OPTION_ROWS(rows) }, { 0 } };

	fprintf(to,
		"usage: canary perf allreduce [OPTIONS]\n"
		"\n");
	options_help(to, own, 27);
	fprintf(to,
		"\n"
		"algbw is size by time, busbw the same times 2(N-1)/N, in GB/s (10^9 bytes).\n"
		"\n");
	comm_options_help(to);
	return to == stdout ? 0 : 2;
}

/* Point to --help after an error message. Return: the exit status. */
static int hint(void)
{
	fprintf(stderr, "usage: canary perf allreduce [OPTIONS]; canary perf allreduce --help lists them\n");
	return 2;
}

static int take(void *p, const struct option_row *row, const char *text)
{
	switch (option_store(row, p, text)) {
	case PARSE_OK:
		return 0;
	case PARSE_JUNK:
		return complain("canary", "%s: '%s' is not a number%s", row->name, text,
				row->units == parse_bytes ? ", K, M or G may follow" : "");
	default:
		return complain("canary", "%s: '%s' is out of range, %llu to %llu", row->name, text,
				(unsigned long long)row->min, (unsigned long long)row->max);
	}
}

/* Are type and operator there? What is run first is left in p->reference. */
static int parse_names(struct perf *p)
{
	p->reference.dtype = CANARY_INT32;
	p->reference.op = CANARY_OP_SUM;
	if (p->dtypes && strcmp(p->dtypes, "all") &&
	    canary_dtype_parse(p->dtypes, &p->reference.dtype))
		return complain("canary", "data%s, or all", canary_errmsg());
	if (p->ops && strcmp(p->ops, "all") && canary_operator_parse(p->ops, &p->reference.op))
		return complain("canary", "%s, or all", canary_errmsg());
	if (p->how && canary_how_parse(p->how, &p->reference.how))
		return complain("canary", "%s", canary_errmsg());
	/* Of all types and operators, those are run that there are. */
	if ((p->dtypes && !strcmp(p->dtypes, "all")) || (p->ops && !strcmp(p->ops, "all")))
		return 0;
	return comm_operation_check(p->reference.dtype, p->reference.op, p->reference.how);
}

static int parse(struct perf *p, int argc, char **argv)
{
	const struct option_group groups[] = {
		{ OPTION_ROWS(rows), .take = take, .arg = p },
		{ COMM_OPTION_ROWS, .take = comm_option_take, .arg = &p->comm },
		{ 0 }
	};
	size_t i;

	comm_options_init(&p->comm);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		option_set(&rows[i], p, rows[i].standard);
	switch (options_parse(groups, argc, argv)) {
	case OPTIONS_OK:
		break;
	case OPTIONS_HELP:
		exit(usage(stdout));
	case OPTIONS_BAD:
		return hint();
	default:
		return 2;
	}
	if (optind < argc) {
		complain("canary", "perf: argument '%s' is not wanted", argv[optind]);
		return 2;
	}
	if (parse_names(p))
		return 2;
	if (p->factor && p->step_bytes) {
		complain("canary", "stepfactor, stepbytes: only one of them can be the step to the next size");
		return 2;
	}
	if (!p->factor)
		p->factor = FACTOR;
	if (p->min > p->max) {
		complain("canary", "minbytes: %llu is more than maxbytes, %llu",
			 (unsigned long long)p->min, (unsigned long long)p->max);
		return 2;
	}
	if (!p->min && p->max && !p->step_bytes) {
		complain("canary", "minbytes: no factor leads from 0 to maxbytes: --stepbytes");
		return 2;
	}
	return comm_options_end(&p->comm) ? 2 : 0;
}

/* Open the result file before anything is measured. */
static int open_json(struct perf *p)
{
	p->output.fd = -1;
	if (!p->json || p->comm.params.rank)
		return 0;
	return output_open(&p->output, "output_file: ", p->json) ? 2 : 0;
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sort the times of this rank, and forget them. */
static void take_times(struct perf *p, struct result *r)
{
	if (!p->times_n)
		return;
	qsort(p->times, p->times_n, sizeof(*p->times), by_length);
	r->median_us = p->times[p->times_n / 2];
	r->p99_us = p->times[p->times_n * 99 / 100];
	p->times_n = 0;
}

/*
 * Sums in place grow until they are infinite, and sums with infinities take longer. So
 * floating-point numbers are zeros in place, and ordinary ones out of place.
 */
static void prepare(const struct perf *p, void *in, const void *out, size_t count)
{
	struct reference plain = p->reference;

	if (!reference_is_float(reference_number(plain.dtype, 0)))
		return;
	plain.seed = 0;
	if (in == out)
		memset(in, 0, count * canary_dtype_size(plain.dtype));
	else
		reference_fill(&plain, p->rank, in, count);
}

static int measure(struct perf *p, void *in, void *out, size_t count, struct result *r)
{
	uint64_t rounds = (p->iters + p->aggregate - 1) / p->aggregate * p->aggregate, ns;
	size_t size = count * canary_dtype_size(p->reference.dtype);
	double start;

	prepare(p, in, out, count);
	if (perf_operations(p, in, out, count, p->warmup) || perf_reduce(p, NULL, NULL, 0))
		return -1;
	p->times_n = 0;
	start = perf_now_us();
	if (perf_operations(p, in, out, count, rounds))
		return -1;
	ns = (uint64_t)((perf_now_us() - start) * 1e3 / rounds);
	take_times(p, r);
	if (perf_sum(p, &ns))
		return -1;
	r->time_us = (double)ns / p->members / 1e3;
	r->algbw = r->time_us ? size / r->time_us / 1e3 : 0;
	r->busbw = r->algbw * 2 * (p->members - 1) / p->members;
	if (perf_check(p, in, out, count, &r->wrong))
		return -1;
	p->wrong += r->wrong;
	return 0;
}

static void print_head(const struct perf *p)
{
	struct canary_info info;

	canary_get_info(p->c, &info, sizeof(info));
	printf("# canary %s allreduce: minBytes %llu maxBytes %llu step: %llu(%s) warmup iters: %llu iters: %llu agg iters: %llu validation: %llu\n",
	       canary_version(), (unsigned long long)p->min, (unsigned long long)p->max,
	       (unsigned long long)(p->step_bytes ?: p->factor),
	       p->step_bytes ? "bytes" : "factor", (unsigned long long)p->warmup,
	       (unsigned long long)p->iters, (unsigned long long)p->aggregate,
	       (unsigned long long)p->check);
	printf("# communicator %u, %u ranks, %u elements a block, window %u\n", info.comm,
	       info.members, info.elements, info.window);
	printf("# engine of rank 0: %s (%s)\n# algorithm: %s", canary_engine_name(p->c),
	       canary_engine_reason(p->c), canary_algorithm_name(info.algorithm));
	if (info.number)
		printf(":%u", info.number);
	printf("\n#\n");
	printf("# %10s  %12s  %8s  %6s  %6s  %34s  %28s\n", "", "", "", "", "", "out-of-place",
	       "in-place");
	printf("# %10s  %12s  %8s  %6s  %6s  %9s  %6s  %6s  %6s  %9s  %6s  %6s  %6s\n", "size",
	       "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
	       "algbw", "busbw", "#wrong");
	printf("# %10s  %12s  %8s  %6s  %6s  %9s  %6s  %6s  %6s  %9s  %6s  %6s  %6s\n", "(B)",
	       "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
	       "(GB/s)", "");
	fflush(stdout);
}

static void print_result(const struct perf *p, const struct result *r)
{
	printf("  %9.2f  %6.*f  %6.*f", r->time_us, r->algbw < 10 ? 4 : 2, r->algbw,
	       r->busbw < 10 ? 4 : 2, r->busbw);
	if (p->check)
		printf("  %6llu", (unsigned long long)r->wrong);
	else
		printf("  %6s", "N/A");
}

static uint64_t row_size(const struct row *row)
{
	return row->count * canary_dtype_size(row->dtype);
}

static void print_row(const struct perf *p, const struct row *row)
{
	printf("%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)row_size(row),
	       (unsigned long long)row->count, canary_dtype_name(row->dtype),
	       canary_operator_name(row->op), -1);
	print_result(p, &row->out_of_place);
	print_result(p, &row->in_place);
	putchar('\n');
	fflush(stdout);
}

static void json_result(struct json *j, const char *name, const struct result *r)
{
	json_object(j, name);
	json_number(j, "time_us", "%.3f", r->time_us);
	json_number(j, "median_us", "%.3f", r->median_us);
	json_number(j, "p99_us", "%.3f", r->p99_us);
	json_number(j, "algbw", "%.6f", r->algbw);
	json_number(j, "busbw", "%.6f", r->busbw);
	json_u64(j, "wrong", r->wrong);
	json_end(j);
}

static void json_row(struct json *j, const struct row *row)
{
	json_object(j, NULL);
	json_u64(j, "size", row_size(row));
	json_u64(j, "count", row->count);
	json_string(j, "type", canary_dtype_name(row->dtype));
	json_string(j, "redop", canary_operator_name(row->op));
	json_string(j, "method", canary_method_name(row->method));
	json_number(j, "root", "%d", -1);
	json_string(j, "switches", row->seen.switches);
	json_u64(j, "aggregates", row->seen.aggregates);
	json_u64(j, "ring", row->seen.ring);
	json_result(j, "out_of_place", &row->out_of_place);
	json_result(j, "in_place", &row->in_place);
	json_end(j);
}

static void print_json(FILE *f, const struct perf *p)
{
	struct canary_info info;
	struct json j;
	int i;

	canary_get_info(p->c, &info, sizeof(info));
	json_begin(&j, f, JSON_LINE);
	json_object(&j, NULL);
	json_string(&j, "collective", "allreduce");
	json_u64(&j, "ranks", p->members);
	json_string(&j, "engine", canary_engine_name(p->c));
	json_string(&j, "engine_reason", canary_engine_reason(p->c));
	json_string(&j, "algorithm", canary_algorithm_name(info.algorithm));
	json_u64(&j, "algorithm_number", info.number);
	json_string(&j, "last_algorithm", canary_algorithm_name(info.last));
	json_string(&j, "why", canary_why_name(info.why));
	json_u64(&j, "zerocopy", info.zerocopy);
	json_u64(&j, "zerocopy_refused", info.refused);
	json_u64(&j, "block_elements", info.elements);
	json_u64(&j, "window", info.window);
	json_u64(&j, "iters", p->iters);
	json_u64(&j, "warmup_iters", p->warmup);
	json_u64(&j, "check", p->check);
	json_u64(&j, "agg_iters", p->aggregate);
	json_array(&j, "results");
	for (i = 0; i < p->row_count; i++)
		json_row(&j, &p->rows[i]);
	json_end(&j);
	json_u64(&j, "out_of_bounds", p->wrong);
	json_number(&j, "avg_busbw", "%.6f",
		    p->row_count ? p->busbw_sum / (2 * p->row_count) : 0);
	json_stats(&j, p->c);
	json_end(&j);
}

static int write_json(struct perf *p)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int ret = -1;

	if (f) {
		print_json(f, p);
		if (!fclose(f) && !fflush(stdout))
			ret = output_write(&p->output, text, len);
		else
			complain_errno("canary", p->json);
	} else {
		complain_memory("canary");
	}
	free(text);
	return ret;
}

static int add_row(struct perf *p, uint64_t size)
{
	struct row *rows = realloc(p->rows, (p->row_count + 1) * sizeof(*rows));
	struct row *row;

	if (!rows)
		return complain_memory("canary");
	p->rows = rows;
	row = &rows[p->row_count++];
	memset(row, 0, sizeof(*row));
	row->dtype = p->reference.dtype;
	row->op = p->reference.op;
	row->count = size / canary_dtype_size(row->dtype);
	p->seen = (struct seen){ .switches = "-" };
	if (measure(p, p->send, p->recv, row->count, &row->out_of_place) ||
	    measure(p, p->recv, p->recv, row->count, &row->in_place))
		return -1;
	row->method = p->method;
	row->seen = p->seen;
	p->busbw_sum += row->out_of_place.busbw + row->in_place.busbw;
	if (p->rank == 0)
		print_row(p, row);
	return 0;
}

/* All sizes, with one type and operator */
static int run_sizes(struct perf *p)
{
	uint64_t size, next;

	if (!canary_supports(p->reference.dtype, p->reference.op))
		return 0;
	for (size = p->min; size <= p->max; size = next) {
		if (add_row(p, size))
			return -1;
		next = p->step_bytes ? size + p->step_bytes : size * p->factor;
		if (next <= size)
			break;
	}
	return 0;
}

/* All operators that were asked for, with one type */
static int run_operators(struct perf *p)
{
	if (!p->ops || strcmp(p->ops, "all"))
		return run_sizes(p);
	for (p->reference.op = 1; canary_operator_name(p->reference.op); p->reference.op++)
		if (run_sizes(p))
			return -1;
	return 0;
}

static int run_types(struct perf *p)
{
	if (!p->dtypes || strcmp(p->dtypes, "all"))
		return run_operators(p);
	for (p->reference.dtype = 1; canary_dtype_name(p->reference.dtype); p->reference.dtype++)
		if (run_operators(p))
			return -1;
	return 0;
}

static int run(struct perf *p)
{
	struct canary_info info;

	if (p->rank == 0)
		print_head(p);
	if (run_types(p))
		return 1;
	if (p->rank)
		return p->wrong ? 1 : 0;
	printf("# Out of bounds values : %llu %s\n", (unsigned long long)p->wrong,
	       p->wrong ? "FAILED" : "OK");
	printf("# Avg bus bandwidth    : %.6g\n", p->busbw_sum / (2 * p->row_count));
	canary_get_info(p->c, &info, sizeof(info));
	printf("# Algorithm at the end : %s (%s)\n#\n", canary_algorithm_name(info.last),
	       canary_why_name(info.why));
	if (p->json && write_json(p))
		return 1;
	return p->wrong ? 1 : 0;
}

int cmd_perf(int argc, char **argv)
{
	struct perf p = { 0 };
	struct canary *failed;
	int status, err;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout);
	if (argc < 2) {
		complain("canary", "perf: which collective? allreduce");
		return hint();
	}
	if (strcmp(argv[1], "allreduce")) {
		complain("canary", "perf: '%s' is not a collective; there is allreduce", argv[1]);
		return hint();
	}
	argv[1] = (char *)"canary perf allreduce";	/* getopt() prints it before its messages */
	status = parse(&p, argc - 1, argv + 1);
	if (!status)
		status = open_json(&p);
	if (status)
		return status;
	p.rank = p.comm.params.rank;
	p.members = p.comm.params.members;
	p.reference.members = p.members;
	p.send = calloc(1, perf_room(&p));
	p.recv = calloc(1, perf_room(&p));
	p.times = p.json ? malloc(PERF_TIMES * sizeof(*p.times)) : NULL;
	status = 1;
	if (p.send && p.recv) {
		p.c = comm_join(&p.comm, &failed, &err);
		if (p.c)
			status = run(&p);
		else
			perf_fail(&p);
		canary_close(p.c ?: failed);
	} else {
		complain_memory("canary");
	}
	output_close(&p.output);
	free(p.rows);
	free(p.send);
	free(p.recv);
	free(p.times);
	return status;
}
