/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What bpf/lib needs to run as an ordinary program, for unit tests and the simulator. The names are
 * those of bpf.h and maps.h. The includer owns struct csw_native, one for each switch.
 */
#ifndef CANARY_BPF_CTX_NATIVE_H
#define CANARY_BPF_CTX_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <endian.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/types.h>
#include <linux/udp.h>
#include <linux/canary_wire.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

#ifndef cnr_be16
#define cnr_be16(x)	be16toh(x)
#define cnr_be32(x)	be32toh(x)
#endif
#define csw_be16(x)	htobe16(x)
#define csw_be32(x)	htobe32(x)
#define csw_be64(x)	htobe64(x)
#define csw_cpu64(x)	be64toh(x)

#include "core/parse.h"
#include "reduce.h"
#include "../shared.h"

#define CSW_READ(x)	(*(const volatile __typeof__(x) *)&(x))
#define csw_release(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)
#ifdef CSW_ONE_THREAD	/* the whole program has one: atomic instructions are slow */
#define csw_swap(p, from, to)	({				\
	__typeof__(*(p)) was = *(p);				\
	if (was == (from))					\
		*(p) = (to);					\
	was;							\
})
#else
#define csw_swap(p, from, to)	__sync_val_compare_and_swap(p, from, to)
#endif
#define CSW_FUNC	static __attribute__((noinline, unused))
#define csw_any		const void *
#define CSW_ANY(ctx)	(ctx)
#define CSW_CTX(any)	(any)
#define CSW_LOOP
#define CSW_UNROLL
#define CSW_OPAQUE(x)	((void)0)

/* The numbers are those of the kernel's actions. */
enum {
	CSW_XDP_DROP		= 1,
	CSW_XDP_PASS		= 2,
	CSW_XDP_REDIRECT	= 4,
	CSW_TC_NEXT		= -1,
	CSW_TC_DROP		= 2,
	CSW_TC_REDIRECT		= 7,
};

struct csw_frame;

/*
 * struct csw_native - one switch
 * @descriptor, @queue: as many as @config says
 * @restoration: CSW_RESTORE_SLOTS of them
 * @stride, @apart: bytes from one bucket to the next, and from one slot of a bucket to the next; 0:
 *		they follow each other without gaps
 * @turn: with @stride: buckets whose numbers differ by a multiple of 1 << @turn are neighbours
 * @route, @neigh, @port: look up the tables; NULL for a miss
 * @configured_fan_in: of a leader, 0 for a miss; only called if config.fan_ins_configured is set
 * @admission: for what a source at a port may use the switch, NULL for nothing; only called if
 *		config.admit is set
 * @vlan: is that VLAN of a port a port of the switch itself? NULL: none is
 * @backlog: what waits at a port. It may be NULL, and may return NULL: unknown
 * @random: may be NULL if nothing is chosen at random
 * @queue: of all deadline queues, one after the other
 * @processor: which one works
 * @spread: CSW_SPREADS of them; NULL: there are no groups, and the three below are not called
 * @group: the group with that key, NULL for none
 * @want: that spread lacks a group
 * @broadcast: a copy of the frame goes to each device of the group; csw_copy() is called for it
 * @kernel_neigh: fills in the link-layer addresses as the kernel would; false if it cannot
 * @wake: the clock sleeps and has to wake; NULL: it never sleeps
 * @transmit: the frame leaves by a port
 * @copy: a copy of the frame leaves by a port; NULL: @transmit does it, and then must not keep the
 *		frame
 */
struct csw_native {
	struct csw_config config;
	struct csw_queue_ctl queue_ctl;
	__u32 processor;
	struct csw_descriptor *descriptor;
	size_t stride;
	size_t apart;
	__u32 turn;
	struct csw_queue_entry *queue;
	struct csw_restoration *restoration;
	__u64 now;
	void (*wake)(struct csw_native *s);
	struct csw_route *(*route)(struct csw_native *s, const struct canary_addr *addr);
	const struct csw_neigh *(*neigh)(struct csw_native *s, __u32 ifindex,
					 const struct canary_addr *addr);
	const struct csw_port *(*port)(struct csw_native *s, __u32 ifindex);
	__u32 (*configured_fan_in)(struct csw_native *s, const struct canary_addr *leader);
	const struct csw_admission *(*admission)(struct csw_native *s, __u32 ifindex,
						 const struct canary_addr *addr);
	bool (*vlan)(struct csw_native *s, __u32 ifindex, __be16 type, __be16 vlan);
	struct csw_backlog *(*backlog)(struct csw_native *s, __u32 ifindex);
	__u32 (*random)(struct csw_native *s);
	bool (*kernel_neigh)(struct csw_frame *f, __u32 ifindex,
			     const struct canary_addr *gateway);
	struct csw_spread *spread;
	void *(*group)(struct csw_native *s, __u64 key);
	void (*want)(struct csw_native *s, const struct csw_spread *spread);
	int (*broadcast)(struct csw_frame *f, void *group);
	void (*transmit)(struct csw_frame *f, __u32 ifindex);
	void (*copy)(struct csw_frame *f, __u32 ifindex);
	__u32 restore_credit;
	__u64 counter[CSW_COUNTER_COUNT + CANARY_DROPS];
	struct csw_copies copies;	/* large fields from here on */
	struct csw_fan_in fan_in[CSW_FAN_INS];
	__u64 own_macs[CSW_OWN_MACS];
	struct csw_flowlet flowlet[CSW_FLOWLETS];
};

