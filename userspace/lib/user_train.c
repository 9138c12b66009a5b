// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets of the user engine, out and in. Packets of equal length to the same address become one
 * message, a train. The kernel cuts it (UDP_SEGMENT), or joins packets that came in (UDP_GRO).
 * docs/decisions/user-trains.md has the rules, and what they gain.
 */
#include <linux/sockios.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "user.h"

/*
 * How long a packet is tried again after USER_LATER. If that was in vain, the path may be what
 * refuses it: the peer of a veth pair drops what is larger than its MTU. Then the rest of the batch
 * has one try each, so that the answer to a probe does not wait behind large packets until we count
 * as dead. It is a time and not a number of tries, since on a busy machine one try may take long.
 */
#define REFUSED_FOR	(5 * CNR_MSEC)
#define ERRORS_MOST	16	/* batches of errors that are discarded at a time */
#define TRAIN_BYTES	65507	/* most that a datagram holds */
#define TRAIN_BUFFER	65536	/* holds any train that comes in */

/*
 * If more of ours waits in queues of this host, the link is slow, not the processor. Then a train
 * saves nothing. It would be a burst, and a queue that is nearly full might drop its end.
 */
#define WAITING_MOST	(16 << 10)

void user_out_init(struct user_out *out, int sock)
{
	socklen_t len = sizeof(int);
	int size;

	/* Kernels before 4.18 would take a train for one packet. */
	out->trains = !getsockopt(sock, IPPROTO_UDP, UDP_SEGMENT, &size, &len);
	out->counter[USER_C_trains_off] = !out->trains;
}

int user_in_init(struct user_in *in, int sock)
{
	int i, one = 1;

	in->data = aligned_alloc(64, (size_t)USER_MESSAGES * TRAIN_BUFFER);
	if (!in->data)
		return -ENOMEM;
	for (i = 0; i < USER_MESSAGES; i++) {
		in->iov[i].iov_base = in->data + (size_t)i * TRAIN_BUFFER;
		in->iov[i].iov_len = TRAIN_BUFFER;
		in->msg[i].msg_hdr.msg_iov = &in->iov[i];
		in->msg[i].msg_hdr.msg_iovlen = 1;
		in->msg[i].msg_hdr.msg_name = &in->addr[i];
		in->msg[i].msg_hdr.msg_control = &in->control[i];
	}
	/* Kernels before 5.0 refuse that, and hand over single packets. */
	setsockopt(sock, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
	return 0;
}

void user_out_add(struct user_out *out, const struct cnr_out *packet, u64 *drop)
{
	unsigned int i = out->n++;

	memcpy(out->data[i], &packet->hdr, sizeof(packet->hdr));
	if (packet->len)
		memcpy(out->data[i] + sizeof(packet->hdr), packet->payload, packet->len);
	out->len[i] = sizeof(packet->hdr) + packet->len;
	lib_to_sockaddr(&out->addr[i], &packet->addr, packet->port);
	out->drop[i] = drop;
	out->order[i] = i;
}

const u64 *user_out_refused(const struct user_out *out)
{
	return out->drop[out->order[out->first]];
}

void user_out_disown(struct user_out *out, const u64 *drop, u64 *heir)
{
	unsigned int i;

	for (i = 0; i < out->n; i++)
		if (out->drop[i] == drop)
			out->drop[i] = heir;
}

static bool same_address(const struct user_out *out, unsigned int a, unsigned int b)
{
	return out->addr[a].sin_addr.s_addr == out->addr[b].sin_addr.s_addr &&
	       out->addr[a].sin_port == out->addr[b].sin_port;
}

static bool is_result(const struct user_out *out, unsigned int slot)
{
	return ((const struct canary_hdr *)out->data[slot])->type == CANARY_RESULT;
}

static bool same_group(const struct user_out *out, unsigned int a, unsigned int b)
{
	if (is_result(out, a) || is_result(out, b))
		return is_result(out, a) && is_result(out, b);
	return same_address(out, a, b);
}

/*
 * Bring packets to the same address together. Those to one address keep their order. So do all
 * results, since a result tells of earlier ones that take other ways.
 */
static void bring_together(struct user_out *out, unsigned int begin)
{
	u8 *order = out->order, rest[USER_BATCH], first;
	unsigned int i, left, waiting = out->n - begin;

	memcpy(rest, order + begin, waiting);
	order += begin;
	while (waiting) {
		first = rest[0];
		for (i = 0, left = 0; i < waiting; i++) {
			if (same_group(out, first, rest[i]))
				*order++ = rest[i];
			else
				rest[left++] = rest[i];
		}
		waiting = left;
	}
}

/* Number of packets, from @begin on, that can be one message. Only the last may be shorter. */
static unsigned int train_length(const struct user_out *out, unsigned int begin)
{
	const u8 *order = out->order;
	u32 len = out->len[order[begin]], bytes = len;
	unsigned int i;

	for (i = begin + 1; i < out->n; i++) {
		if (out->len[order[i - 1]] < len || out->len[order[i]] > len ||
		    bytes + out->len[order[i]] > TRAIN_BYTES ||
		    !same_address(out, order[begin], order[i]))
			break;
		bytes += out->len[order[i]];
	}
	return i - begin;
}

static void write_message(struct user_out *out, unsigned int number, unsigned int begin,
			  unsigned int length)
{
	struct msghdr *m = &out->msg[number].msg_hdr;
	struct cmsghdr *control = &out->control[number].head;
	unsigned int i, slot = out->order[begin];
	u16 size = out->len[slot];

	m->msg_name = &out->addr[slot];
	m->msg_namelen = sizeof(out->addr[slot]);
	m->msg_iov = &out->iov[begin];
	m->msg_iovlen = length;
	m->msg_control = length > 1 ? control : NULL;
	m->msg_controllen = length > 1 ? CMSG_SPACE(sizeof(size)) : 0;
	control->cmsg_level = IPPROTO_UDP;
	control->cmsg_type = UDP_SEGMENT;
	control->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(control), &size, sizeof(size));
	for (i = begin; i < begin + length; i++) {
		slot = out->order[i];
		out->iov[i].iov_base = out->data[slot];
		out->iov[i].iov_len = out->len[slot];
	}
}

