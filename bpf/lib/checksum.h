/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * UDP checksums: docs/decisions/packet-check.md. The switch verifies them where it combines data,
 * and makes right ones for what leaves.
 *
 * A sender on a virtual link leaves the checksum to hardware that is not there. Then the field has
 * only the sum of the pseudo header, and the kernel has a note of that, which XDP does not see. A
 * redirected packet loses the note, so it gets a whole checksum. A packet for the kernel keeps its
 * form.
 *
 * Sums are of words of 32 bits, as they lie in memory, added up in 64 bits.
 */
#ifndef CANARY_BPF_LIB_CHECKSUM_H
#define CANARY_BPF_LIB_CHECKSUM_H

#define CSW_HEADER_WORDS	(sizeof(struct canary_hdr) / 4)

/* Fold a sum to 16 bits. */
static __always_inline __u16 csw_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline __u64 csw_pseudo_sum(const struct csw_packet *p)
{
	return (__u64)p->ip->saddr + p->ip->daddr + csw_be16(CSW_UDP) + p->udp->len;
}

/* Return: the sum of pseudo header, UDP header without its checksum, and Canary header */
static __always_inline __u64 csw_header_sum(const struct csw_packet *p)
{
	const __u32 *word = (const __u32 *)p->h;
	__u64 sum = csw_pseudo_sum(p);
	__u32 i;

	sum += p->udp->source;
	sum += p->udp->dest;
	sum += p->udp->len;
	CSW_UNROLL
	for (i = 0; i < CSW_HEADER_WORDS; i++)
		sum += word[i];
	return sum;
}

/* Return: the checksum for a header. It is never 0, which would mean that there is none */
static __always_inline __u16 csw_check_of(__u64 sum)
{
	__u16 check = ~csw_fold(sum);

	return check ? check : 0xffff;
}

#ifdef CSW_NO_CHECKSUMS		/* for programs where nothing is ever damaged */

static __always_inline bool csw_check_ok(const struct csw_packet *p, __u32 headers, __u64 data)
{
	return true;
}

static __always_inline void csw_check_look(struct csw_packet *p)
{
}

static __always_inline void csw_check_set(struct csw_packet *p, __u32 headers, __u64 data)
{
}

static __always_inline __u32 csw_headers(csw_xdp *ctx)
{
	return 0;
}

static __always_inline __u32 csw_skb_headers(csw_skb *skb)
{
	return 0;
}

static __always_inline void csw_check_after(struct csw_packet *p, __u32 before, __u32 now)
{
}

static __always_inline void csw_check_loaded(struct csw_packet *p, __u8 before)
{
}

static __always_inline void csw_check_redirected(csw_xdp *ctx, const struct csw_packet *p)
{
}

static __always_inline void csw_check_passed(const struct csw_packet *p)
{
}

#else

/*
 * Did the sender leave the checksum out? Otherwise it is taken for a whole one. Once in 2^16, a
 * whole one looks as if it was left out.
 */
static __always_inline void csw_check_look(struct csw_packet *p)
{
	p->left_out = p->udp->check == csw_fold(csw_pseudo_sum(p));
	p->whole = !p->left_out;
}

/* Is the checksum right, if headers add up to @headers, and the words of the data to @data? */
static __always_inline bool csw_check_ok(const struct csw_packet *p, __u32 headers, __u64 data)
{
	return csw_fold((__u64)headers + p->udp->check + data) == 0xffff ||
	       p->udp->check == csw_fold(csw_pseudo_sum(p));
}

/* Make a new checksum: headers add up to @headers, the words of the data to @data. */
static __always_inline void csw_check_set(struct csw_packet *p, __u32 headers, __u64 data)
{
	p->udp->check = csw_check_of(headers + data);
	p->whole = true;
}

/*
 * Return: the sum of headers, 16 bits. These are functions of their own: in one function, clang
 * would keep all words between the sums before and after a change.
 */
CSW_FUNC __u32 csw_headers(csw_xdp *ctx)
{
	struct csw_packet p;

	return csw_packet_at(ctx, &p) ? 0 : csw_fold(csw_header_sum(&p));
}

CSW_FUNC __u32 csw_skb_headers(csw_skb *skb)
{
	void *data = csw_skb_data(skb);
	struct csw_packet p = {
		.ip = data + CSW_OFF_IP,
		.udp = data + CSW_OFF_UDP,
		.h = data + CSW_OFF_CANARY,
	};

	return data + CSW_OFF_DATA > csw_skb_end(skb) ? 0 : csw_fold(csw_header_sum(&p));
}

/* The headers have changed, and the data have not. @before and @now: sums of the headers */
static __always_inline void csw_check_after(struct csw_packet *p, __u32 before, __u32 now)
{
	if (p->left_out)
		p->udp->check = csw_fold(csw_pseudo_sum(p));
	else
		p->udp->check = csw_check_of((__u64)(__u16)~p->udp->check + (__u16)~before + now);
}

/* Only the load has changed. The other byte of its 16 bits cancels out. */
static __always_inline void csw_check_loaded(struct csw_packet *p, __u8 before)
{
	__u8 load = p->h->contribution.load;

	if (load == before || p->left_out)
		return;
	p->udp->check = csw_check_of((__u64)(__u16)~p->udp->check +
				     (__u16)~csw_be16(before) + csw_be16(load));
}

/*
 * Make a whole checksum for a frame with @length bytes of data. Return: 0 if the frame is shorter
 */
CSW_FUNC int csw_check_complete(csw_xdp *ctx, __u32 length)
{
	__u32 *word = csw_data(ctx) + CSW_OFF_DATA;
	struct csw_packet p;
	__u64 sum = 0;
	__u32 i, k;

	CSW_LOOP
	for (i = 0; i < CANARY_PAYLOAD_MAX / 32 && i < length / 32; i++) {
		if ((void *)(word + 8) > csw_end(ctx))
			return 0;
		CSW_UNROLL
		for (k = 0; k < 8; k++)
			sum += word[k];
		word += 8;
	}
	CSW_LOOP
	for (i = 0; i < 7 && i < length / 4 % 8; i++) {
		if ((void *)(word + 1) > csw_end(ctx))
			return 0;
		sum += *word++;
	}
	if (csw_packet_at(ctx, &p))
		return 0;
	csw_check_set(&p, csw_headers(ctx), sum);
	return 1;
}

/* The packet is redirected, and loses the kernel's note. */
static __always_inline void csw_check_redirected(csw_xdp *ctx, const struct csw_packet *p)
{
	if (!p->whole)
		csw_check_complete(ctx, cnr_be16(p->ip->tot_len) + CSW_OFF_IP - CSW_OFF_DATA);
}

/* The kernel gets the packet, and still has its note. */
static __always_inline void csw_check_passed(const struct csw_packet *p)
{
	if (p->left_out && p->whole)
		p->udp->check = csw_fold(csw_pseudo_sum(p));
}

#endif

#endif /* CANARY_BPF_LIB_CHECKSUM_H */