/*
 * struct csw_frame - a frame, for XDP and tc alike
 * @data: 6 bytes past a multiple of 8, so that all headers and words are aligned
 * @room: how long it can become
 */
struct csw_frame {
	struct csw_native *owner;
	__u8 *data;
	__u32 length;
	__u32 room;
	__u32 ifindex;
	bool has_meta;
	struct csw_meta meta;
};

#define csw_xdp		struct csw_frame
#define csw_skb		struct csw_frame

static __always_inline struct csw_native *csw_owner(const void *ctx)
{
	return ((const struct csw_frame *)ctx)->owner;
}

static __always_inline __u64 csw_now(const void *ctx)
{
	return csw_owner(ctx)->now;
}

static __always_inline void *csw_data(const struct csw_frame *f)
{
	return f->data;
}

static __always_inline void *csw_end(const struct csw_frame *f)
{
	return f->data + f->length;
}

static __always_inline __u32 csw_ingress_ifindex(const struct csw_frame *f)
{
	return f->ifindex;
}

static __always_inline int csw_resize(struct csw_frame *f, __u32 length)
{
	if (length > f->room)
		return -1;
	if (length > f->length)
		memset(f->data + f->length, 0, length - f->length);
	f->length = length;
	return 0;
}

static __always_inline int csw_trim(struct csw_frame *f, __u32 length)
{
	if (length < f->length)
		f->length = length;
	return 0;
}

static __always_inline int csw_put_meta(struct csw_frame *f, const struct csw_meta *m)
{
	f->meta = *m;
	f->has_meta = true;
	return 0;
}

static __always_inline int csw_take_meta(struct csw_frame *f, struct csw_meta *m)
{
	if (!f->has_meta)
		return -1;
	*m = f->meta;
	f->has_meta = false;
	return 0;
}

static __always_inline int csw_put_meta_in_front(struct csw_frame *f, const struct csw_meta *m)
{
	return csw_put_meta(f, m);
}

static __always_inline int csw_take_meta_in_front(struct csw_frame *f, struct csw_meta *m)
{
	return csw_take_meta(f, m);
}

/* A frame that leaves, for csw_copy(), has the number of that device. */
static __always_inline __u32 csw_egress_ifindex(const struct csw_frame *f)
{
	return f->ifindex;
}

static __always_inline void *csw_skb_data(const struct csw_frame *f)
{
	return f->data;
}

static __always_inline void *csw_skb_end(const struct csw_frame *f)
{
	return f->data + f->length;
}

static __always_inline __u32 csw_skb_length(const struct csw_frame *f)
{
	return f->length;
}

static __always_inline int csw_skb_copy_to(struct csw_frame *f, __u32 ifindex)
{
	struct csw_native *s = csw_owner(f);

	(s->copy ? s->copy : s->transmit)(f, ifindex);
	return 0;
}

static __always_inline int csw_skb_send(struct csw_frame *f, __u32 ifindex)
{
	csw_owner(f)->transmit(f, ifindex);
	return CSW_TC_REDIRECT;
}

static __always_inline int csw_skb_send_neigh(struct csw_frame *f, __u32 ifindex,
					      const struct canary_addr *gateway)
{
	struct csw_native *s = csw_owner(f);

	if (s->kernel_neigh && s->kernel_neigh(f, ifindex, gateway))
		s->transmit(f, ifindex);
	return CSW_TC_REDIRECT;
}

static __always_inline __u32 *csw_credit(const void *ctx)
{
	return &csw_owner(ctx)->restore_credit;
}

static __always_inline const struct csw_config *csw_config(const void *ctx)
{
	return &csw_owner(ctx)->config;
}

static __always_inline struct csw_queue_ctl *csw_queue_ctl(const void *ctx)
{
	return &csw_owner(ctx)->queue_ctl;
}

static __always_inline struct csw_descriptor *csw_native_descriptor(const struct csw_native *s,
								    __u32 slot)
{
	__u32 buckets = s->config.slot_mask / CSW_WAYS + 1, bucket = slot / CSW_WAYS;

	if (!s->stride)
		return s->descriptor + slot;
	bucket = bucket >> s->turn | (bucket * (buckets >> s->turn) & (buckets - 1));
	return (void *)((char *)s->descriptor + bucket * s->stride +
			slot % CSW_WAYS * s->apart);
}

