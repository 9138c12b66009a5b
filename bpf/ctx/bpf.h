/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What bpf/lib needs to run as a BPF program in the kernel: types, byte order, frames of XDP and
 * tc, time. native.h has the same names. maps.h has those that are about maps.
 */
#ifndef CANARY_BPF_CTX_BPF_H
#define CANARY_BPF_CTX_BPF_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <linux/canary_wire.h>

#define cnr_be16(x)	bpf_ntohs(x)
#define cnr_be32(x)	bpf_ntohl(x)
#define csw_be16(x)	bpf_htons(x)
#define csw_be32(x)	bpf_htonl(x)
#define csw_be64(x)	bpf_cpu_to_be64(x)
#define csw_cpu64(x)	bpf_be64_to_cpu(x)

#include "core/parse.h"
#include "reduce.h"
#include "../shared.h"

#ifndef offsetof
#define offsetof(type, field)	__builtin_offsetof(type, field)
#endif
#define CSW_READ(x)	(*(const volatile typeof(x) *)&(x))

/*
 * Functions that the verifier checks once, by themselves, instead of at every call. They take the
 * context, pointers to whole structs (to them, these may be NULL) and scalars.
 */
#define CSW_FUNC	__attribute__((noinline))

/*
 * Such a function cannot take contexts of both kinds. One that does not look into a context gets
 * none.
 */
#define csw_any		__u32
#define CSW_ANY(ctx)	0
/* This makes @any look used. For an unused argument, clang may leave the register unset. */
#define CSW_CTX(any)	({ __asm__ volatile("" : : "r"(any)); (const void *)0; })

/* Without this, clang unrolls loops that the verifier can walk through just as well. */
#define CSW_LOOP	_Pragma("clang loop unroll(disable)")
#define CSW_UNROLL	_Pragma("clang loop unroll(full)")

/*
 * A store that earlier accesses cannot pass. BPF has no such instruction before v4. x86 keeps
 * stores in order, so there a plain store does it. An exchange would wait until everything that the
 * caller has added has left the store buffer.
 */
#ifdef __TARGET_ARCH_x86
#define csw_release(p, value) do {		\
	asm volatile("" : : : "memory");	\
	*(volatile typeof(*(p)) *)(p) = (value);	\
} while (0)
#else
#define csw_release(p, value)	((void)__sync_lock_test_and_set(p, value))
#endif

/* Set *@p to @to if it is @from. Return: what it was */
#define csw_swap(p, from, to)	__sync_val_compare_and_swap(p, from, to)

/* A value that clang must not derive from, or replace by, another one */
#define CSW_OPAQUE(x)	asm volatile("" : "+r"(x))

/* These are no typedefs, since neither CO-RE nor the verifier looks through those here. */
#define csw_xdp		struct xdp_md
#define csw_skb		struct __sk_buff

/* Actions of canary_xdp and canary_flush (XDP), and of canary_tc (TC) */
enum {
	CSW_XDP_DROP	= XDP_DROP,
	CSW_XDP_PASS	= XDP_PASS,
	CSW_TC_NEXT	= -1,		/* TC_ACT_UNSPEC: not ours */
	CSW_TC_DROP	= 2,		/* TC_ACT_SHOT */
};

/*
 * For tests: a clock that they set, and a driver without room for metadata. This is dead code
 * unless set before loading.
 */
const volatile bool test_clock = false;
const volatile bool test_driver = false;
__u64 test_now = 0;
bool test_no_meta = false;

static __always_inline __u64 csw_now(const void *ctx)
{
	return test_clock ? CSW_READ(test_now) : bpf_ktime_get_ns();
}

/*
 * Read a field of the context, whose layout is fixed. It takes one instruction that clang cannot
 * take apart: the verifier refuses a context pointer to which something was added.
 */
#define CSW_FIELD(type, ctx, field) ({						\
	__u64 value;								\
										\
	asm volatile("%0 = *(u32 *)(%1 + %2)"					\
		     : "=r"(value) : "r"(ctx), "i"(offsetof(type, field)));	\
	value;									\
})

static __always_inline void *csw_data(const csw_xdp *ctx)
{
	return (void *)CSW_FIELD(struct xdp_md, ctx, data);
}

static __always_inline void *csw_end(const csw_xdp *ctx)
{
	return (void *)CSW_FIELD(struct xdp_md, ctx, data_end);
}

static __always_inline __u32 csw_ingress_ifindex(const csw_xdp *ctx)
{
	return CSW_FIELD(struct xdp_md, ctx, ingress_ifindex);
}

/* Give the frame this length. Pointers into it become invalid. */
static __always_inline int csw_resize(csw_xdp *ctx, __u32 length)
{
	int delta = length - (__u32)(csw_end(ctx) - csw_data(ctx));

	return delta ? bpf_xdp_adjust_tail(ctx, delta) : 0;
}

/* Cut off what is behind @length bytes. Pointers into the frame become invalid. */
static __always_inline int csw_trim(csw_xdp *ctx, __u32 length)
{
	int more = bpf_xdp_get_buff_len(ctx) - length;

	return more > 0 ? bpf_xdp_adjust_tail(ctx, -more) : 0;
}

/* csw_meta.secret of this switch; drawn before loading, never 0 */
const volatile __u64 meta_secret = 0;

/* Some driver has no room for metadata in front of frames, so look for it at their end, too. */
bool meta_at_end = false;

static __always_inline __u32 csw_processor(const void *ctx)
{
	return bpf_get_smp_processor_id();
}

/* In canary_copy: the device by which the frame leaves. No other program may ask that. */
static __always_inline __u32 csw_egress_ifindex(const csw_xdp *ctx)
{
	return CSW_FIELD(struct xdp_md, ctx, egress_ifindex);
}

