/* SPDX-License-Identifier: BSD-2-Clause */
/* The delay line of the fault injector: where packets wait. See bpf/fault/fault.h. */
#ifndef CANARY_TOOLS_FAULT_LINE_H
#define CANARY_TOOLS_FAULT_LINE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct fault_line {
	char near[IFNAMSIZ];	/* packets go in here, and wait */
	char far[IFNAMSIZ];	/* and come out here */
	unsigned int near_ifindex;
	unsigned int far_ifindex;
};

/* Names of the line that belongs to a device and direction, whether it is there or not */
void fault_line_name(struct fault_line *line, unsigned int ifindex, bool ingress);

/* Makes the line with the delays of @slot_ns; 0, or -1 having told why. */
int fault_line_make(struct fault_line *line, const uint64_t *slot_ns);

/* Takes the line away if it is there. */
void fault_line_remove(const struct fault_line *line);

/* Runs a program of iproute2 with @input; its exit status, or -1. */
int fault_run(const char *const argv[], const char *input, bool quiet, bool *printed);

#endif /* CANARY_TOOLS_FAULT_LINE_H */
