// SPDX-License-Identifier: BSD-2-Clause
/* canary allreduce: reads a binary vector, writes what comes out of all members' vectors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds.h"
#include "comm_options.h"
#include "member_json.h"
#include "output.h"
#include "userspace/common/complain.h"

struct allreduce {
	struct comm_options	comm;
	const char		*in, *out;
	const char		*type_name, *op_name, *how_name; /* as given; NULL: the usual one */
	enum canary_dtype	dtype;
	enum canary_operator	op;
	uint32_t		how;
	bool			json;
	int			in_fd;
	struct output		result;
	void			*data;
	size_t			count;		/* elements */
	double			seconds;
	struct canary_outcome	outcome;
};

static const struct option_row rows[] = {
	{ OPTION("in", 'i', "FILE",
		 "vector of little-endian elements, - for standard input (default)"),
	  OPTION_AT(struct allreduce, in) },
	{ OPTION("out", 'o', "FILE",
		 "receives the result of all members, - for standard output (default)"),
	  OPTION_AT(struct allreduce, out) },
	{ OPTION("type", 'd', "TYPE",
		 "of elements: int8, uint8, int16, uint16, int32 (default), uint32,\n"
		 "int64, uint64, float16, bfloat16, float32, float64; int16_index,\n"
		 "int32_index, int64_index, float32_index, float64_index; complex64,\n"
		 "complex128"),
	  OPTION_AT(struct allreduce, type_name) },
	{ OPTION("op", 0, "OP",
		 "sum (default), prod, min, max, and, or, xor, land, lor, lxor, avg;\n"
		 "of floating-point numbers: sum, prod, min, max, avg; of values\n"
		 "with an index: minloc, maxloc; of complex numbers: sum, prod, avg"),
	  OPTION_AT(struct allreduce, op_name) },
	{ OPTION("how", 0, "HOW", COMM_HOW_HELP),
	  OPTION_AT(struct allreduce, how_name) },
	{ OPTION("json", 'j', NULL, "one JSON object about it on standard error"),
	  OPTION_AT(struct allreduce, json) },
};

static int usage(FILE *to)
{
	const struct option_group own[] = { { OPTION_ROWS(rows) }, { 0 } };

	fprintf(to,
		"usage: canary allreduce [OPTIONS] < VECTOR > RESULT\n"
		"\n");
	options_help(to, own, 19);
	fputc('\n', to);
	comm_options_help(to);
	return to == stdout ? 0 : 2;
}

static int parse(struct allreduce *a, int argc, char **argv)
{
	const struct option_group groups[] = {
		{ OPTION_ROWS(rows), .take = option_take, .arg = a },
		{ COMM_OPTION_ROWS, .take = comm_option_take, .arg = &a->comm },
		{ 0 }
	};

	comm_options_init(&a->comm);
	a->dtype = CANARY_INT32;
	a->op = CANARY_OP_SUM;
	a->in = "-";
	a->out = "-";
	argv[0] = (char *)"canary allreduce";	/* getopt() prints it before its messages */
	switch (options_parse(groups, argc, argv)) {
	case OPTIONS_OK:
		break;
	case OPTIONS_HELP:
		exit(usage(stdout));
	case OPTIONS_BAD:
		fputs("usage: canary allreduce [OPTIONS]; canary allreduce --help lists them\n",
		      stderr);
		return 2;
	default:
		return 2;
	}
	if (optind < argc) {
		complain("canary", "allreduce: argument '%s' is not wanted", argv[optind]);
		return 2;
	}
	if ((a->type_name && canary_dtype_parse(a->type_name, &a->dtype)) ||
	    (a->op_name && canary_operator_parse(a->op_name, &a->op)) ||
	    (a->how_name && canary_how_parse(a->how_name, &a->how))) {
		complain("canary", "%s", canary_errmsg());
		return 2;
	}
	if (comm_operation_check(a->dtype, a->op, a->how))
		return 2;
	return comm_options_end(&a->comm) ? 2 : 0;
}

