// SPDX-License-Identifier: BSD-2-Clause
/*
 * A fuzzer for three to nine members. The input is a list of events: post, let time pass, deliver,
 * lose, repeat or change a packet (with or without a valid mac), forge an aggregate, write to the
 * memory of results, replace the process of a member that was formed from a table.
 *
 * Nothing may be read or written out of bounds, and nobody may spin. A timer that was served is not
 * due any more. As long as no member lies, every completed result is right. All its elements are
 * then of one process of each rank.
 *
 * A byte behind the last event, if there is one, chooses types and operators (fuzz_numbers.h).
 */
#include <stdlib.h>

#include "core/driver.h"
#include "fuzz_numbers.h"
#include "selftests/core/forge.h"

#define MEMBERS_MAX	9
#define PENDING		128
#define VECTOR		40
#define LONG		(3 * 8 * 121)	/* the shortest operation on which rank 0 decides */
#define POLLS_MAX	100000
#define WORK_ONCE	2	/* slices of work that are done before packets are sent */
#define WORK_MAX	1000	/* slices in all, if no packet comes */
#define RUNS		4	/* most processes that are replaced by new ones */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct held_packet {
	int	to;
	int	from;
	u32	len;
	u8	*bytes;
};

struct world {
	int	members;
	struct cnr_comm *comm[MEMBERS_MAX];
	struct held_packet pending[PENDING];
	u32	packets;
	u32	posted[MEMBERS_MAX];
	u64	now;
	bool	lied;		/* a packet with a valid mac was made up */
	bool	formed;		/* formed from a table */
	bool	late;		/* the last member forms when it posts first */
	u8	run[MEMBERS_MAX];	/* how often its process was replaced */
	u32	runs;		/* sum of these */
	u8	algorithm;
	u8	numbers;	/* which types and operators; 0: sums of int32 */
	u16	slice;
	bool	in_runs;	/* leaders lead runs of blocks */
	bool	ring;		/* partial sums are in the application's memory */
	bool	scribbled[MEMBERS_MAX];	/* the application wrote to its results */
};

static struct canary_addr address(int rank)
{
	return canary_addr_of_ip4(cpu_to_be32(0x0a000001 + rank));
}

/* The vectors of an application: @data belongs to it, and it may write there. */
struct vector {
	struct vector *next;
	u32	words;
	int	rank;
	u32	*data;
	u32	*source;
	u32	*target;	/* the application's, until the operation has completed */
	u64	*hashes;
	void	*memory;
};

static struct vector *vectors;

/* Is it the sum of what these processes gave? Those of the ranks before @rank are chosen. */
static bool is_sum(const struct world *w, const struct cnr_done *d, const u32 *data, u8 *run,
		   u32 rank)
{
	const struct numbers *n = numbers_of(w->numbers, d->seq);
	u32 i;

	if (rank < w->members) {
		for (run[rank] = 0; run[rank] <= w->run[rank]; run[rank]++)
			if (is_sum(w, d, data, run, rank + 1))
				return true;
		return false;
	}
	for (i = 0; i < d->elements; i++)
		if (!numbers_right(n, data, w->members, run, d->seq, i))
			return false;
	return true;
}

static void check(const struct world *w, int rank, const struct cnr_done *d)
{
	struct vector *v = (void *)(uintptr_t)d->cookie;
	const u32 *data = d->in_target ? v->target : d->data;
	u8 run[MEMBERS_MAX];

	if (!d->error && !w->lied && !w->scribbled[rank] && !is_sum(w, d, data, run, 0))
		abort();
	free(v->target);
	v->target = NULL;
}

static void release(const struct cnr_done *d)
{
	struct vector *v = (void *)(uintptr_t)d->cookie, **at = &vectors;

	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	free(v->data);
	free(v->source);
	free(v->target);
	free(v->hashes);
	free(v->memory);
	free(v);
}

/* An application writes to the memory of its results. */
static void scribble(struct world *w, u32 n, u32 at, u32 what)
{
	struct vector *v = vectors;

	while (v && n--)
		v = v->next;
	if (!v || !v->source || !v->words || w->ring)
		return;
	v->data[at % v->words] = what;
	w->scribbled[v->rank] = true;
}

/* Context of the driver functions of a member */
struct self {
	struct world *w;
	int rank;
	u32 sent;
};

