// SPDX-License-Identifier: BSD-2-Clause
/* Vectors of members: what they give, what the sums have to be, and how long they are kept */
#include <stdlib.h>

#include "testnet_inside.h"

/*
 * An element of one rank, whose process is the @run'th one. It is computed without the protocol, so
 * that everybody knows it.
 */
static u32 tnet_value(const struct tnet *s, u32 rank, u32 run, u32 op, u32 i)
{
	u64 z = s->cfg.seed + ((u64)run << 56) + ((u64)rank << 48) + ((u64)op << 32) + i;

	z = (z ^ (z >> 31)) * 0x7fb5d329728ea185ULL;
	z = (z ^ (z >> 27)) * 0x81dadef4bc2dd44dULL;
	/* Each rank has another share of zeros in each operation, from none to all. */
	if (s->cfg.sparse && (z >> 8) % 100 >= (rank * 29 + op * 41) % 131)
		return 0;
	return (u32)(z ^ (z >> 33));
}

/*
 * The same as @cfg.reduce takes it: an element of @cfg.element bytes, in the low bits. Every fourth
 * one is at an edge of its type.
 */
static u64 tnet_element(const struct tnet *s, u32 rank, u32 run, u32 op, u32 i)
{
	u64 low = tnet_value(s, rank, run, op, 2 * i), high = tnet_value(s, rank, run, op, 2 * i + 1);
	static const u64 edge[] = { 0, 1, ~0ULL, 1ULL << 63, ~0ULL >> 1, 2, 0x80, 0x8000 };
	u32 unused = 64 - 8 * s->cfg.element;
	u64 value = high << 32 | low;

	if (s->cfg.right)
		return s->cfg.give(rank, i);
	if (high % 4 == 0)
		value = edge[low % ARRAY_SIZE(edge)];
	if (high % 8 == 0)
		value >>= unused;
	return value << unused >> unused;
}

/*
 * Is @data the sum of what one process of each rank gave, @run names which? With a @source it is
 * what that rank gave.
 */
static bool tnet_is_sum(const struct tnet *s, const struct cnr_done *d, u32 *data, int source,
			const u8 *run)
{
	u64 given[TNET_MEMBERS_MAX], got;
	u32 i, r, want;

	if (s->cfg.right)
		return s->cfg.right(d->seq, data, d->elements);
	for (i = 0; s->cfg.reduce && i < d->elements; i++) {
		for (r = 0; r < s->cfg.members; r++)
			given[r] = tnet_element(s, r, run[r], d->seq, i);
		got = 0;
		memcpy(&got, (const u8 *)data + i * s->cfg.element, s->cfg.element);
		if (s->cfg.reduce(given, s->cfg.members) != got)
			return false;
	}
	for (i = 0; !s->cfg.element && i < d->elements; i++) {
		want = 0;
		for (r = 0; r < s->cfg.members; r++)
			if (source < 0 || source == r)
				want += tnet_value(s, r, run[r], d->seq, i);
		if (want != data[i])
			return false;
	}
	return true;
}

static void tnet_free_apart(struct tnet_vector *v)
{
	if (v->target != v->apart)
		free(v->target);
	free(v->apart);
	v->target = NULL;
	v->apart = NULL;
}

/* What is right: a sum over those that were there when this one formed its communicator, or now */
void tnet_complete(struct tnet *s, int rank, const struct cnr_done *d)
{
	struct tnet_node *n = &s->node[rank];
	struct tnet_vector *v = n->held;
	u32 *data;

	n->completed++;
	n->last_error = d->error;
	while (v->data != d->data)
		v = v->next;
	data = d->in_target ? v->target : d->data;
	if (!d->error && !tnet_is_sum(s, d, data, v->source, s->run) &&
	    !tnet_is_sum(s, d, data, v->source, n->with))
		s->wrong++;
	/* It is the application's again, which may return the memory. */
	tnet_free_apart(v);
}

static void tnet_vector_free(struct tnet_vector *v)
{
	tnet_free_apart(v);
	free(v->data);
	free(v->hashes);
	free(v->memory);
	free(v);
}

void tnet_release(struct tnet_node *n, const struct cnr_done *d)
{
	struct tnet_vector **v = &n->held;

	while (*v && (*v)->data != d->data)
		v = &(*v)->next;
	if (!*v)
		abort();
	struct tnet_vector *gone = *v;

	*v = gone->next;
	tnet_vector_free(gone);
}

