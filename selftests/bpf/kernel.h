/* SPDX-License-Identifier: BSD-2-Clause */
/* The real programs, loaded and filled with the world of world.h, for tests and benchmark */
#ifndef SELFTESTS_BPF_KERNEL_H
#define SELFTESTS_BPF_KERNEL_H

#include <stdbool.h>

#include "world.h"
#include "canary_switch.skel.h"
#include "inject.skel.h"

/* Move this process to a network namespace of its own, loopback up. */
int kernel_own_network(void);

/*
 * Make ports p1 to p4, and their other ends q1 to q4 in the same namespace, without IP. @ports[1
 * ..] and @ends[1 ..] receive their ifindexes. Return: what went wrong, or NULL.
 */
const char *kernel_make_ports(int *ports, int *ends);

int kernel_attach_xdp(int ifindex, struct bpf_program *prog);
int kernel_attach_tc(int ifindex, struct bpf_program *prog);

struct canary_switch *kernel_load(uint32_t slots, uint32_t queue, uint32_t queues,
				  bool test_clock);

/* Set ports, routes and neighbours. @ifindexes[1 ..] are those of the ports. */
int kernel_fill_maps(struct canary_switch *s, const int *ifindexes, bool shaped);

/* Copy results by broadcast, if there is a group. Else only clones copy them. */
int kernel_use_groups(struct canary_switch *s, const int *ifindexes);
/* Make the group of that key: see WORLD_KEY(). */
int kernel_make_group(struct canary_switch *s, const int *ifindexes, uint64_t key);

/* Sum of a counter over all processors */
uint64_t kernel_counter(struct canary_switch *s, uint32_t index);

/* Does canary_tc leave packets of others alone? Needs a started backend_kernel. */
bool kernel_tc_ignores_plain(void);
bool kernel_tc_ignores_others(void);
/* Does canary_tc find the switch's metadata behind foreign metadata? */
bool kernel_tc_looks_behind(void);

/* Number of frames seen at the other ends, and how many of them still had the switch's metadata */
void kernel_seen(uint64_t *frames, uint64_t *leaks);

/* Send a frame by @port that is no copy, together with the copies of the next result. */
void kernel_plain_first(int port);

/* Give port 1 another address in the map, or its own one again. */
void kernel_other_mac(bool other);

#endif /* SELFTESTS_BPF_KERNEL_H */