static void fuzz_send(void *driver, const struct cnr_out *out)
{
	struct self *self = driver;
	struct world *w = self->w;
	struct held_packet *p;

	if (++self->sent > POLLS_MAX)
		abort();
	if (canary_parse(&out->hdr, sizeof(out->hdr) + out->len) != CANARY_DROP_NONE)
		abort();
	if (w->packets == PENDING)
		return;
	p = &w->pending[w->packets];
	p->to = be32_to_cpu(canary_addr_ip4(&out->addr)) - 0x0a000001;
	if (p->to < 0 || p->to >= w->members)
		return;
	p->from = self->rank;
	p->len = sizeof(out->hdr) + out->len;
	p->bytes = malloc(p->len);
	memcpy(p->bytes, &out->hdr, sizeof(out->hdr));
	if (out->len)
		memcpy(p->bytes + sizeof(out->hdr), out->payload, out->len);
	w->packets++;
}

static void fuzz_completed(void *driver, const struct cnr_done *done)
{
	struct self *self = driver;

	check(self->w, self->rank, done);
}

static void fuzz_released(void *driver, const struct cnr_done *done)
{
	release(done);
}

static const struct cnr_driver fuzz_driver = {
	.send = fuzz_send, .completed = fuzz_completed, .released = fuzz_released,
};

static void pump(struct world *w, int rank)
{
	struct self self = { .w = w, .rank = rank };
	u32 i;

	for (i = 0; i < WORK_ONCE; i++)
		if (cnr_drive(w->comm[rank], w->now, &fuzz_driver, &self) != CNR_LEFT_WORK)
			break;
}

/* Do all work that is left. It has to end. */
static void work_off(struct world *w, int rank)
{
	u32 slices = 0;

	while (cnr_work(w->comm[rank], w->now))
		if (++slices > WORK_MAX)
			abort();
	pump(w, rank);
}

static void deliver(struct world *w, const struct held_packet *p)
{
	struct cnr_in in = {
		.hdr = (const void *)p->bytes,
		.len = p->len,
		.addr = address(p->from),
		.port = cpu_to_be16(CANARY_PORT_BASE),
	};

	cnr_input(w->comm[p->to], w->now, &in);
	pump(w, p->to);
}

static void take(struct world *w, u32 i, bool keep)
{
	struct held_packet p;

	if (!w->packets)
		return;
	i %= w->packets;
	p = w->pending[i];
	if (!keep)
		w->pending[i] = w->pending[--w->packets];
	deliver(w, &p);
	if (!keep)
		free(p.bytes);
}

static void change(struct world *w, u32 i, u32 at, u8 to, bool lie)
{
	struct canary_hdr *h;
	struct held_packet *p;
	const u8 *key;

	if (!w->packets)
		return;
	p = &w->pending[i % w->packets];
	p->bytes[at % p->len] = to;
	if (!lie || p->len < sizeof(*h))
		return;
	w->lied = true;
	h = (struct canary_hdr *)p->bytes;
	key = cnr_mac_key(w->comm[p->from], h);
	if (cnr_has_digest(h))
		h->join.digest = cpu_to_be32(cnr_digest(key, h + 1, p->len - sizeof(*h)));
	/* A packet with a wrong length has no hash, and is dropped. */
	if (canary_parse(h, p->len) == CANARY_DROP_NONE)
		h->mac = cpu_to_be64(cnr_mac(w->comm[p->from], h, h + 1,
						  w->comm[p->to]->cfg.port));
}

static void cut(struct world *w, u32 i, u32 len)
{
	struct held_packet *p;
	u8 *less;

	if (!w->packets)
		return;
	p = &w->pending[i % w->packets];
	len %= p->len + 1;
	less = malloc(len ? len : 1);
	memcpy(less, p->bytes, len);
	free(p->bytes);
	p->bytes = less;
	p->len = len;
	if (!len)
		take(w, i, false);
}

static void lose(struct world *w, u32 i)
{
	if (!w->packets)
		return;
	i %= w->packets;
	free(w->pending[i].bytes);
	w->pending[i] = w->pending[--w->packets];
}

/* From a table, without rendezvous: again is nothing. */
static void form(struct world *w, int rank)
{
	u16 room[4 * MEMBERS_MAX] = { 0 };
	struct canary_peer peer[MEMBERS_MAX] = { 0 };
	struct cnr_table t = { .peer = peer, .members = w->members, .epoch = 9 };
	u32 i, wrong;

	for (i = 0; i < t.members; i++) {
		peer[i].addr = address(i);
		peer[i].port = cpu_to_be16(CANARY_PORT_BASE);
	}
	if (cnr_table_room(t.members) > sizeof(room) || cnr_table_check(&t, room, &wrong))
		abort();
	cnr_form(w->comm[rank], w->now, &t);
	pump(w, rank);
}

