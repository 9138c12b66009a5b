/* SPDX-License-Identifier: BSD-2-Clause */
/* The real programs, loaded and filled with the world of world.h: for tests and benchmark. */
#ifndef SELFTESTS_BPF_KERNEL_H
#define SELFTESTS_BPF_KERNEL_H

#include "world.h"
#include "canary_switch.skel.h"
#include "inject.skel.h"

/* Move this process to a network namespace of its own, loopback up. */
int kernel_own_network(void);

struct canary_switch *kernel_load(uint32_t slots, uint32_t queue, bool test_clock);

/* Ports, routes and neighbours; @ifindexes[1 ..] of the ports */
int kernel_fill_maps(struct canary_switch *s, const int *ifindexes, bool shaped);

/* Summed over processors */
uint64_t kernel_counter(struct canary_switch *s, uint32_t index);

#endif /* SELFTESTS_BPF_KERNEL_H */
