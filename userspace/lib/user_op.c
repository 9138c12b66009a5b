// SPDX-License-Identifier: BSD-2-Clause
/* An operation of the user engine: its memory, and when it is given back */
#include <stdlib.h>
#include <string.h>

#include "user.h"

/* Return: memory that an earlier operation had, or new one */
static void *op_memory(struct user_endpoint *ep, size_t bytes)
{
	void *data;

	pthread_mutex_lock(&ep->lock);
	data = user_buffer_take(&ep->buffers, bytes);
	pthread_mutex_unlock(&ep->lock);
	return data ?: user_buffer_new(bytes);
}

struct user_op *user_op_new(struct user_endpoint *ep, size_t bytes, size_t memory)
{
	struct user_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->data = op_memory(ep, bytes ?: 1);
	op->memory = memory ? op_memory(ep, memory) : NULL;
	if (!op->data || (memory && !op->memory)) {
		user_op_free(op);
		return NULL;
	}
	if (memory)
		memset(op->memory, 0, memory);
	return op;
}

void user_op_free(struct user_op *op)
{
	user_buffer_free(op->data);
	user_buffer_free(op->memory);
	free(op->more);
	free(op->places);
	free(op);
}

void user_op_put(struct user *u, struct user_op *op)
{
	if (!op->released || !op->reaped)
		return;
	*op->link = op->next;
	if (op->next)
		op->next->link = op->link;
	user_buffer_give(&u->ep->buffers, op->data);
	user_buffer_give(&u->ep->buffers, op->memory);
	op->data = NULL;
	op->memory = NULL;
	user_op_free(op);
}
