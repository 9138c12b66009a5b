// SPDX-License-Identifier: BSD-2-Clause
/* See bench_run.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bench_run.h"
#include "selftests/die.h"

#define LIVE_BATCH	64	/* that of the kernel, if nothing else is said */

static char command[256];
static int printed;

void bench_command(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	int i, n;

	n = snprintf(command, sizeof(command), "build/bin/%s", name ? name + 1 : argv[0]);
	for (i = 1; i < argc && n < (int)sizeof(command); i++)
		n += snprintf(command + n, sizeof(command) - n, " %s", argv[i]);
}

struct canary_switch *bench_load_switch(int *ifindex, int *other_end)
{
	struct canary_switch *sw;

	if (kernel_own_network())
		die_errno("network namespace");
	sw = kernel_load(BENCH_SLOTS, 2 * BENCH_SLOTS, CSW_QUEUES, false);
	if (!sw || kernel_make_ports(ifindex, other_end) || kernel_fill_maps(sw, ifindex, false))
		die_errno("switch");
	sw->bss->config.timeout_ns = MSEC;
	return sw;
}

struct bench *bench_load_programs(struct canary_switch *sw)
{
	struct bench *bench = bench__open();

	if (!bench ||
	    bpf_map__reuse_fd(bench->maps.routes, bpf_map__fd(sw->maps.routes)) ||
	    bpf_map__reuse_fd(bench->maps.neighbours, bpf_map__fd(sw->maps.neighbours)) ||
	    bench__load(bench))
		die_errno("load");
	return bench;
}

void bench_may_send(struct bench *bench, int device)
{
	if (bpf_map_update_elem(bpf_map__fd(bench->maps.bench_devmap), &device, &device, 0))
		die_errno("devmap");
}

void bench_under_test(struct bench *bench, struct bpf_program *prog)
{
	int fd = bpf_program__fd(prog), zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(bench->maps.under_test), &zero, &fd, 0))
		die_errno("tail call");
}

void bench_headers(struct bench *bench, struct frame *f)
{
	/* The switch writes to the frame, which is used again and needs the right sum. */
	memset(f->bytes + FRAME_DATA, 0, f->length - FRAME_DATA);
	((struct canary_hdr *)(f->bytes + FRAME_DATA) - 1)->contribution.sum = 0;
	memcpy(bench->bss->headers, f->bytes, sizeof(bench->bss->headers));
}

double bench_run(struct bpf_program *prog, const struct frame *f, int in, int n, int batch)
{
	struct xdp_md ctx = { .data_end = f->length, .ingress_ifindex = in };
	uint8_t out[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		    .data_in = f->bytes, .data_size_in = f->length,
		    .data_out = batch ? NULL : out, .data_size_out = batch ? 0 : sizeof(out),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = n,
		    .flags = batch ? BPF_F_TEST_XDP_LIVE_FRAMES : 0,
		    .batch_size = batch == LIVE_BATCH ? 0 : batch);

	if (bpf_prog_test_run_opts(bpf_program__fd(prog), &opts))
		die_errno("BPF_PROG_RUN");
	return opts.duration;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

double bench_median(double *v, int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

void bench_figure(const char *name, double value, const char *unit, double baseline,
		  const char *more)
{
	printf("%s\n  {\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"",
	       printed++ ? "," : "[", name, value, unit);
	if (baseline)
		printf(", \"baseline\": %.6g, \"ratio\": %.3f", baseline, value / baseline);
	printf("%s, \"command\": \"%s\"}", more, command);
	fflush(stdout);
}

void bench_end(void)
{
	printf("%s\n]\n", printed ? "" : "[");
}
