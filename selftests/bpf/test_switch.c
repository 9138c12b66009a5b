// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs the cases of *_cases.c, and some that are computed, in both output modes: through the switch
 * logic compiled natively and, if built with KERNEL, through the real programs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cases.h"
#include "selftests/tap.h"
#ifdef KERNEL_TOO
#include "kernel.h"
#endif

static const char * const drop_names[] = {
#define X(name, text, help) text,
	CANARY_DROP_REASONS(X)
#undef X
};

static const char * const counter_names[] = {
#define X(name, text, help) text,
	CSW_COUNTERS(X)
#undef X
};

#define ALL_COUNTERS	(CSW_COUNTER_COUNT + CANARY_DROPS)

/* What is wrong with the present case; printed if it fails */
static char complaint[8192];
static struct outputs outs;
static uint64_t expected[ALL_COUNTERS];

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	size_t n = strlen(complaint);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(complaint + n, sizeof(complaint) - n, fmt, ap);
	va_end(ap);
}

bool check(bool good, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tap(good, "%s", text);
}

static const char *counter_name(uint32_t i)
{
	return i < CSW_COUNTER_COUNT ? counter_names[i] : drop_names[i - CSW_COUNTER_COUNT];
}

/* ---- frames ---- */

static void describe(const char *what, const struct frame *f)
{
	const uint8_t *b = f->bytes, *h = b + 42;

	complain("#   %s port %d, %u bytes, %d.%d.%d.%d -> %d.%d.%d.%d ttl %d, type %d flags %x"
		 " attempt %d block %d count %d elements %d\n", what, f->port, f->length,
		 b[26], b[27], b[28], b[29], b[30], b[31], b[32], b[33], b[22], h[1], h[2], h[3],
		 h[15], h[23], h[26] << 8 | h[27]);
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->port == b->port && a->length == b->length && !memcmp(a->bytes, b->bytes,
								      a->length);
}

static bool expect_frame(const struct frame *want)
{
	uint32_t at;
	int i;

	for (i = 0; i < outs.n; i++) {
		if (same_frame(want, &outs.frame[i])) {
			outs.frame[i] = outs.frame[--outs.n];
			return true;
		}
	}
	for (i = 0; i < outs.n; i++) {
		for (at = 0; at < want->length; at++)
			if (want->bytes[at] != outs.frame[i].bytes[at])
				break;
		describe("came out:", &outs.frame[i]);
		complain("#   first difference at byte %u\n", at);
	}
	describe("missing:", want);
	return false;
}

/* Counters that follow from what goes in and out */
static void count_in(const struct msg *m, const struct frame *f)
{
	bool to_us = m->to == SELF || (!m->to && m->type && m->type != CANARY_CONTRIBUTION);

	if ((m->poke[0].offset && m->poke[0].offset < FRAME_DATA) ||
	    (m->kind && !canary_kind_known(m->kind)) || m->other_mac || m->tag[0])
		return;
	if ((!m->type || m->type == CANARY_CONTRIBUTION) && m->to != SELF)
		expected[CSW_RX_CONTRIBUTION]++;
	else if (m->type == CANARY_RESULT && to_us)
		expected[CSW_RX_RESULT]++;
	else if (m->type == CANARY_RESTORATION && to_us)
		expected[CSW_RX_RESTORATION]++;
	if (m->type <= CANARY_RESULT && (m->type != CANARY_RESULT || to_us) && m->to != SELF)
		expected[CSW_RX_BYTES] += f->length - m->cut;
}

static void count_out(const struct frame *f)
{
	if (f->port != KERNEL)
		expected[CSW_TX_BYTES] += f->length;
}

static bool check_counters(const struct backend *b)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < ALL_COUNTERS; i++) {
		uint64_t n = b->counter(i);

		if (n == expected[i])
			continue;
		complain("#   counter %s: %llu, not %llu\n", counter_name(i),
			 (unsigned long long)n, (unsigned long long)expected[i]);
		good = false;
	}
	return good;
}

static void setting_of(struct setting *s, const struct test_case *c, bool shaped)
{
	memset(s, 0, sizeof(*s));
	s->shaped = shaped;
	s->bare = false;
	s->foreign = false;
	s->groups = false;
	s->learn = c->learn;
	s->admit = c->admit;
	s->stack = c->stack;
	s->configured = c->configured;
	s->credit = c->credit;
	s->min = c->min_us * 1000ULL;
	s->max = c->max_us * 1000ULL;
	s->slots = c->slots ? c->slots : 16;
	s->queue = 2 * s->slots;
	s->children = c->children ? c->children : 8;
	s->root_waits = c->root_waits;
	s->timeout = (c->timeout_us ? c->timeout_us : 1000) * 1000ULL;
	s->lifetime = (c->lifetime_us ? c->lifetime_us : 5000000) * 1000ULL;
}