static void post(struct world *w, int rank, u8 how)
{
	struct vector *v = calloc(1, sizeof(*v));
	const struct numbers *n;
	struct cnr_op op = { 0 };
	u32 i, seq = w->posted[rank];

	/* All depends on the sequence number, so that honest ranks agree. */
	n = numbers_of(w->numbers, seq);
	op.op = n->op;
	op.dtype = n->dtype;
	op.how = n->how;
	op.elements = n->least + (seq * 13 + 5) % VECTOR;
	if (!w->numbers && seq % 4 == 3)
		op.elements += LONG;
	if (w->late && rank == w->members - 1)
		form(w, rank);
	v->words = op.elements * n->size / 4;
	v->rank = rank;
	v->data = malloc(op.elements * n->size + 1);
	v->source = how & 2 ? malloc(op.elements * n->size + 1) : NULL;
	v->hashes = how & 3 ? malloc(cnr_op_blocks(w->comm[rank], &op) * sizeof(u64)) : NULL;
	v->memory = calloc(1, cnr_memory(w->comm[rank], &op) + 1);
	v->target = how & 4 && !v->hashes ? malloc(op.elements * n->size + 1) : NULL;
	op.source = how & 8 && v->target ? v->target : v->source;
	for (i = 0; i < op.elements; i++)
		numbers_give(n, op.source ? (void *)op.source : v->data, w->members, rank, w->run[rank],
			     seq, i);
	op.data = v->data;
	op.target = v->target;
	op.hashes = v->hashes;
	op.memory = v->memory;
	op.cookie = (uintptr_t)v;
	v->next = vectors;
	vectors = v;
	if (cnr_post(w->comm[rank], w->now, &op))
		release(&(struct cnr_done){ .cookie = op.cookie });
	else
		w->posted[rank]++;
	pump(w, rank);
}

static void pass(struct world *w, u64 ns)
{
	int i;

	w->now += ns;
	for (i = 0; i < w->members; i++) {
		cnr_timer(w->comm[i], w->now);
		pump(w, i);
		if (cnr_deadline(w->comm[i]) <= w->now)
			abort();
	}
}

/*
 * Forge an aggregate for a block that its leader may hold. It contains what a stranger can know.
 * Where nobody joins, a JOIN as well.
 */
static void forge(struct world *w, u8 rank, u8 ahead, u8 count)
{
	struct cnr_comm *c = w->comm[rank % w->members];
	struct canary_hdr *h = malloc(sizeof(*h) + CANARY_PAYLOAD_MAX);
	struct held_packet p = { .to = rank % w->members, .from = MEMBERS_MAX };
	u32 block = forge_block(c) + ahead % 4 * w->members;

	if (w->formed && ahead > 250) {
		p.len = forge_join(c, count, ahead & 1 ? w->members : 256, h);
	} else {
		p.len = forge_aggregate(c, block, 1 + count % (w->members - 1), h);
		if (!cnr_find_op(c, block))
			h->opsig = cpu_to_be32(ahead);
		h->contribution.acked = cpu_to_be32(c->una + (count >> 4));
	}
	/* as long as the packet, so that reading beyond it is found */
	p.bytes = realloc(h, p.len);
	deliver(w, &p);
	free(p.bytes);
}

static void begin_rank(struct world *w, int rank)
{
	struct cnr_config cfg = {
		.comm = 1,
		.members = w->members,
		/* With 4 blocks, runs are cut to one block. */
		.window = w->in_runs ? 32 : 4,
		.mtu = 576,
		.root = address(0),
		.port = cpu_to_be16(CANARY_PORT_BASE),
		.root_port = cpu_to_be16(CANARY_PORT_BASE),
		.algorithm = w->algorithm,
		.slice = w->slice,
		.trees = w->algorithm == CANARY_ALG_STATIC ? 2 : 0,
		.tree = { 0, 1 },
		.run = w->in_runs ? 4 : 0,
		.fixed_first = true,
		.first_block = 0xfffffffc,
		.rank = rank,
		.addr = address(rank),
		.seed = { rank + 1, w->run[rank] },
	};

	w->comm[rank] = cnr_init(calloc(1, cnr_size(&cfg)), &cfg);
	if (!w->formed)
		cnr_connect(w->comm[rank], w->now);
	else if (!w->late || rank < w->members - 1)
		form(w, rank);
	pump(w, rank);
}

