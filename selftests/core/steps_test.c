// SPDX-License-Identifier: BSD-2-Clause
/*
 * How long one call of the core takes with many members. It is measured in steps, which are basic
 * blocks that the compiler counts here (Build.mk). Rank 0 is a core. The test plays all others,
 * with as little as possible.
 *
 * No call takes more than one look at all members, with a few steps for each. The work for one
 * member does not look at the others, on average.
 *
 * Nor does a call look at all of a vector. Sums of floats have to find the elements that are
 * infinite, wherever they are.
 */
#include <stdlib.h>

#include "selftests/tap.h"
#include "core/inside.h"

#define SLICE		256	/* as in the module */
#define LOOK		8	/* steps for each member, in one look at all */
#define CALL		4000	/* steps of any call beside that, ... */
#define MEAN		1000	/* ... and on average over many calls */
#define NONCE		1000000
#define LATE		100	/* a rank */
#define MARK		450	/* steps for a group with an infinity, if others are far from it */
#define LONG		(1U << 26)
#define ELEMENTS	CANARY_ELEMENTS(CNR_MTU_LEAST)
#define PORT		cpu_to_be16(CANARY_PORT_BASE)

enum call { INPUT, TIMER, POLL, WORK, CALLS };

static const char * const call_name[CALLS] = { "input", "timer", "poll", "work" };

struct took {
	u64	most;
	u64	all;
	u64	calls;
};

static struct {
	u32		members;
	struct cnr_comm	*root;
	struct cnr_comm	*play;		/* makes headers and keys of the others */
	u64		*cookie;	/* by rank */
	u64		now;
	u64		probes;
	bool		silent;
	struct took	took[CALLS];
} w;

static u64 steps;

void __sanitizer_cov_trace_pc(void);

#if __has_attribute(no_sanitize_coverage)
__attribute__((no_sanitize_coverage))
#endif
void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

static void took(enum call call, u64 begin)
{
	struct took *t = &w.took[call];
	u64 n = steps - begin;

	t->most = max_t(u64, t->most, n);
	t->all += n;
	t->calls++;
}

static bool work_once(void)
{
	u64 begin = steps;
	bool more = cnr_work(w.root, w.now);

	took(WORK, begin);
	return more;
}

static bool poll_once(struct cnr_out *out)
{
	u64 begin = steps;
	bool more = cnr_poll(w.root, w.now, out);

	took(POLL, begin);
	return more;
}

/* Send a packet of any other rank to rank 0. */
static void say(struct cnr_out *out)
{
	static u64 packet[(sizeof(struct canary_hdr) + CANARY_PAYLOAD_MAX) / 8];
	struct cnr_in in = {
		.hdr = (void *)packet, .len = sizeof(out->hdr) + out->len,
		.addr = canary_addr_of_ip4(cpu_to_be32(0x0a000001)), .port = PORT,
	};
	u64 begin;

	if (canary_has_to(&out->hdr))
		out->hdr.request.to = 0;
	cnr_seal(w.play, out);
	memcpy(packet, &out->hdr, sizeof(out->hdr));
	memcpy((u8 *)packet + sizeof(out->hdr), out->payload ?: "", out->len);
	begin = steps;
	cnr_input(w.root, w.now, &in);
	took(INPUT, begin);
}

static void hear_welcome(const struct cnr_out *out)
{
	if (!(out->hdr.flags & (CANARY_F_WAITING | CANARY_F_READY)) && !w.play->table) {
		w.play->epoch = be32_to_cpu(out->hdr.epoch);
		memcpy(w.play->salt, out->payload, sizeof(w.play->salt));
		cnr_derive_key(w.play);
		w.play->table = true;
	}
}

/* Whoever is asked is alive. */
static void hear_probe(const struct cnr_out *probe)
{
	struct cnr_out out;

	w.probes++;
	if (w.silent)
		return;
	w.play->cfg.rank = be16_to_cpu(probe->hdr.probe.to);
	cnr_header(w.play, &out, CANARY_ALIVE, be32_to_cpu(probe->hdr.block));
	out.hdr.alive.sent = cpu_to_be32(w.play->first);
	out.hdr.alive.answer = probe->hdr.probe.question;
	say(&out);
}

static void pump(void)
{
	struct cnr_out out;

	while (work_once())
		;
	while (poll_once(&out)) {
		if (out.hdr.type == CANARY_COOKIE)
			w.cookie[be64_to_cpu(out.hdr.cookie.nonce) - NONCE] =
				be64_to_cpu(out.hdr.cookie.cookie);
		else if (out.hdr.type == CANARY_WELCOME)
			hear_welcome(&out);
		else if (out.hdr.type == CANARY_PROBE)
			hear_probe(&out);
	}
}

