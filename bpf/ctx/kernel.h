/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Types of the kernel that the programs look into. Types that user space may know come from its
 * headers. The few others are here, with only the fields that are used. Where these fields are in
 * the running kernel is found out when a program is loaded (CO-RE). A header made from BTF would
 * have the types of the building machine's kernel, which need not have BTF.
 */
#ifndef CANARY_BPF_CTX_KERNEL_H
#define CANARY_BPF_CTX_KERNEL_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/types.h>
#include <linux/udp.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	u64 net_cookie;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct netdev_queue;
struct Qdisc;

struct net_device {
	struct netdev_queue *_tx;
	struct Qdisc *qdisc;
	int ifindex;
	possible_net_t nd_net;
};

struct netdev_queue {
	struct net_device *dev;
};

struct sk_buff {
	struct sk_buff *next;
	unsigned int len;
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct gnet_stats_queue {
	__u32 backlog;
	__u32 drops;
};

struct Qdisc {
	unsigned int flags;
	u32 handle;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head gso_skb;
	struct gnet_stats_queue qstats;
};

#pragma clang attribute pop

#endif /* CANARY_BPF_CTX_KERNEL_H */