/* Make messages of all packets that wait. Return: their number */
static unsigned int write_messages(struct user_out *out, int sock)
{
	unsigned int i, length, number = 0, begin = max_t(unsigned int, out->first, out->alone);
	bool trains = out->trains && !out->limited && out->n - begin > 1 &&
		      user_out_waiting(sock) <= WAITING_MOST;

	if (trains)
		bring_together(out, begin);
	for (i = out->first; i < out->n; i += length) {
		length = trains && i >= begin ? train_length(out, i) : 1;
		write_message(out, number++, i, length);
	}
	return number;
}

static void sent_messages(struct user_out *out, int sent)
{
	unsigned int length;
	int i;

	for (i = 0; i < sent; i++) {
		length = out->msg[i].msg_hdr.msg_iovlen;
		out->first += length;
		if (length == 1)
			continue;
		out->counter[USER_C_trains_out]++;
		out->counter[USER_C_train_packets_out] += length;
	}
	out->refused_at = 0;
	out->failed = false;
}

static enum canary_drop refusal(int error)
{
	switch (error) {
	case EMSGSIZE:
		return CANARY_DROP_MTU;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
		return CANARY_DROP_NOROUTE;
	case ENOMEM:
		return CANARY_DROP_NOMEM;
	}
	return CANARY_DROP_XMIT;
}

/* The queue is full for the first packet. May it be tried again? */
static bool tried_again(struct user_out *out)
{
	u64 now = lib_now();

	if (!out->refused_at)
		out->refused_at = now;
	return now - out->refused_at < REFUSED_FOR;
}

/*
 * The first message is a train that was not sent. Its packets go one by one, which tells which of
 * them cannot be sent, and why. Where a queue was full, all that wait do so.
 */
static void refused_train(struct user_out *out, int error)
{
	out->counter[USER_C_trains_refused]++;
	out->alone = out->first + out->msg[0].msg_hdr.msg_iovlen;
	if (error == ENOBUFS || error == ENOMEM)
		out->alone = out->n;
	if (error != EIO)
		return;
	/* A device that cannot compute checksums refuses all trains. */
	out->trains = false;
	out->counter[USER_C_trains_off] = 1;
}

