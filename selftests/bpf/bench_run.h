/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmarks of the switch share: runs of programs, medians, figures */
#ifndef SELFTESTS_BPF_BENCH_RUN_H
#define SELFTESTS_BPF_BENCH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel.h"
#include "bench.skel.h"

#define BENCH_ROUNDS_MAX	101
#define BENCH_SLOTS		32768	/* the default of canary switch */

/* Start the line "build/bin/NAME ARGUMENTS", which figures have as their command. */
void bench_command(int argc, char **argv);

/*
 * Load a switch with a table of the default size and a timeout of 1 ms, in a network namespace of its
 * own. @ifindex and @other_end get its ports, from 1 to PORTS, and their peers.
 */
struct canary_switch *bench_load_switch(int *ifindex, int *other_end);

/*
 * Load bench.bpf.c, which looks up in the routes and neighbours of @sw. Errors end the program, here
 * and below.
 */
struct bench *bench_load_programs(struct canary_switch *sw);

/* Its programs may send by this device. */
void bench_may_send(struct bench *bench, int device);

/* What bench_stamp calls, if its frames do not go to a port */
void bench_under_test(struct bench *bench, struct bpf_program *prog);

/* The frames of @bench begin with the headers of @f. The data of @f become zeros. */
void bench_headers(struct bench *bench, struct frame *f);

/*
 * Run @prog @n times with @f, which comes by device @in. @batch: live frames at a time; 0: they are
 * not live. Return: ns for each
 */
double bench_run(struct bpf_program *prog, const struct frame *f, int in, int n, int batch);

/* Sorts @v. */
double bench_median(double *v, int n);

/*
 * Print a figure, as an object in a JSON list. @baseline: 0 for none. @more: further members of the
 * object, or "".
 */
void bench_figure(const char *name, double value, const char *unit, double baseline,
		  const char *more);

/* End the list of figures. */
void bench_end(void);

#endif /* SELFTESTS_BPF_BENCH_RUN_H */
