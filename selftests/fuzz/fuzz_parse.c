// SPDX-License-Identifier: BSD-2-Clause
/*
 * The parser under arbitrary bytes: no read beyond the header or the length, and what it
 * accepts keeps the promises that its users build on.
 */
#include <stdlib.h>

#include "core/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept)
{
	if (!kept)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u32 members, count, elements, children;
	struct canary_hdr *h;
	void *copy;

	/* A copy of the exact size, so that the sanitizer sees a read behind it. */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	h = copy;
	if (canary_parse(h, size) == CANARY_DROP_NONE) {
		members = be16_to_cpu(h->members);
		count = be16_to_cpu(h->contribution.count);
		elements = be16_to_cpu(h->contribution.elements);
		children = be16_to_cpu(h->restoration.entries);
		promise(size >= sizeof(*h) && h->version == CANARY_VERSION && members);
		promise(be16_to_cpu(h->rank) < members && elements <= CANARY_ELEMENTS_MAX);
		if (h->type == CANARY_CONTRIBUTION)
			promise(count >= 1 && count < members && size == 64 + 4 * elements);
		if (h->type == CANARY_CONTRIBUTION && (h->flags & CANARY_F_RING))
			promise(h->flags & CANARY_F_BYPASS);
		if (h->type == CANARY_RESULT)
			promise(count == members && size == 64 + 4 * elements);
		if (h->type == CANARY_RESTORATION)
			promise(children && size == 64 + 12 * children);
		if (h->type == CANARY_ABORT)
			promise(size == 64 + 2 * children);
	}
	free(copy);
	return 0;
}