static void begin(const struct backend *b, const struct test_case *c, bool shaped)
{
	struct setting s;

	complaint[0] = '\0';
	memset(expected, 0, sizeof(expected));
	world_shaped = shaped;
	world_groups = false;
	setting_of(&s, c, shaped);
	b->reset(&s);
}

static bool run_step(const struct backend *b, const struct step *s, int number)
{
	struct frame f, want;
	bool good = true;
	int i;

	if (s->us)
		b->at(s->us * 1000ULL);
	switch (s->what) {
	case IN:
		frame_in(&f, s->port, &s->m);
		count_in(&s->m, &f);
		b->receive(&f, &outs);
		break;
	case FLUSH:
		b->flush(&outs);
		break;
	case HOLD_QUEUE:
		b->queue_ctl()->queue[0].lock = 1;
		return true;
	default:
		for (i = 0; i < 16; i++)
			b->hold(i, s->what == HOLD);
		b->queue_ctl()->queue[0].lock = 0;
		return true;
	}
	for (i = 0; i < OUTS_MAX && s->out[i].is; i++) {
		frame_out(&want, s->out[i].port, s->port, &s->out[i].m);
		count_out(&want);
		good &= expect_frame(&want);
	}
	for (i = 0; i < outs.n; i++)
		describe("not expected:", &outs.frame[i]);
	good &= !outs.n;
	if (!good)
		complain("#   in step %d\n", number);
	return good;
}

enum way { FAST, GROUPS, SHAPED, BARE, FOREIGN, WAYS };

static const char *const way_names[] = { "fast", "groups", "shaped", "driver without metadata",
					 "others' metadata" };

static bool case_good(const struct backend *b, const struct test_case *c, enum way way)
{
	struct setting s;
	bool good = true;
	int i;

	begin(b, c, way != FAST && way != GROUPS);
	if (way != FAST && way != SHAPED) {
		setting_of(&s, c, way != GROUPS);
		s.bare = way == BARE;
		s.foreign = way == FOREIGN;
		s.groups = way == GROUPS;
		world_groups = s.groups;
		b->reset(&s);
	}
	for (i = 0; good && i < STEPS_MAX && c->step[i].what != END; i++)
		good = run_step(b, &c->step[i], i + 1);
	for (i = 0; i < COUNTS_MAX && c->count[i].n; i++)
		expected[c->count[i].index] = c->count[i].n;
	if (way == GROUPS)
		expected[CSW_SPREAD] = c->spread;
	return good && check_counters(b);
}

static void run_case(const struct backend *b, const struct test_case *c, enum way way)
{
	if (!tap(case_good(b, c, way), "%s, %s: %s", b->name, way_names[way], c->name))
		printf("%s", complaint);
}

static void run_bad(const struct backend *b, const struct bad_frame *bad)
{
	const struct test_case plain = {};
	struct step s = { .what = IN, .port = 1, .m = bad->m };
	bool good;

	begin(b, &plain, false);
	s.m.from = H1;
	s.m.ranks = R(1);
	s.out[0].is = true;
	s.out[0].port = KERNEL;
	s.out[0].m = s.m;
	good = run_step(b, &s, 1);
	expected[CSW_RX_CONTRIBUTION] = 0;
	expected[CSW_RX_BYTES] = 0;
	if (bad->counter) {
		expected[bad->counter] = 1;
		expected[CSW_TO_KERNEL] = 1;
	}
	good &= check_counters(b);
	if (!tap(good, "%s: forwarded as it is, not added: %s", b->name, bad->name))
		printf("%s", complaint);
}

/* ---- computed cases ---- */

