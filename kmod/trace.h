/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints, below events/canary/. Addresses and ports are those of the other side. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM canary

#if !defined(CANARY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CANARY_TRACE_H

#include <linux/tracepoint.h>
#include "canary.h"

/* A packet with data was sent (out) or accepted */
DECLARE_EVENT_CLASS(canary_packet,
	TP_PROTO(const struct canary_hdr *hdr, const struct canary_addr *addr, __be16 port,
		 bool out),
	TP_ARGS(hdr, addr, port, out),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, block)
		__array(u8, peer, sizeof(struct sockaddr_in6))
		__field(u16, count)
		__field(u16, elements)
		__field(u8, attempt)
		__field(u8, flags)
		__field(u8, load)
		__field(bool, out)
	),
	TP_fast_assign(
		__entry->comm = be32_to_cpu(hdr->comm);
		__entry->block = be32_to_cpu(hdr->block);
		canary_sockaddr_fill(__entry->peer, addr, port);
		__entry->count = be16_to_cpu(hdr->contribution.count);
		__entry->elements = canary_length(hdr) / 4;
		__entry->attempt = hdr->attempt;
		__entry->flags = hdr->flags;
		__entry->load = hdr->contribution.load;
		__entry->out = out;
	),
	TP_printk("comm=%u block=%u attempt=%u count=%u elements=%u flags=%#x load=%u %s=%pISpc",
		  __entry->comm, __entry->block, __entry->attempt, __entry->count,
		  __entry->elements, __entry->flags, __entry->load, __entry->out ? "to" : "from",
		  __entry->peer)
);

DEFINE_EVENT(canary_packet, contribution,
	TP_PROTO(const struct canary_hdr *hdr, const struct canary_addr *addr, __be16 port,
		 bool out),
	TP_ARGS(hdr, addr, port, out));

DEFINE_EVENT(canary_packet, result,
	TP_PROTO(const struct canary_hdr *hdr, const struct canary_addr *addr, __be16 port,
		 bool out),
	TP_ARGS(hdr, addr, port, out));

DEFINE_EVENT(canary_packet, retransmission,
	TP_PROTO(const struct canary_hdr *hdr, const struct canary_addr *addr, __be16 port,
		 bool out),
	TP_ARGS(hdr, addr, port, out));

/* An operation ended */
TRACE_EVENT(completion,
	TP_PROTO(const struct canary_comm *comm, const struct canary_vector *v),
	TP_ARGS(comm, v),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, rank)
		__field(u32, seq)
		__field(u32, bytes)
		__field(u32, attempts)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->comm = comm->req.id;
		__entry->rank = comm->req.rank;
		__entry->seq = v->seq;
		__entry->bytes = v->bytes;
		__entry->attempts = v->attempts;
		__entry->error = v->error;
	),
	TP_printk("comm=%u rank=%u seq=%u bytes=%u attempts=%u error=%d", __entry->comm,
		  __entry->rank, __entry->seq, __entry->bytes, __entry->attempts,
		  __entry->error)
);

/* A packet was dropped, either incoming or outgoing (out) */
TRACE_EVENT(drop,
	TP_PROTO(const struct canary_comm *comm, enum canary_drop why, u8 type,
		 const struct canary_addr *addr, __be16 port, bool out),
	TP_ARGS(comm, why, type, addr, port, out),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, rank)
		__array(u8, peer, sizeof(struct sockaddr_in6))
		__field(u8, type)
		__field(bool, out)
		__array(char, why, 16)
	),
	TP_fast_assign(
		__entry->comm = comm->req.id;
		__entry->rank = comm->req.rank;
		canary_sockaddr_fill(__entry->peer, addr, port);
		__entry->type = type;
		__entry->out = out;
		strscpy(__entry->why, cnr_drop_name(why), sizeof(__entry->why));
	),
	TP_printk("comm=%u rank=%u why=%s type=%u %s=%pISpc", __entry->comm, __entry->rank,
		  __entry->why, __entry->type, __entry->out ? "to" : "from", __entry->peer)
);

#endif /* CANARY_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