/* Serve timers until @ns later. */
static void pass(u64 ns)
{
	u64 until = w.now + ns, begin;

	for (; cnr_deadline(w.root) <= until; pump()) {
		w.now = max_t(u64, w.now, cnr_deadline(w.root));
		begin = steps;
		cnr_timer(w.root, w.now);
		took(TIMER, begin);
	}
	w.now = until;
}

static void join(u32 rank)
{
	struct cnr_out out;

	w.play->cfg.rank = rank;
	w.play->join.nonce = NONCE + rank;
	w.play->join.cookie = w.cookie[rank];
	cnr_join_build(w.play, w.play->table ? w.members : 0, &out);
	say(&out);
	pump();
}

static void contribute(u32 rank, u32 block, u32 opsig)
{
	static const u32 zeros[ELEMENTS];
	struct cnr_out out;

	w.play->cfg.rank = rank;
	cnr_header(w.play, &out, CANARY_CONTRIBUTION, block);
	out.hdr.opsig = cpu_to_be32(opsig);
	out.hdr.contribution.count = cpu_to_be16(1);
	out.hdr.flags = CANARY_F_LAST;
	out.hdr.contribution.kind = CANARY_KIND_ADD32;
	out.hdr.contribution.length = cpu_to_be16(4 * ELEMENTS);
	out.hdr.contribution.tag = cpu_to_be64(cnr_tag(w.play, rank, block, 0, opsig));
	out.hdr.contribution.acked = cpu_to_be32(w.play->una);
	out.payload = zeros;
	out.len = sizeof(zeros);
	say(&out);
	pump();
}

static void done(u32 rank, u32 before)
{
	struct cnr_out out;

	w.play->cfg.rank = rank;
	cnr_header(w.play, &out, CANARY_ACK, 0);
	out.hdr.ack.acked = cpu_to_be32(before);
	say(&out);
	pump();
}

static void phase(const char *what)
{
	u64 look = (u64)LOOK * w.members + CALL, mean;
	const struct took *t;
	bool good = true;
	u32 i;

	for (i = 0; i < CALLS; i++) {
		t = &w.took[i];
		if (!t->calls)
			continue;
		mean = t->all / t->calls;
		good &= t->most <= (i == WORK ? LOOK * SLICE + CALL : look);
		/* Calls of timers and slices are few, so their mean is not limited. */
		good &= i == TIMER || i == WORK || mean <= MEAN + look / t->calls;
		printf("# %u members, %s, %s: %llu calls, %llu steps in the mean, %llu at most\n",
		       w.members, what, call_name[i], (unsigned long long)t->calls,
		       (unsigned long long)mean, (unsigned long long)t->most);
	}
	tap(good, "%u members, %s: no call takes more than a look", w.members, what);
	memset(w.took, 0, sizeof(w.took));
}

static void begin(u32 members)
{
	struct cnr_config cfg = {
		.comm = 1, .members = members, .mtu = CNR_MTU_LEAST, .slice = SLICE,
		.addr = canary_addr_of_ip4(cpu_to_be32(0x0a000001)),
		.root = canary_addr_of_ip4(cpu_to_be32(0x0a000001)),
		.port = PORT, .root_port = PORT, .algorithm = CANARY_ALG_TREE,
		.fixed_first = true, .first_block = members,
	};

	w.members = members;
	w.now = CNR_SEC;
	w.silent = false;
	w.root = cnr_init(calloc(1, cnr_size(&cfg)), &cfg);
	cfg.rank = 1;
	w.play = cnr_init(calloc(1, cnr_size(&cfg)), &cfg);
	w.play->first = members;
	w.play->una = members;
	w.cookie = calloc(members, sizeof(*w.cookie));
	memset(w.took, 0, sizeof(w.took));
	cnr_connect(w.root, w.now);
}

static void rendezvous(void)
{
	u32 rank, round;

	/*
	 * JOIN for a cookie, with the cookie, and with the table. One of the first ranks comes
	 * last.
	 */
	for (round = 0; round < 3; round++) {
		for (rank = 1; rank < w.members; rank++)
			if (rank != LATE)
				join(rank);
		join(LATE);
		pass(10 * CNR_MSEC);
	}
	phase("rendezvous");
}

static struct cnr_operation *post(void)
{
	static u32 data[ELEMENTS];
	struct cnr_op op = {
		.op = CANARY_OP_SUM, .dtype = CANARY_INT32, .elements = ELEMENTS, .data = data,
	};
	u32 block = w.root->posted;

	if (cnr_post(w.root, w.now, &op))
		abort();
	pump();
	return cnr_find_op(w.root, block);
}

static void end(void)
{
	free(w.root);
	free(w.play);
	free(w.cookie);
}

/* One operation of one block. All get the result. */
static void operation(void)
{
	const struct cnr_operation *o;
	u32 rank;

	o = post();
	pass(2 * CNR_SEC);
	phase("nobody contributes, all live");
	for (rank = 1; rank < w.members; rank++)
		contribute(rank, o->base, o->opsig);
	phase("all contribute");
	if (w.root->una != o->base + 1)
		abort();
}