static __always_inline struct csw_descriptor *csw_descriptor_at(const void *ctx, __u32 slot)
{
	struct csw_native *s = csw_owner(ctx);

	return slot <= s->config.slot_mask ? csw_native_descriptor(s, slot) : NULL;
}

static __always_inline __u32 csw_processor(const void *ctx)
{
	return csw_owner(ctx)->processor;
}

static __always_inline struct csw_queue_entry *csw_queue_at(const void *ctx, __u32 index)
{
	struct csw_native *s = csw_owner(ctx);

	return index < (s->config.queue_mask + 1) * (s->config.queues_mask + 1) ? &s->queue[index] :
										  NULL;
}

static __always_inline struct csw_restoration *csw_restoration_at(const void *ctx, __u32 index)
{
	return index < CSW_RESTORE_SLOTS ? &csw_owner(ctx)->restoration[index] : NULL;
}

static __always_inline struct csw_fan_in *csw_fan_in_at(const void *ctx, __u32 index)
{
	return index < CSW_FAN_INS ? &csw_owner(ctx)->fan_in[index] : NULL;
}

static __always_inline __u32 csw_configured_fan_in(const void *ctx,
						   const struct canary_addr *leader)
{
	return csw_owner(ctx)->configured_fan_in(csw_owner(ctx), leader);
}

static __always_inline const struct csw_admission *csw_admission(const void *ctx, __u32 ifindex,
								 const struct canary_addr *addr)
{
	return csw_owner(ctx)->admission(csw_owner(ctx), ifindex, addr);
}

static __always_inline bool csw_vlan(const void *ctx, __u32 ifindex, __be16 type, __be16 vlan)
{
	struct csw_native *s = csw_owner(ctx);

	return s->vlan && s->vlan(s, ifindex, type, vlan);
}

static __always_inline struct csw_copies *csw_copies(const void *ctx)
{
	return &csw_owner(ctx)->copies;
}

static __always_inline struct csw_spread *csw_spread_at(const void *ctx, __u32 place)
{
	struct csw_native *s = csw_owner(ctx);

	return s->spread && place < CSW_SPREADS ? &s->spread[place] : NULL;
}

static __always_inline void *csw_group(const void *ctx, __u64 key)
{
	return csw_owner(ctx)->group(csw_owner(ctx), key);
}

static __always_inline void csw_want(const void *ctx, const struct csw_spread *spread)
{
	csw_owner(ctx)->want(csw_owner(ctx), spread);
}

static __always_inline int csw_broadcast(struct csw_frame *f, void *group)
{
	return csw_owner(f)->broadcast(f, group);
}

static __always_inline const struct csw_port *csw_port(const void *ctx, __u32 ifindex)
{
	return csw_owner(ctx)->port(csw_owner(ctx), ifindex);
}

static __always_inline __u64 *csw_own_mac_hint(const void *ctx, __u32 ifindex)
{
	return &csw_owner(ctx)->own_macs[ifindex % CSW_OWN_MACS];
}

static __always_inline struct csw_route *csw_route(const void *ctx,
						   const struct canary_addr *addr)
{
	return csw_owner(ctx)->route(csw_owner(ctx), addr);
}

static __always_inline const struct csw_neigh *csw_neigh(const void *ctx, __u32 ifindex,
							 const struct canary_addr *addr)
{
	return csw_owner(ctx)->neigh(csw_owner(ctx), ifindex, addr);
}

static __always_inline struct csw_backlog *csw_backlog(const void *ctx, __u32 ifindex)
{
	struct csw_native *s = csw_owner(ctx);

	return s->backlog ? s->backlog(s, ifindex) : NULL;
}

static __always_inline struct csw_flowlet *csw_flowlet(const void *ctx, __u32 index)
{
	return &csw_owner(ctx)->flowlet[index % CSW_FLOWLETS];
}

static __always_inline __u32 csw_random(const void *ctx)
{
	struct csw_native *s = csw_owner(ctx);

	return s->random ? s->random(s) : 0;
}

static __always_inline void csw_count(const void *ctx, __u32 counter, __u64 n)
{
	csw_owner(ctx)->counter[counter] += n;
}

static __always_inline void csw_drops(const void *ctx, enum canary_drop reason, __u64 n)
{
	csw_count(ctx, CSW_COUNTER_COUNT + reason, n);
}

static __always_inline void csw_drop(const void *ctx, enum canary_drop reason)
{
	csw_drops(ctx, reason, 1);
}

static __always_inline int csw_redirect(struct csw_frame *f, __u32 ifindex)
{
	csw_owner(f)->transmit(f, ifindex);
	return CSW_XDP_REDIRECT;
}

static __always_inline void csw_wake(const void *ctx)
{
	struct csw_native *s = csw_owner(ctx);

	if (s->wake)
		s->wake(s);
}

#endif /* CANARY_BPF_CTX_NATIVE_H */