void tnet_free_vectors(struct tnet_node *n)
{
	struct tnet_vector *v;

	while ((v = n->held)) {
		n->held = v->next;
		tnet_vector_free(v);
	}
}

/*
 * Move the contribution of an odd rank from @v to memory of its own, as applications may leave it
 * there until the sum has ended.
 */
static void tnet_move_apart(struct tnet_vector *v, int rank, struct cnr_op *op, size_t bytes)
{
	if (rank % 2 == 0 || op->mores || op->hashes)
		return;
	v->apart = malloc(bytes + 1);
	memcpy(v->apart, v->data, bytes);
	memset(v->data, 0xa5, bytes);
	op->source = v->apart;
}

/*
 * Some ranks want the results elsewhere. Ranks 2 and 4 contribute what is where results are kept.
 * Rank 1 has three pieces of memory. Rank 5 gets the results in place of its contribution.
 */
static void tnet_set_target(struct tnet_vector *v, int rank, struct cnr_op *op, size_t bytes)
{
	if (rank % 3 == 0 || op->hashes)
		return;
	v->target = rank % 3 == 2 && v->apart ? v->apart : malloc(bytes + 1);
	if (v->target != v->apart)
		memset(v->target, 0x5a, bytes);
	op->target = v->target;
}

int tnet_post_op(struct tnet *s, int rank, struct cnr_op op, int source)
{
	struct tnet_node *n = &s->node[rank];
	struct tnet_vector *v = calloc(1, sizeof(*v));
	u32 elements = op.elements, i;
	size_t bytes = (size_t)elements * (s->cfg.element ? s->cfg.element : 4);
	u64 element;
	int err;

	v->data = malloc(bytes + 1);
	v->hashes = s->cfg.pinned ? calloc(cnr_op_blocks(n->comm, &op), sizeof(*v->hashes)) : NULL;
	for (i = 0; !s->cfg.element && i < elements; i++)
		v->data[i] = tnet_value(s, rank, s->run[rank], n->posted, i);
	if (s->cfg.fill)
		s->cfg.fill(v->data, rank, n->posted, elements);
	for (i = 0; s->cfg.element && !s->cfg.fill && i < elements; i++) {
		element = tnet_element(s, rank, s->run[rank], n->posted, i);
		memcpy((u8 *)v->data + i * s->cfg.element, &element, s->cfg.element);
	}
	v->memory = calloc(1, cnr_memory(n->comm, &op) + 1);
	v->source = source;
	op.data = v->data;
	op.memory = v->memory;
	op.hashes = v->hashes;
	tnet_move_apart(v, rank, &op, bytes);
	tnet_set_target(v, rank, &op, bytes);
	v->elements = elements;
	v->next = n->held;
	n->held = v;
	err = cnr_post(n->comm, s->now, &op);
	if (err) {
		n->held = v->next;
		tnet_vector_free(v);
	} else {
		n->posted++;
	}
	tnet_pump(s, rank);
	return err;
}

int tnet_post(struct tnet *s, int rank, u32 elements)
{
	struct cnr_op op = {
		.op = s->cfg.op ? s->cfg.op : CANARY_OP_SUM,
		.dtype = s->cfg.dtype ? s->cfg.dtype : CANARY_INT32,
		.elements = elements,
		.how = s->cfg.how,
	};

	return tnet_post_op(s, rank, op, -1);
}

void tnet_scribble(struct tnet *s, int rank)
{
	struct tnet_vector *v;
	u32 i;

	for (v = s->node[rank].held; v; v = v->next)
		for (i = 0; i < v->elements; i++)
			v->data[i]++;
}

void tnet_permute(struct tnet *s, int rank)
{
	struct tnet_vector *v;
	u32 i, first;

	for (v = s->node[rank].held; v; v = v->next) {
		for (i = 0; i + 1 < v->elements; i += 2) {
			first = v->data[i];
			v->data[i] = v->data[i + 1];
			v->data[i + 1] = first;
		}
	}
}

u32 tnet_holds(const struct tnet *s, int rank)
{
	const struct tnet_vector *v;
	u32 n = 0;

	for (v = s->node[rank].held; v; v = v->next)
		n++;
	return n;
}

u32 tnet_vectors_held(const struct tnet *s)
{
	u32 i, n = 0;

	for (i = 0; i < s->cfg.members; i++)
		n += tnet_holds(s, i);
	return n;
}
