/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fault injector: what `canary fault` and the tc program share.
 *
 * A packet's faults are drawn from {seed, its number in the sequence, kind}. So a seed gives the
 * same pattern, however fast packets come.
 *
 * Packets that have to wait go through the delay line. It is a veth pair whose first end has an HTB
 * with one class for each slot. Each class takes exactly its delay for a packet, since every packet
 * counts as FAULT_LINE_BYTES. An idle class would let the first packet through at once, so a primer
 * is sent ahead. So packets wait in the kernel, by its timers, whatever queueing discipline the
 * device has. A slot is free again one delay after its packet left: FAULT_DELAY_SLOTS packets can
 * wait in two delays.
 */
#ifndef CANARY_BPF_FAULT_H
#define CANARY_BPF_FAULT_H

#include <linux/types.h>

#define FAULT_PPM		1000000

/* Slots of the delay line: the first ones are for --delay, the rest for --reorder */
#define FAULT_DELAY_SLOTS	512
#define FAULT_HOLD_SLOTS	64
#define FAULT_SLOTS		(FAULT_DELAY_SLOTS + FAULT_HOLD_SLOTS)

/* Bytes for which the line counts any packet, GSO packets included */
#define FAULT_LINE_BYTES	65535
#define FAULT_LINE_MAJOR	1

#define FAULT_BURST_MAX		32

/* skb->mark inside the device and its delay line; 0 when the packet leaves */
#define FAULT_MARK_TREATED	0xca4a1000	/* has had its faults: let it pass */
#define FAULT_MARK_PRIMER	0xca4a2000	/* in the delay line, ends there */
#define FAULT_MARK_WAITING	0xca4a3000	/* in the delay line; plus the slot */
#define FAULT_MARK_SLOT		0x00000fff

/* Handle and priority of our filters, among those of others */
#define FAULT_TC_HANDLE		0xca4a
#define FAULT_TC_PRIORITY	0x4a

struct fault_config {
	__u64 seed;
	__u32 ifindex;		/* the device */
	__u32 line;		/* first end of the delay line, 0 if none is needed */
	__u32 drop;		/* these four in ppm */
	__u32 duplicate;
	__u32 reorder;
	__u32 corrupt;
	__u32 burst;		/* each loss takes so many packets in a row */
	__u32 only_canary;
	__u32 ingress;
	__u32 made_clsact;	/* `del` removes it, if nobody else uses it */
	__u32 reserved;
	__u64 delay_ns;		/* of all packets; fault_slot_ns has what is used */
	__u64 jitter_ns;
	__u64 hold_ns;
};

struct fault_stats {
	__u64 seen;		/* packets that faults could have been drawn for */
	__u64 dropped;
	__u64 duplicated;
	__u64 reordered;
	__u64 delayed;
	__u64 corrupted;
	__u64 line_full;	/* no slot to wait in was free: passed at once */
	__u64 errors;		/* a helper failed: the packet passed untreated */
};

#endif /* CANARY_BPF_FAULT_H */