/* Frames with @n elements: taken, added, completed, sent on by clock and by carrier */
static bool sizes_good(const struct backend *b, uint16_t n)
{
	const struct test_case c = {
		.slots = 64,
		.step = {
			{ .what = IN, .port = 1, .m = { .from = H1, .ranks = R(1) } },
			{ .what = IN, .port = 3, .m = { .from = H4, .ranks = R(2) } },
			{ .what = IN, .port = 4, .m = { .from = FAR, .ranks = R(3) },
			  .out = { { 4, { .from = SELF, .ranks = 0xe }, true } } },
			{ .what = IN, .port = 1, .m = { .from = H1, .ranks = R(1), .block = 6 } },
			{ .what = IN, .port = 3, .m = { .from = H4, .ranks = R(2), .block = 6 } },
			{ .what = FLUSH, .us = 1000,
			  .out = { { 4, { .from = SELF, .ranks = 6, .block = 6 }, true } } },
			{ .what = IN, .port = 1, .m = { .from = H1, .ranks = R(1), .block = 7 } },
			{ .what = IN, .us = 2000, .port = 3,
			  .m = { .from = H4, .ranks = R(2), .block = 8 },
			  .out = { { 4, { .from = SELF, .ranks = R(1), .block = 7 }, true } } },
		},
	};
	bool good = true;
	int i;

	begin(b, &c, false);
	for (i = 0; good && c.step[i].what != END; i++) {
		struct step s = c.step[i];

		s.m.elements = n;
		s.m.no_elements = !n;
		s.out[0].m.elements = n;
		s.out[0].m.no_elements = !n;
		good = run_step(b, &s, i + 1);
	}
	return good;
}

static const uint16_t sizes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 34,
	100, 126, 127, 128, 129, 130, 255, 256, 257, 351, 352, 353, 766, 767, 768, 769, 770,
	791, 792, 793, 798, 799, 800 };

static void run_sizes(const struct backend *b)
{
	int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!tap(sizes_good(b, sizes[i]), "%s: %d elements", b->name, sizes[i]))
			printf("%s", complaint);
}

static const struct case_list *const lists[] = {
	&block_cases, &slot_cases, &result_cases, &kept_cases, &route_cases, &fan_in_cases,
	&admission_cases,
};

/* All sizes and all cases, with data of another kind. The cases have an odd number of words. */
static void run_kind(const struct backend *b, uint8_t kind, const char *name)
{
	bool wide = (kind & 7) == CANARY_LANES_64, good = true;
	int i, k, n = 0;

	world_kind = kind;
	for (i = 0; i < ARRAY(sizes) && good; i++, n++)
		if (!wide || sizes[i] % 2 == 0)
			good = sizes_good(b, sizes[i]);
	for (i = 0; i < ARRAY(lists) && !wide && good; i++)
		for (k = 0; k < lists[i]->n && good; k++, n++)
			good = case_good(b, &lists[i]->test_case[k], FAST);
	world_kind = CANARY_KIND_ADD32;
	if (!tap(good, "%s: %s: %d cases", b->name, name, n))
		printf("%s", complaint);
}

static void run_kinds(const struct backend *b)
{
#define CANARY_KIND_X(name, ...) run_kind(b, CANARY_KIND_##name, #name);
	CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
}

/* As many children as possible, and one more */
static void run_crowd(const struct backend *b)
{
	const struct test_case c = { .children = CSW_CHILDREN_MAX, .slots = 16 };
	int i, n = CSW_CHILDREN_MAX;
	struct frame f;
	bool good = true;

	begin(b, &c, false);
	for (i = 0; i <= n; i++) {
		struct msg m = { .from = H1, .ranks = R(1), .salt = i, .members = 1000 };

		frame_in(&f, 1, &m);
		f.bytes[35] = i;	/* UDP source */
		frame_checksum(&f);
		b->receive(&f, &outs);
		good &= outs.n == (i == n);
	}
	good &= b->descriptor(0)->children + b->descriptor(4)->children +
		b->descriptor(8)->children + b->descriptor(12)->children == n;
	frame_in(&f, 4, &(struct msg) { .type = CANARY_RESULT, .members = 31, .from = LEADER });
	f.bytes[42 + 20] = 1000 >> 8;
	f.bytes[42 + 21] = 1000 & 0xff;
	frame_checksum(&f);
	b->receive(&f, &outs);
	good &= outs.n == n;
	for (i = 0; i < outs.n; i++)
		good &= outs.frame[i].bytes[37] < n && outs.frame[i].port == 1;
	if (!tap(good, "%s: %d children get their copies, one more is bypassed", b->name, n))
		printf("#   %d frames came out\n", outs.n);
}