static int open_input(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;

	if (fd < 0)
		complain_errno("canary", path);
	return fd;
}

/* Read all of the input. Return: 0, or -1 after an error message. */
static int read_vector(struct allreduce *a)
{
	size_t room = 0, len = 0, element = canary_dtype_size(a->dtype);
	ssize_t n;
	void *p;

	do {
		if (len == room) {
			room = room ? 2 * room : 1 << 16;
			p = realloc(a->data, room);
			if (!p)
				return complain("canary", "%s: out of memory", a->in);
			a->data = p;
		}
		n = read(a->in_fd, (char *)a->data + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return complain_errno("canary", a->in);
		len += n;
	} while (n);
	if (len % element || len > CANARY_BYTES_MAX) {
		return complain("canary", "%s: %zu bytes: has to be a multiple of %zu, up to %zu",
				a->in, len, element, CANARY_BYTES_MAX / element * element);
	}
	a->count = len / element;
	return 0;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void report(struct allreduce *a, struct canary *c)
{
	struct canary_info info;
	struct json j;
	size_t each;

	canary_get_info(c, &info, sizeof(info));
	each = a->how ? 0 : canary_block_elements(c, a->dtype, a->op);
	json_begin(&j, stderr, JSON_LINE);
	json_object(&j, NULL);
	json_string(&j, "engine", canary_engine_name(c));
	json_string(&j, "engine_reason", canary_engine_reason(c));
	json_u64(&j, "zerocopy", info.zerocopy);
	json_u64(&j, "zerocopy_refused", info.refused);
	json_u64(&j, "rank", info.rank);
	json_u64(&j, "members", info.members);
	json_string(&j, "type", canary_dtype_name(a->dtype));
	json_string(&j, "redop", canary_operator_name(a->op));
	json_string(&j, "method", canary_method_name(a->outcome.method));
	json_u64(&j, "elements", a->count);
	json_string(&j, "algorithm", canary_algorithm_name(info.last));
	json_u64(&j, "algorithm_number", info.number);
	json_string(&j, "why", canary_why_name(info.why));
	json_u64(&j, "block_elements", each);
	json_u64(&j, "blocks", each ? (a->count + each - 1) / each : 0);
	json_number(&j, "seconds", "%.6f", a->seconds);
	json_stats(&j, c);
	json_end(&j);
}

static int fail(struct allreduce *a, struct canary *c, int error)
{
	struct json j;

	if (a->json) {
		json_begin(&j, stderr, JSON_LINE);
		json_object(&j, NULL);
		json_error(&j, c, error);
		json_end(&j);
	} else {
		complain("canary", "%s", canary_errmsg());
	}
	return 1;
}

static int run(struct allreduce *a)
{
	struct canary_call call = {
		.sendbuf = a->data, .recvbuf = a->data, .count = a->count, .dtype = a->dtype,
		.op = a->op, .how = a->how,
	};
	struct canary *c, *failed;
	int err, status = 0;
	double start;

	c = comm_join(&a->comm, &failed, &err);
	if (!c) {
		status = fail(a, failed, err);
		canary_close(failed);
		return status;
	}
	start = seconds();
	err = canary_allreduce_call(c, &call, sizeof(call), &a->outcome, sizeof(a->outcome));
	a->seconds = seconds() - start;
	if (err)
		status = fail(a, c, err);
	else if (output_write(&a->result, a->data,
			      a->count * canary_dtype_size(a->dtype)))
		status = 1;
	if (!status && a->json)
		report(a, c);
	canary_close(c);
	return status;
}

int cmd_allreduce(int argc, char **argv)
{
	struct allreduce a = { 0 };
	int status;

	status = parse(&a, argc, argv);
	if (status)
		return status;
	a.in_fd = open_input(a.in);
	if (a.in_fd < 0 || output_open(&a.result, "", a.out))
		return 1;
	status = read_vector(&a) ? 1 : run(&a);
	output_close(&a.result);
	free(a.data);
	return status;
}
