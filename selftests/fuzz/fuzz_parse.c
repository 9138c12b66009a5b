// SPDX-License-Identifier: BSD-2-Clause
/*
 * The parser with arbitrary bytes. It must not read beyond the header or the length, and the
 * packets that it accepts keep the promises that callers rely on.
 */
#include <stdlib.h>

#include "core/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept)
{
	if (!kept)
		abort();
}

static bool is_zero(const void *data, u32 bytes)
{
	const u8 *at = data;

	while (bytes && !*at) {
		at++;
		bytes--;
	}
	return !bytes;
}

/* Planned features have fields, which are not in use yet. */
static void promise_data(const struct canary_hdr *h, size_t size)
{
	u32 members = be16_to_cpu(h->members), count = be16_to_cpu(h->contribution.count);
	bool up = h->type == CANARY_CONTRIBUTION || h->type == CANARY_RING_SUM;

	promise(canary_length(h) <= CANARY_PAYLOAD_MAX && size == 64 + canary_length(h));
	promise(canary_kind_known(canary_kind(h)) && !h->contribution.shard);
	promise(h->type == CANARY_CONTRIBUTION || !(h->flags & CANARY_F_SILENT));
	if (up)
		promise(count >= 1 && count < members);
	else
		promise(be16_to_cpu(h->result.list) < members);
	if (h->type == CANARY_CONTRIBUTION)
		promise(h->flags & CANARY_F_LAST);
	else if (h->type == CANARY_RESULT)
		promise(be32_to_cpu(h->result.tree) < 32U - !(h->flags & CANARY_F_LAST));
	else
		promise(!h->flags);
	promise(h->type != CANARY_RING_RESULT || !h->result.tree);
}

static void promise_session(const struct canary_hdr *h, size_t size)
{
	switch (h->type) {
	case CANARY_RESTORATION:
		promise(h->restoration.entries &&
			size == 64 + 24 * be16_to_cpu(h->restoration.entries));
		break;
	case CANARY_ABORT:
		promise(size == 64 + 2 * be16_to_cpu(h->abort.entries));
		break;
	case CANARY_JOIN:
		promise(size >= 64 + sizeof(struct canary_join));
		break;
	case CANARY_WELCOME:
		promise(size >= 64 + CANARY_SALT);
		promise(be16_to_cpu(h->welcome.run) <= 16 &&
			__builtin_popcount(be16_to_cpu(h->welcome.run)) == 1);
		break;
	case CANARY_ACK:
		promise(!h->ack.sent);
		break;
	case CANARY_REQUEST:
		promise(is_zero(&h->request.zero, 2) && is_zero(h->request.zero2, 16));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct canary_hdr *h;
	void *copy;

	/* A copy of the exact size, so that the sanitizer sees reads beyond the end */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	h = copy;
	if (canary_parse(h, size) == CANARY_DROP_NONE) {
		promise(size >= sizeof(*h) && h->version == CANARY_VERSION && h->members);
		promise(be16_to_cpu(h->rank) < be16_to_cpu(h->members));
		if (h->type == CANARY_CONTRIBUTION || h->type == CANARY_RESULT ||
		    h->type == CANARY_RING_SUM || h->type == CANARY_RING_RESULT)
			promise_data(h, size);
		else
			promise_session(h, size);
	}
	free(copy);
	return 0;
}