static __always_inline int csw_append_meta(csw_xdp *ctx, const struct csw_meta *m)
{
	struct csw_meta meta = *m;
	__u64 length = bpf_xdp_get_buff_len(ctx);

	meta.secret = meta_secret;
	if (bpf_xdp_adjust_tail(ctx, sizeof(meta)) ||
	    bpf_xdp_store_bytes(ctx, length, &meta, sizeof(meta)))
		return -1;
	*(volatile bool *)&meta_at_end = true;
	return 0;
}

/*
 * Drop metadata that others put in front of the frame, such as the other end of a veth. There may
 * be no room for ours beside it, and it is about the packet that came.
 */
static __always_inline void csw_drop_meta(csw_xdp *ctx)
{
	int length = csw_data(ctx) - (void *)CSW_FIELD(struct xdp_md, ctx, data_meta);

	if (length > 0)
		bpf_xdp_adjust_meta(ctx, length);
}

/* Make room for metadata in front of the frame. Return: nonzero if the driver has none */
static __always_inline int csw_room_in_front(csw_xdp *ctx)
{
	csw_drop_meta(ctx);
	if (test_driver && CSW_READ(test_no_meta))
		return -1;
	return bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct csw_meta));
}

static __always_inline int csw_write_meta(csw_xdp *ctx, const struct csw_meta *m)
{
	struct csw_meta *meta = (void *)CSW_FIELD(struct xdp_md, ctx, data_meta);

	if ((void *)(meta + 1) > csw_data(ctx))
		return -1;
	*meta = *m;
	meta->secret = meta_secret;
	return 0;
}

/*
 * Put @m in front of the frame, or behind it if the driver has no room there. canary_tc finds it
 * when the stack gets the frame.
 */
static __always_inline int csw_put_meta(csw_xdp *ctx, const struct csw_meta *m)
{
	return csw_room_in_front(ctx) ? csw_append_meta(ctx, m) : csw_write_meta(ctx, m);
}

/* The same, but only in front of the frame, for canary_copy */
static __always_inline int csw_put_meta_in_front(csw_xdp *ctx, const struct csw_meta *m)
{
	return csw_room_in_front(ctx) ? -1 : csw_write_meta(ctx, m);
}

/*
 * In canary_copy: move the metadata in front of the frame to @m. Pointers into the frame become
 * invalid. Return: nonzero if it is not ours
 */
static __always_inline int csw_take_meta_in_front(csw_xdp *ctx, struct csw_meta *m)
{
	struct csw_meta *meta = (void *)CSW_FIELD(struct xdp_md, ctx, data_meta);

	if ((void *)(meta + 1) > csw_data(ctx) || meta->secret != meta_secret)
		return -1;
	*m = *meta;
	meta->secret = 0;
	return bpf_xdp_adjust_meta(ctx, sizeof(*m));
}

/* Cut the metadata off the end of the frame, into @m. Pointers into the frame become invalid. */
static __always_inline int csw_cut_meta(csw_skb *skb, struct csw_meta *m)
{
	__u32 length = CSW_FIELD(struct __sk_buff, skb, len);

	if (length < sizeof(struct ethhdr) + sizeof(*m))
		return -1;
	length -= sizeof(*m);
	if (bpf_skb_load_bytes(skb, length, m, sizeof(*m)) || m->secret != meta_secret)
		return -1;
	return bpf_skb_change_tail(skb, length, 0) ? -1 : 0;
}

/* Move the metadata from the frame to @m. Metadata in front of the frame may be others'. */
static __always_inline int csw_take_meta(csw_skb *skb, struct csw_meta *m)
{
	struct csw_meta *meta = (void *)CSW_FIELD(struct __sk_buff, skb, data_meta);

	if ((void *)(meta + 1) > (void *)CSW_FIELD(struct __sk_buff, skb, data) ||
	    meta->secret != meta_secret)
		return CSW_READ(meta_at_end) ? csw_cut_meta(skb, m) : -1;
	*m = *meta;
	meta->secret = 0;
	return 0;
}

static __always_inline void *csw_skb_data(const csw_skb *skb)
{
	return (void *)CSW_FIELD(struct __sk_buff, skb, data);
}

static __always_inline void *csw_skb_end(const csw_skb *skb)
{
	return (void *)CSW_FIELD(struct __sk_buff, skb, data_end);
}

static __always_inline __u32 csw_skb_length(const csw_skb *skb)
{
	return CSW_FIELD(struct __sk_buff, skb, len);
}

/* Send a copy of the frame as it is now. Pointers into the frame become invalid. */
static __always_inline int csw_skb_copy_to(csw_skb *skb, __u32 ifindex)
{
	return bpf_clone_redirect(skb, ifindex, 0);
}

static __always_inline int csw_skb_send(csw_skb *skb, __u32 ifindex)
{
	return bpf_redirect(ifindex, 0);
}

/* Send through the kernel's neighbour table, which may have to ask for the address first. */
static __always_inline int csw_skb_send_neigh(csw_skb *skb, __u32 ifindex,
					      const struct canary_addr *gateway)
{
	struct bpf_redir_neigh nh = {
		.nh_family = 2,		/* AF_INET */
		.ipv4_nh = canary_addr_ip4(gateway),
	};

	/* An IPv6 neighbour (RFC 5549): the kernel finds it by its route through that device. */
	if (!canary_addr_is_ip4(gateway))
		return bpf_redirect_neigh(ifindex, NULL, 0, 0);
	return bpf_redirect_neigh(ifindex, &nh, sizeof(nh), 0);
}

#endif /* CANARY_BPF_CTX_BPF_H */
