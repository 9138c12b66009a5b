// SPDX-License-Identifier: BSD-2-Clause
/* An operation of the user engine: its memory, and when it is given back */
#include <stdlib.h>
#include <string.h>

#include "user.h"

struct user_op *user_op_new(struct user_endpoint *ep, size_t bytes, size_t memory)
{
	struct user_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	bytes = bytes ?: 1;
	pthread_mutex_lock(&ep->lock);
	op->data = user_buffer_take(&ep->buffers, bytes);
	op->memory = memory ? user_buffer_take(&ep->buffers, memory) : NULL;
	pthread_mutex_unlock(&ep->lock);
	if (!op->data)
		op->data = user_buffer_new(bytes);
	if (memory && !op->memory)
		op->memory = user_buffer_new(memory);
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
