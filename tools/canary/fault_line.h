/* SPDX-License-Identifier: BSD-2-Clause */
/* The delay line of the fault injector, where packets wait. See bpf/fault/fault.h. */
#ifndef CANARY_TOOLS_FAULT_LINE_H
#define CANARY_TOOLS_FAULT_LINE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct fault_line {
	char near[IFNAMSIZ];	/* packets go in here */
	char far[IFNAMSIZ];	/* and come out here */
	unsigned int near_ifindex;
	unsigned int far_ifindex;
};

/* Fill in the names of the line of a device and direction. The line need not exist. */
void fault_line_name(struct fault_line *line, unsigned int ifindex, bool ingress);

/* Make the line with the delays of @slot_ns. Return: 0, or -1 after an error message. */
int fault_line_make(struct fault_line *line, const uint64_t *slot_ns);

/* Remove the line if it exists. */
void fault_line_remove(const struct fault_line *line);

/* Run a program of iproute2 with @input. Return: its exit status, or -1. */
int fault_run(const char *const argv[], const char *input, bool quiet, bool *printed);

#endif /* CANARY_TOOLS_FAULT_LINE_H */
