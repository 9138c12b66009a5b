// SPDX-License-Identifier: GPL-2.0
/*
 * The fault injector: it drops, duplicates, delays, reorders and corrupts packets of one device, by
 * seeded chance. fault.h says how packets wait. Attached to clsact.
 */
#include <stddef.h>
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <linux/canary_wire.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "fault.h"

#define IP_OFFSET_MASK 0x1fff
#define SLOT_LOST_NS 100000000ULL

/* What is drawn for a packet, each with random numbers of its own */
enum draw {
	DRAW_DROP,
	DRAW_DUPLICATE,
	DRAW_REORDER,
	DRAW_CORRUPT,
	DRAW_BIT,
	DRAWS = 8,
};

const volatile struct fault_config fault_config;
const volatile __u64 fault_slot_ns[FAULT_SLOTS];

struct fault_stats fault_stats;
__u64 fault_sequence;
__u64 fault_delays;
__u64 fault_holds;
__u64 fault_busy_until[FAULT_SLOTS];

#define COUNT(what) ((void)__sync_fetch_and_add(&fault_stats.what, 1))

static __always_inline __u64 mix(__u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static __always_inline __u64 draw(__u64 number, enum draw kind)
{
	return mix(mix(fault_config.seed) + number * DRAWS + kind);
}

static __always_inline bool chance(__u64 number, enum draw kind, __u32 ppm)
{
	return ppm && ((draw(number, kind) >> 32) * FAULT_PPM) >> 32 < ppm;
}

/* Is this packet lost? It is if one of the latest @burst packets started a loss. */
static __always_inline bool lost(__u64 number)
{
	__u32 burst = fault_config.burst, ppm = fault_config.drop, i;

	if (!ppm)
		return false;
	if (burst <= 1)
		return chance(number, DRAW_DROP, ppm);
	for (i = 0; i < FAULT_BURST_MAX && i < burst && i <= number; i++)
		if (chance(number - i, DRAW_DROP, ppm / burst))
			return true;
	return false;
}

static __always_inline bool is_canary(struct __sk_buff *skb)
{
	struct iphdr ip;
	struct udphdr udp;
	__u16 port;

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return false;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return false;
	if (ip.protocol != IPPROTO_UDP || ip.frag_off & bpf_htons(IP_OFFSET_MASK))
		return false;
	if (bpf_skb_load_bytes(skb, ETH_HLEN + ip.ihl * 4, &udp, sizeof(udp)))
		return false;
	port = bpf_ntohs(udp.dest);
	return port >= CANARY_PORT_BASE && port < CANARY_PORT_BASE + CANARY_PORTS;
}

/* Send a copy where the packet goes, marked so that it is not treated again. */
static __always_inline bool duplicate(struct __sk_buff *skb)
{
	__u32 mark = skb->mark;
	long err;

	skb->mark = FAULT_MARK_TREATED;
	err = bpf_clone_redirect(skb, fault_config.ifindex,
				 fault_config.ingress ? BPF_F_INGRESS : 0);
	skb->mark = mark;
	return !err;
}

/* Flip one bit, anywhere behind the link-layer header. */
static __always_inline bool corrupt(struct __sk_buff *skb, __u64 number)
{
	__u64 where = draw(number, DRAW_BIT);
	__u32 offset;
	__u8 byte;

	if (skb->len <= ETH_HLEN)
		return false;
	offset = ETH_HLEN + (where >> 8) % (skb->len - ETH_HLEN);
	if (bpf_skb_load_bytes(skb, offset, &byte, 1))
		return false;
	byte ^= 1 << (where & 7);
	return !bpf_skb_store_bytes(skb, offset, &byte, 1, 0);
}

/* Take the next slot of [first, first + slots). Return: the slot; negative if it is still taken */
static __always_inline int take_slot(__u64 turn, __u32 first, __u32 slots)
{
	__u32 slot = first + turn % slots;
	__u64 now = bpf_ktime_get_ns();

	if (slot >= FAULT_SLOTS || now < fault_busy_until[slot])
		return -1;
	/* This is until the packet comes out; it is too long only if the packet never does. */
	fault_busy_until[slot] = now + 4 * fault_slot_ns[slot] + SLOT_LOST_NS;
	return slot;
}

/* Put the packet into the delay line. It comes back through canary_line(). */
static __always_inline int wait_in(struct __sk_buff *skb, int slot)
{
	__u32 mark = skb->mark, priority = skb->priority;

	skb->mark = FAULT_MARK_PRIMER;
	skb->priority = FAULT_LINE_MAJOR << 16 | (slot + 1);
	if (bpf_clone_redirect(skb, fault_config.line, 0)) {
		skb->mark = mark;
		skb->priority = priority;
		COUNT(errors);
		return TC_ACT_UNSPEC;
	}
	skb->mark = FAULT_MARK_WAITING | slot;
	return bpf_redirect(fault_config.line, 0);
}

SEC("tc")
int canary_fault(struct __sk_buff *skb)
{
	bool hold;
	__u64 number;
	int slot;

	if (skb->mark == FAULT_MARK_TREATED) {
		skb->mark = 0;
		return TC_ACT_UNSPEC;
	}
	if (fault_config.only_canary && !is_canary(skb))
		return TC_ACT_UNSPEC;

	COUNT(seen);
	number = __sync_fetch_and_add(&fault_sequence, 1);
	if (lost(number)) {
		COUNT(dropped);
		/* As on a wire, the sender must not learn of it; SHOT would tell. */
		return TC_ACT_STOLEN;
	}
	if (chance(number, DRAW_DUPLICATE, fault_config.duplicate)) {
		if (duplicate(skb))
			COUNT(duplicated);
		else
			COUNT(errors);
	}
	if (chance(number, DRAW_CORRUPT, fault_config.corrupt)) {
		if (corrupt(skb, number))
			COUNT(corrupted);
		else
			COUNT(errors);
	}

	hold = chance(number, DRAW_REORDER, fault_config.reorder);
	if (!hold && !fault_config.delay_ns)
		return TC_ACT_UNSPEC;
	if (hold)
		slot = take_slot(__sync_fetch_and_add(&fault_holds, 1), FAULT_DELAY_SLOTS,
				 FAULT_HOLD_SLOTS);
	else
		slot = take_slot(__sync_fetch_and_add(&fault_delays, 1), 0, FAULT_DELAY_SLOTS);
	if (slot < 0) {
		COUNT(line_full);
		return TC_ACT_UNSPEC;
	}
	if (hold)
		COUNT(reordered);
	else
		COUNT(delayed);
	return wait_in(skb, slot);
}

/* The far end of the delay line. A packet that has waited goes on; anything else ends here. */
SEC("tc")
int canary_line(struct __sk_buff *skb)
{
	__u32 slot = skb->mark & FAULT_MARK_SLOT;

	if ((skb->mark & ~FAULT_MARK_SLOT) != FAULT_MARK_WAITING || slot >= FAULT_SLOTS)
		return TC_ACT_SHOT;
	fault_busy_until[slot] = bpf_ktime_get_ns() + fault_slot_ns[slot];
	skb->mark = FAULT_MARK_TREATED;
	return bpf_redirect(fault_config.ifindex, fault_config.ingress ? BPF_F_INGRESS : 0);
}

char _license[] SEC("license") = "GPL";