static void begin(struct world *w)
{
	int i;

	w->now = CNR_SEC;
	for (i = 0; i < w->members; i++)
		begin_rank(w, i);
}

/* The process of @rank is killed, and started again with the same table. Its packets stay. */
static void replace(struct world *w, int rank)
{
	struct vector **v = &vectors, *gone;

	if (!w->formed || w->runs == RUNS)
		return;
	while (*v) {
		gone = *v;
		if (gone->rank == rank)
			release(&(struct cnr_done){ .cookie = (uintptr_t)gone });
		else
			v = &gone->next;
	}
	free(w->comm[rank]);
	w->run[rank]++;
	w->runs++;
	w->posted[rank] = 0;
	w->scribbled[rank] = false;
	begin_rank(w, rank);
}

static bool connected(const struct world *w)
{
	int i;

	for (i = 0; i < w->members; i++)
		if (cnr_state(w->comm[i]) != CNR_CONNECTED || w->comm[i]->waits)
			return false;
	return true;
}

/* Do the rendezvous without faults. */
static void meet(struct world *w)
{
	u32 k;

	for (k = 0; k < 10; k++) {
		while (w->packets)
			take(w, 0, false);
		if (connected(w))
			return;
		pass(w, CNR_SEC);
	}
	abort();
}

static void end(struct world *w)
{
	struct cnr_done d;
	int i;

	for (i = 0; i < w->members; i++) {
		work_off(w, i);
		cnr_close(w->comm[i], w->now, true);
		pump(w, i);
		if (cnr_state(w->comm[i]) == CNR_CLOSED)
			while (cnr_released(w->comm[i], &d))
				release(&d);
		free(w->comm[i]);
	}
	while (w->packets)
		free(w->pending[--w->packets].bytes);
	while (vectors)
		release(&(struct cnr_done){ .cookie = (uintptr_t)vectors });
}

/* Do what the four bytes at @a say. */
static void act(struct world *w, const uint8_t *a)
{
	u32 k;

	switch (a[0] < 240 ? a[0] % 10 : a[0] < 255 ? 10 : 11) {
	case 0:
		post(w, a[1] % w->members, a[3] >= 192 ? a[2] : 0);
		break;
	case 1:
		pass(w, (u64)a[1] << (a[2] % 26));
		break;
	case 2:
	case 3:
		take(w, a[1], false);
		break;
	case 4:
		take(w, a[1], true);
		break;
	case 5:
		lose(w, a[1]);
		break;
	case 6:
		change(w, a[1], a[2], a[3], false);
		break;
	case 7:
		change(w, a[1], a[2], a[3], true);
		break;
	case 8:
		cut(w, a[1], a[2] | a[3] << 8);
		break;
	case 9:
		if (a[1] > 240 && a[1] <= 250)
			replace(w, a[2] % w->members);
		else if (a[1] > 250)
			cnr_close(w->comm[a[2] % w->members], w->now, a[3] & 1);
		else
			for (k = 0; k < a[3] % 32 && w->packets; k++)
				take(w, 0, false);
		pump(w, a[2] % w->members);
		break;
	case 10:
		forge(w, a[1], a[2], a[3]);
		break;
	case 11:
		scribble(w, a[1], a[2], a[3]);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int members[] = { 3, 4, 5, MEMBERS_MAX };
	static struct world w;
	struct cnr_info info;
	size_t i;

	memset(&w, 0, sizeof(w));
	/*
	 * The first byte chooses the number of members, the algorithm and the slices, and whether
	 * the rendezvous or the greetings are fuzzed, too.
	 */
	w.members = size ? members[data[0] >> 3 & 3] : 3;
	w.formed = size && data[0] & 0x80;
	w.ring = !size || (data[0] >> 1) % (CANARY_ALG_MAX + 1) != CANARY_ALG_TREE;
	w.late = w.formed && data[0] & 1;
	w.algorithm = size ? (data[0] >> 1) % (CANARY_ALG_MAX + 1) : 0;
	w.slice = size ? data[0] >> 5 & 3 : 0;
	w.in_runs = size > 1 && data[1] & 0x80 && w.algorithm == CANARY_ALG_TREE;
	w.numbers = size > 1 && (size - 1) % 4 == 1 ? data[size - 1] : 0;
	begin(&w);
	if (size && !(data[0] & 1)) {
		meet(&w);
		cnr_info(w.comm[0], &info);
		if (w.in_runs && info.number < 2)
			abort();
	}
	for (i = 1; i + 4 <= size; i += 4)
		act(&w, data + i);
	end(&w);
	return 0;
}
