/* SPDX-License-Identifier: BSD-2-Clause */
/* The real programs, loaded and filled with the world of world.h: for tests and benchmark. */
#ifndef SELFTESTS_BPF_KERNEL_H
#define SELFTESTS_BPF_KERNEL_H

#include <stdbool.h>

#include "world.h"
#include "canary_switch.skel.h"
#include "inject.skel.h"

/* Move this process to a network namespace of its own, loopback up. */
int kernel_own_network(void);

/*
 * Ports p1 to p4, their other ends q1 to q4 in the same namespace, without IP on them. @ports and
 * @ends [1 ..] become their ifindexes. Return: what went wrong, or NULL.
 */
const char *kernel_make_ports(int *ports, int *ends);

int kernel_attach_xdp(int ifindex, struct bpf_program *prog);

struct canary_switch *kernel_load(uint32_t slots, uint32_t queue, bool test_clock);

/* Ports, routes and neighbours; @ifindexes[1 ..] of the ports */
int kernel_fill_maps(struct canary_switch *s, const int *ifindexes, bool shaped);

/* Summed over processors */
uint64_t kernel_counter(struct canary_switch *s, uint32_t index);

/* What canary_tc does with what is none of its business; needs a started backend_kernel. */
bool kernel_tc_ignores_plain(void);
bool kernel_tc_ignores_others(void);
/* Others' metadata is in front of the frame, ours behind it. */
bool kernel_tc_looks_behind(void);

/* Frames seen at the other ends, and how many of them still had the switch's metadata */
void kernel_seen(uint64_t *frames, uint64_t *leaks);

/* Give port 1 another address in the map, or its own again. */
void kernel_other_mac(bool other);

#endif /* SELFTESTS_BPF_KERNEL_H */