/* All ranks say that they have the result. They die in the next operation. */
static void test_dead(u32 members)
{
	u32 rank;

	begin(members);
	rendezvous();
	operation();
	for (rank = 1; rank < members; rank++)
		done(rank, w.root->una);
	phase("all have the result");
	if (w.root->all_done != w.root->una)
		abort();
	post();
	w.silent = true;
	pass(20 * CNR_SEC);
	phase("all are silent");
	if (cnr_state(w.root) != CNR_FAILED)
		abort();
	end();
}

/* Nobody says so, and all are silent when rank 0 closes. */
static void test_gone(u32 members)
{
	u32 i;

	begin(members);
	rendezvous();
	operation();
	pass(CNR_SEC);
	phase("nobody says that it has the result");
	w.silent = true;
	cnr_close(w.root, w.now, false);
	pump();
	for (i = 0; i < 100 && cnr_state(w.root) != CNR_CLOSED; i++)
		pass(CNR_SEC);
	phase("closed, all are silent");
	if (cnr_state(w.root) != CNR_CLOSED)
		abort();
	end();
}

/* ---- vectors ---- */

/* One member's view of a sum, without others: parts are stored as if they were results. */
static struct cnr_operation *operation_of(u8 how)
{
	struct cnr_operation *o = calloc(1, sizeof(*o));
	struct cnr_op op = {
		.op = CANARY_OP_SUM, .dtype = CANARY_FLOAT32, .elements = LONG, .how = how,
		.data = calloc(LONG, 4),
	};

	op.memory = calloc(1, cnr_memory(w.root, &op));
	o->op = op;
	o->encoding = cnr_encoding_of(w.root, &op);
	cnr_encoding_begin(w.root, o);
	o->blocks = cnr_blocks(w.root, o->encoding, &op);
	return o;
}

/*
 * Of each @apart exponents of the first block, one is infinity's, and so is that of the first group
 * of all others. Exact blocks have escapes likewise. Return: the most steps of a call about what is
 * appended
 */
static u64 steps_of(struct cnr_operation *o, u32 apart)
{
	u32 i, k, settles = o->encoding->settles(w.root, &o->op), *words = (u32 *)w.root->scratch;
	u64 most = 0, begin;
	struct cnr_part p;

	for (i = 0; i < settles; i += apart) {
		cnr_part(w.root, o, i, &p);
		memset(words, 0, p.result);
		if (p.kind != CANARY_KIND_MAX8)
			words[0] = 1;
		for (k = 0; p.kind == CANARY_KIND_MAX8 && k < p.elements; k += apart)
			((u8 *)words)[k] = 0xff;
		o->encoding->store(w.root, o, &p, words);
	}
	i = o->blocks;
	begin = steps;
	o->blocks += o->encoding->more(w.root, o);
	most = steps - begin;
	printf("# %u blocks of %u are appended, known after %llu steps\n", o->blocks - i, i,
	       (unsigned long long)most);
	if (o->blocks == i || most > CALL)
		return CNR_NEVER;
	for (k = 0; k < 4; k++) {
		i += k * (o->blocks - 1 - i) / 3;
		cnr_part(w.root, o, i, &p);
		begin = steps;
		o->encoding->encode(w.root, o, &p, words);
		most = max_t(u64, most, steps - begin);
		begin = steps;
		o->encoding->finish(w.root, o, &p, words);
		most = max_t(u64, most, steps - begin);
		begin = steps;
		o->encoding->store(w.root, o, &p, words);
		most = max_t(u64, most, steps - begin);
		begin = steps;
		o->encoding->serve(w.root, o, &p, words);
		most = max_t(u64, most, steps - begin);
	}
	return most;
}

static void test_vector(const char *what, u8 how, u32 apart)
{
	struct cnr_operation *o;
	u64 most;

	begin(2);
	o = operation_of(how);
	most = steps_of(o, apart);
	tap(most <= (u64)MARK * w.root->length, "%s, one in %u is infinite: %llu steps of a call",
	    what, apart, (unsigned long long)most);
	free(o->op.data);
	free(o->op.memory);
	free(o);
	end();
}

int main(void)
{
	test_vector("groups", 0, 1000);
	test_vector("groups", 0, 70);
	test_vector("groups", 0, 1);
	test_vector("elementwise", CANARY_HOW_ELEMENTWISE, 1000);
	test_vector("elementwise", CANARY_HOW_ELEMENTWISE, 70);
	test_vector("exact", CANARY_HOW_EXACT, 1000);
	test_dead(16384);
	test_gone(16384);
	test_gone(CANARY_MEMBERS_MAX);
	return tap_done("core-steps");
}