/* Enqueueing wakes a sleeping clock, once. */
static void run_wake(const struct backend *b)
{
	const struct test_case c = {};
	struct frame f;

	begin(b, &c, false);
	b->woken();
	frame_in(&f, 1, &(struct msg) { .from = H1, .ranks = R(1), .block = 5 });
	b->receive(&f, &outs);
	tap(b->woken() == 0, "%s: a clock that is awake is not woken", b->name);
	b->queue_ctl()->sleeping = 1;
	frame_in(&f, 1, &(struct msg) { .from = H1, .ranks = R(1), .block = 6 });
	b->receive(&f, &outs);
	frame_in(&f, 1, &(struct msg) { .from = H1, .ranks = R(1), .block = 7 });
	b->receive(&f, &outs);
	tap(b->woken() == 1 && !b->queue_ctl()->sleeping, "%s: a clock that sleeps is woken once",
	    b->name);
}

/* ---- random input: both backends do the same (@b is NULL: @a only has to survive it) ---- */

static uint32_t random_state = 1;

static uint32_t rnd(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

static uint8_t random_kind(uint32_t block)
{
	static const uint8_t kinds[] = {
#define CANARY_KIND_X(name, ...) CANARY_KIND_##name,
		CANARY_KINDS(CANARY_KIND_X)
#undef CANARY_KIND_X
	};

	return kinds[(rnd(30) ? block : rnd(ARRAY(kinds))) % ARRAY(kinds)];
}

static void random_msg(struct msg *m)
{
	static const enum who from[] = { H1, H1B, H2, H3, H4, SWITCH2, ABSENT, NOWHERE };
	static const enum who to[] = { LEADER, LEADER, LEADER, LEADER, H4, MULTI, SELF };
	uint32_t rank;

	memset(m, 0, sizeof(*m));
	m->block = 5 + rnd(12);
	m->attempt = rnd(20) == 0;
	m->elements = rnd(10) ? 20 : 19 + rnd(3);
	m->kind = random_kind(m->block);
	if (rnd(6) == 0) {
		m->type = rnd(4) ? CANARY_RESULT : CANARY_RESTORATION;
		m->child[0] = H1;
		m->child[1] = from[rnd(8)];
		return;
	}
	rank = 1 + rnd(3);
	m->from = from[rnd(8)];
	m->to = to[rnd(7)];
	m->ranks = R(rank) | (rnd(8) ? 0 : R(1 + rnd(3)));
	m->ttl = rnd(20) ? 64 : rnd(3);
	m->flags = rnd(16) ? 0 : CANARY_F_BYPASS;
	m->load = rnd(256);
	m->done = rnd(0xffffff) - 0x7fffff;
	m->opsig = rnd(20) ? 0 : 99;
	if (rnd(10) == 0) {
		m->poke[0].offset = 14 + rnd(92);
		m->poke[0].value = rnd(256);
		m->fix_ip = rnd(2);
	}
	if (rnd(40) == 0)
		m->cut = (int)rnd(80) - 60;
}

/* No slot is queued twice. */
static bool queue_good(const struct backend *b)
{
	const struct csw_queue *q = b->queue_ctl()->queue;

	if (q->tail - q->head <= b->config()->slot_mask + 1)
		return true;
	complain("#   %s: %u entries queued\n", b->name, q->tail - q->head);
	return false;
}

static bool equal_outputs(struct outputs *a)
{
	int i;

	if (a->n != outs.n) {
		complain("#   %d and %d frames came out\n", a->n, outs.n);
		return false;
	}
	for (i = a->n - 1; i >= 0; i--)
		if (!expect_frame(&a->frame[i]))
			return false;
	return true;
}

static void run_random(const struct backend *a, const struct backend *b, int steps, uint32_t seed)
{
	const struct test_case c = { .lifetime_us = 20000, .children = 4, .learn = seed & 2, .admit = seed & 4,
				   .credit = BYTES(100), .min_us = 50, .max_us = seed & 4 ? 2000 : 0 };
	static struct outputs first;
	uint64_t us = 0;
	bool flush, good = true;
	struct frame f;
	struct msg m;
	int i;

	random_state = seed;
	begin(a, &c, seed & 1);
	if (b)
		begin(b, &c, seed & 1);
	for (i = 0; good && i < steps; i++) {
		us += rnd(100);
		a->at(us * 1000);
		random_msg(&m);
		frame_in(&f, 1 + rnd(4), &m);
		flush = rnd(10) == 0;
		if (flush)
			a->flush(&first);
		else
			a->receive(&f, &first);
		good = queue_good(a);
		if (!b)
			continue;
		b->at(us * 1000);
		if (flush)
			b->flush(&outs);
		else
			b->receive(&f, &outs);
		good &= equal_outputs(&first) && queue_good(b);
	}
	if (!b) {
		if (!tap(good && a->counter(CSW_NEW) && a->counter(CSW_STRAGGLER),
			 "%s: %d random frames, seed %u", a->name, steps, seed))
			printf("%s", complaint);
		return;
	}
	for (i = 0; i < ALL_COUNTERS; i++)
		expected[i] = a->counter(i);
	good &= check_counters(b);
	if (!tap(good, "%s and %s do the same with %d random frames, seed %u", a->name, b->name,
		 steps, seed))
		printf("#   step %d\n%s", i, complaint);
}

#ifdef KERNEL_TOO
/*
 * Does the switch take a contribution for this block, addressed to port 1 with its first address?
 */
static bool takes(const struct backend *b, uint32_t block)
{
	uint64_t before = b->counter(CSW_NEW);
	struct frame f;

	frame_in(&f, 1, &(struct msg) { .from = H1, .ranks = R(1), .block = block });
	b->receive(&f, &outs);
	return b->counter(CSW_NEW) > before;
}

/*
 * A port sends several frames at a time. The kernel runs the program of the first one for all of
 * them.
 */
static void run_plain_first(const struct backend *b)
{
	const enum who child[] = { H1, H4 };
	struct frame f;
	bool good = true;
	int i;

	complaint[0] = '\0';
	b->reset(&with_groups);
	world_shaped = false;
	for (i = 0; i < 2; i++) {
		frame_in(&f, people[child[i]].port,
			 &(struct msg) { .from = child[i], .ranks = R(i + 1), .members = 8 });
		b->receive(&f, &outs);
	}
	frame_in(&f, 4, &(struct msg) { .type = CANARY_RESULT, .members = 8 });
	kernel_plain_first(1);
	b->receive(&f, &outs);
	good = outs.n == 3;
	for (i = 0; i < 2; i++) {
		frame_out(&f, people[child[i]].port, 4,
			  &(struct msg) { .type = CANARY_RESULT, .members = 8, .from = SELF,
					  .to = child[i] });
		good &= expect_frame(&f);
	}
	if (!tap(good && outs.n == 1 && outs.frame[0].port == 1,
		 "copies are addressed behind a frame that is none, which leaves as it is"))
		printf("%s", complaint);
}

static void run_kernel_only(const struct backend *b)
{
	const struct test_case c = {};
	uint64_t frames, leaks;

	kernel_seen(&frames, &leaks);
	tap(frames && !leaks, "no metadata left the switch with %llu frames",
	    (unsigned long long)frames);
	tap(kernel_tc_ignores_plain(), "canary_tc lets packets without metadata pass untouched");
	tap(kernel_tc_ignores_others(), "canary_tc lets metadata of who does not know its number alone");
	tap(kernel_tc_looks_behind(), "... and finds its own behind the frame, with others' in front");
	run_plain_first(b);
	begin(b, &c, false);
	tap(takes(b, 17), "a frame for the port's address is taken");
	kernel_other_mac(true);
	tap(!takes(b, 32) && !takes(b, 18), "soon not any more when the port has another");
	kernel_other_mac(false);
	tap(takes(b, 19), "at once again when it has that again");
}
#endif

static void run_all(const struct backend *b)
{
	const char *why = b->start();
	enum way way;
	int i, k;

	if (why) {
		tap_skip(b->name, why);
		return;
	}
	for (i = 0; i < ARRAY(lists); i++) {
		for (k = 0; k < lists[i]->n; k++)
			for (way = FAST; way < (b->drivers ? WAYS : BARE); way++)
				run_case(b, &lists[i]->test_case[k], way);
	}
	for (i = 0; i < bad_frames_n; i++)
		run_bad(b, &bad_frames[i]);
	run_sizes(b);
	run_kinds(b);
	run_crowd(b);
	run_wake(b);
	copies_run(b);
	ports_run(b);
	queue_run(b);
	choice_run(b);
}

int main(int argc, char **argv)
{
	uint32_t seed;

	run_all(&backend_native);
	stopped_run(&backend_native);
#ifdef KERNEL_TOO
	run_all(&backend_kernel);
	if (!tap_skipped)
		run_kernel_only(&backend_kernel);
	if (!tap_skipped)
		for (seed = 1; seed <= 8; seed++)
			run_random(&backend_native, &backend_kernel, 2500, seed);
	return tap_done("bpf");
#else
	for (seed = 1; seed <= 50; seed++)
		run_random(&backend_native, NULL, 5000, seed);
	return tap_done("bpf-sanitized");
#endif
}
