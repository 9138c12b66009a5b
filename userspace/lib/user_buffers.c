// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of operations: a copy of the vector, and what its encoding keeps.
 *
 * The kernel hands out new memory page by page, with a fault and 4 KiB of zeros for each. That can
 * cost more than the sum. So what operations gave back is kept for later ones. Lengths are rounded
 * up to classes, four to a power of two, and each class has a list. Short buffers are left to
 * malloc(), which keeps them by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "user.h"

#define LEAST_BITS	15	/* buffers of up to 32 KiB are not kept */

/* In front of the bytes that the operation uses. It has the alignment that those need. */
struct user_buffer {
	_Alignas(USER_BUFFER_ALIGN) struct user_buffer *next;	/* of those that are kept */
	size_t	bytes;			/* without this header */
	int	list;			/* -1: not kept */
};

/* Round @bytes up. Return: the list of such buffers, or -1 */
static int class_of(size_t *bytes)
{
	size_t step;
	int bits;

	if (*bytes <= 1UL << LEAST_BITS || *bytes > USER_BUFFERS_KEPT)
		return -1;
	/* 2^bits < bytes <= 2^(bits + 1) */
	bits = 63 - __builtin_clzl(*bytes - 1);
	step = 1UL << (bits - 2);
	*bytes = (*bytes + step - 1) & ~(step - 1);
	return (bits - LEAST_BITS) * 4 + (*bytes - (1UL << bits)) / step - 1;
}

static struct user_buffer *buffer_of(void *data)
{
	return (struct user_buffer *)data - 1;
}

void *user_buffer_take(struct user_buffers *kept, size_t bytes)
{
	struct user_buffer *b;
	int list = class_of(&bytes);

	if (list < 0 || !kept->list[list])
		return NULL;
	b = kept->list[list];
	kept->list[list] = b->next;
	kept->bytes -= b->bytes;
	return b + 1;
}

void *user_buffer_new(size_t bytes)
{
	int list = class_of(&bytes);
	struct user_buffer *b;

	bytes = (bytes + USER_BUFFER_ALIGN - 1) & ~(USER_BUFFER_ALIGN - 1UL);
	b = aligned_alloc(USER_BUFFER_ALIGN, sizeof(*b) + bytes);
	if (!b)
		return NULL;
	b->next = NULL;
	b->bytes = bytes;
	b->list = list;
	return b + 1;
}

void user_buffer_free(void *data)
{
	if (data)
		free(buffer_of(data));
}

/* When there are too many, the program has most likely begun to use other lengths. */
void user_buffer_give(struct user_buffers *kept, void *data)
{
	struct user_buffer *b = data ? buffer_of(data) : NULL;

	if (!b || b->list < 0) {
		user_buffer_free(data);
		return;
	}
	if (kept->bytes + b->bytes > USER_BUFFERS_KEPT)
		user_buffers_empty(kept);
	b->next = kept->list[b->list];
	kept->list[b->list] = b;
	kept->bytes += b->bytes;
}

void user_buffers_empty(struct user_buffers *kept)
{
	struct user_buffer *b;
	int i;

	for (i = 0; i < USER_BUFFER_LISTS; i++) {
		while ((b = kept->list[i])) {
			kept->list[i] = b->next;
			free(b);
		}
	}
	kept->bytes = 0;
}