/* The first packet was not sent. Return: USER_SENT, or what to wait for before the next try */
static enum user_flush refused_packet(struct user_out *out, int error)
{
	if ((error == ENOBUFS || error == ENOMEM) && !out->gave_up) {
		if (tried_again(out))
			return USER_LATER;
		out->gave_up = true;
	}
	/* The error may be of an ICMP message. The kernel reports that once, so try once more. */
	out->failed = !out->failed;
	if (out->failed)
		return USER_SENT;
	out->drop[out->order[out->first]][refusal(error)]++;
	out->refused_at = 0;
	out->first++;
	return USER_SENT;
}

enum user_flush user_out_flush(struct user_out *out, int sock)
{
	enum user_flush how;
	unsigned int number;
	int sent;

	while (out->first < out->n) {
		number = write_messages(out, sock);
		sent = sendmmsg(sock, out->msg, number, MSG_DONTWAIT);
		if (sent > 0) {
			sent_messages(out, sent);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN) {
			/* Nothing was tried, so the time for that begins anew. */
			out->refused_at = 0;
			return USER_FULL;
		}
		if (out->msg[0].msg_hdr.msg_iovlen > 1) {
			refused_train(out, errno);
			continue;
		}
		how = refused_packet(out, errno);
		if (how != USER_SENT)
			return how;
	}
	out->first = 0;
	out->n = 0;
	out->alone = 0;
	out->gave_up = false;
	return USER_SENT;
}

u32 user_out_waiting(int sock)
{
	int bytes;

	return ioctl(sock, SIOCOUTQ, &bytes) ? 0 : bytes;
}

/* The kernel has written how much of names and control messages there is. */
static void reset_messages(struct user_in *in)
{
	int i;

	for (i = 0; i < USER_MESSAGES; i++) {
		in->msg[i].msg_hdr.msg_namelen = sizeof(in->addr[i]);
		in->msg[i].msg_hdr.msg_controllen = sizeof(in->control[i]);
	}
}

void user_in_forget_errors(struct user_in *in, int sock)
{
	int i;

	for (i = 0; i < ERRORS_MOST; i++) {
		reset_messages(in);
		if (recvmmsg(sock, in->msg, USER_MESSAGES, MSG_ERRQUEUE | MSG_DONTWAIT, NULL) <= 0)
			return;
	}
}

int user_in_receive(struct user_in *in, int sock)
{
	int n;

	reset_messages(in);
	do {
		n = recvmmsg(sock, in->msg, USER_MESSAGES, MSG_DONTWAIT, NULL);
	} while (n < 0 && errno == EINTR);
	in->n = max_t(int, n, 0);
	in->next = 0;
	in->at = 0;
	return in->n;
}

/* Length of the packets of a message; only the last one may be shorter */
static u32 segment_length(struct user_in *in, const struct mmsghdr *m)
{
	struct msghdr *head = (struct msghdr *)&m->msg_hdr;
	struct cmsghdr *c;
	int size;

	for (c = CMSG_FIRSTHDR(head); c; c = CMSG_NXTHDR(head, c)) {
		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		if (size <= 0 || (u32)size >= m->msg_len)
			break;
		in->counter[USER_C_trains_in]++;
		in->counter[USER_C_train_packets_in] += (m->msg_len + size - 1) / size;
		return size;
	}
	return m->msg_len;
}

bool user_in_next(struct user_in *in, struct cnr_in *packet)
{
	const struct mmsghdr *m = &in->msg[in->next];
	struct canary_peer from;
	const u8 *data;

	if (in->next == in->n)
		return false;
	if (!in->at)
		in->segment = segment_length(in, m);
	data = in->data + (size_t)in->next * TRAIN_BUFFER + in->at;
	packet->len = min_t(u32, in->segment, m->msg_len - in->at);
	if ((uintptr_t)data % __alignof__(u64)) {
		packet->len = min_t(u32, packet->len, sizeof(in->copy));
		data = memcpy(in->copy, data, packet->len);
	}
	packet->hdr = (const struct canary_hdr *)data;
	from = lib_of_sockaddr(&in->addr[in->next]);
	packet->addr = from.addr;
	packet->port = from.port;
	in->at += in->segment;
	if (in->at >= m->msg_len) {
		in->next++;
		in->at = 0;
	}
	return true;
}
