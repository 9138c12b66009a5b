// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which of several next hops a packet takes, and which load it gets. MULTI is behind ports 3 and 4.
 * Bypassed packets are sent on at once, so each of them shows one choice.
 */
#include <stdio.h>
#include <string.h>

#include "backend.h"

#define PERCENT(n)	(WORLD_QUEUE / 100 * (n))
#define LOAD_BYTE	(42 + 53)
#define WAITED_BYTE	(42 + 54)

static struct outputs outs;
static const struct backend *b;
static uint8_t load;		/* of the packet that port_of() sent */

static void begin(enum csw_choice choice)
{
	const struct setting s = {
		.slots = 16, .queue = 32, .children = 8, .timeout = MSEC, .lifetime = 5000 * MSEC,
	};

	b->reset(&s);
	b->config()->choice = choice;
	b->config()->flowlet_ns = 2 * MSEC;
}

static void waiting(int port, uint32_t bytes)
{
	const struct csw_backlog backlog = { .changed = 1000 * MSEC, .bytes = bytes };

	b->backlog(port, &backlog);
}

/* Return: the port by which such a packet leaves; 0 if it is neither 3 nor 4 */
static int port_of(const struct msg *given)
{
	struct msg m = *given;
	struct frame f;

	m.to = MULTI;
	m.ranks = R(1);
	if (!m.from)
		m.from = H1;
	m.flags |= CANARY_F_BYPASS;
	frame_in(&f, 1, &m);
	b->receive(&f, &outs);
	if (outs.n != 1)
		return 0;
	load = outs.frame[0].bytes[LOAD_BYTE];
	return outs.frame[0].port == 3 || outs.frame[0].port == 4 ? outs.frame[0].port : 0;
}

static int port_of_block(uint32_t block)
{
	return port_of(&(struct msg){ .block = block });
}

/* Return: how many of @n blocks leave by port 4; -1 if one is lost */
static int by_port4(int n)
{
	int i, port, count = 0;

	for (i = 0; i < n; i++) {
		port = port_of_block(100 + i);
		if (!port)
			return -1;
		count += port == 4;
	}
	return count;
}

static void run_default(void)
{
	static const enum csw_choice alike[] = {
		CSW_CHOOSE_ADAPTIVE, CSW_CHOOSE_BLOCK, CSW_CHOOSE_BOTH, CSW_CHOOSE_EARLY,
	};
	int i, home;

	for (i = 0; i < (int)(sizeof(alike) / sizeof(alike[0])); i++) {
		begin(alike[i]);
		home = port_of_block(1);
		check(home && port_of_block(2) == 7 - home && port_of_block(3) == home,
		    "%s: choice %d: idle, consecutive blocks take turns", b->name, alike[i]);
		check(port_of(&(struct msg){ .block = 1, .from = H3 }) == home && !load,
		    "%s: choice %d: whoever it comes from, and without load", b->name, alike[i]);
	}
	begin(CSW_CHOOSE_BLOCK);
	waiting(3, WORLD_QUEUE);
	waiting(4, 0);
	check(by_port4(64) == 32, "%s: by block: whatever waits there", b->name);
}

/*
 * A link may swallow packets unseen. So each try leaves by the next port, whatever the choice is.
 */
static void run_retries(void)
{
	static const enum csw_choice all[] = {
		CSW_CHOOSE_ADAPTIVE, CSW_CHOOSE_BLOCK, CSW_CHOOSE_BOTH, CSW_CHOOSE_EARLY,
		CSW_CHOOSE_STATIC,
	};
	bool attempt = true, again = true, both = true;
	int i, home;

	for (i = 0; i < (int)(sizeof(all) / sizeof(all[0])); i++) {
		begin(all[i]);
		home = port_of_block(1);
		attempt &= port_of(&(struct msg){ .block = 1, .attempt = 1 }) == 7 - home &&
			   port_of(&(struct msg){ .block = 1, .attempt = 2 }) == home;
		again &= port_of(&(struct msg){ .block = 1, .path = 1 }) == 7 - home;
		both &= port_of(&(struct msg){ .block = 1, .attempt = 1, .path = 255 }) == home;
	}
	check(attempt, "%s: another attempt, another port", b->name);
	check(again, "%s: sent again in the same attempt: another port", b->name);
	check(both, "%s: both count", b->name);
}

static void run_adaptive(void)
{
	int home, other;

	begin(CSW_CHOOSE_ADAPTIVE);
	home = port_of_block(1);
	other = 7 - home;
	waiting(home, PERCENT(49));
	waiting(other, 0);
	check(port_of_block(1) == home && load == 124, "%s: adaptive: not half full, load %d", b->name,
	    load);
	waiting(home, PERCENT(51));
	check(port_of_block(1) == other && !load, "%s: adaptive: half full, the other is empty",
	    b->name);
	check(b->counter(CSW_DIVERTED) == 1, "%s: adaptive: counted as diverted", b->name);
	check(port_of(&(struct msg){ .block = 1, .load = 77 }) == other && load == 77,
	    "%s: a load met before stays", b->name);
	waiting(other, PERCENT(60));
	waiting(home, PERCENT(70));
	check(port_of_block(1) == other && load == 153, "%s: adaptive: the emptier of two full ones",
	    b->name);
	waiting(home, PERCENT(60));
	check(port_of_block(1) == home, "%s: adaptive: none is better", b->name);
	waiting(home, 10 * WORLD_QUEUE);
	waiting(other, 10 * WORLD_QUEUE);
	check(port_of_block(1) == home && load == 255, "%s: adaptive: more than full is full", b->name);
	waiting(other, 0);
	b->at(900 * MSEC);
	check(port_of_block(1) == other, "%s: adaptive: believed for a second", b->name);
	b->at(1001 * MSEC);
	check(port_of_block(1) == home && !load, "%s: adaptive: not without end", b->name);
}

/*
 * The result of a block comes by @port at @ms, 1 ms after its contribution, with this TTL and
 * `waited`.
 * Return: `waited` in the copy for H1, or -1.
 */
static uint8_t ttl = 255;

static int result_says(uint64_t ms, int port, uint8_t waited)
{
	const struct msg sent = { .from = H1, .to = MULTI, .ranks = R(1), .members = 3,
				  .block = 11 };
	const struct msg result = { .type = CANARY_RESULT, .members = 3, .block = 11, .ttl = ttl,
				    .poke = { { WAITED_BYTE, waited } } };
	struct frame f;

	b->at((ms - 1) * MSEC);
	frame_in(&f, 1, &sent);
	b->receive(&f, &outs);
	b->at(ms * MSEC);
	frame_in(&f, port, &result);
	b->receive(&f, &outs);
	return outs.n == 1 && outs.frame[0].port == 1 ? outs.frame[0].bytes[WAITED_BYTE] : -1;
}

/* A result with two children goes out by two ports. Each copy says what waits at its own port. */
static void run_two_children(void)
{
	const struct msg first = { .from = H1, .to = MULTI, .ranks = R(1), .members = 4, .block = 11 };
	const struct msg second = { .from = H3, .to = MULTI, .ranks = R(2), .members = 4, .block = 11 };
	const struct msg result = { .type = CANARY_RESULT, .members = 4, .block = 11, .ttl = 255 };
	int home, i, said[8] = { 0 };
	struct frame f;

	begin(CSW_CHOOSE_BOTH);
	home = port_of_block(1);
	waiting(1, PERCENT(40));
	waiting(2, PERCENT(20));
	b->at(MSEC);
	frame_in(&f, 1, &first);
	b->receive(&f, &outs);
	frame_in(&f, 2, &second);
	b->receive(&f, &outs);
	b->at(100 * MSEC);
	b->flush(&outs);
	frame_in(&f, home, &result);
	b->receive(&f, &outs);
	for (i = 0; i < outs.n; i++)
		said[outs.frame[i].port & 7] = outs.frame[i].bytes[WAITED_BYTE];
	check(outs.n == 2 && said[1] == 102 && said[2] == 51,
	      "%s: both: copies say what each waits for (%d: %d, %d)", b->name, outs.n, said[1], said[2]);
}

static void run_both(void)
{
	int home, other;

	begin(CSW_CHOOSE_BOTH);
	home = port_of_block(1);
	other = 7 - home;
	waiting(home, 0);
	waiting(other, 0);
	waiting(1, PERCENT(40));
	check(result_says(2, home, 33) == 102, "%s: both: a result says what it waits for here",
	      b->name);
	check(port_of_block(1) == other, "%s: both: and what it waited for is believed", b->name);
	waiting(other, PERCENT(14));
	check(result_says(4, home, 36) == 102 && port_of_block(1) == other,
	      "%s: both: the emptier one, either way", b->name);
	check(result_says(6, home, 35) == 102 && port_of_block(1) == home,
	      "%s: both: none is better", b->name);
	waiting(other, 0);
	check(result_says(8, home, 32) == 102 && port_of_block(1) == home,
	      "%s: both: an eighth is not much", b->name);
	waiting(home, PERCENT(14));
	check(port_of_block(1) == other, "%s: both: more in its own queue is", b->name);
	waiting(home, 0);
	result_says(10, home, 200);
	b->at(40 * MSEC);
	check(port_of_block(1) == other, "%s: both: believed for a while", b->name);
	b->at(43 * MSEC);
	check(port_of_block(1) == home, "%s: both: not without end", b->name);
	ttl = 254;
	result_says(50, home, 200);
	check(port_of_block(1) == home, "%s: both: nobody but a neighbour is believed", b->name);
	ttl = 255;
	result_says(52, home, 200);
	check(port_of_block(1) == other, "%s: both: but a neighbour is", b->name);
	begin(CSW_CHOOSE_ADAPTIVE);
	waiting(1, 0);
	waiting(home, 0);
	waiting(other, 0);
	result_says(2, home, 200);
	check(port_of_block(1) == home, "%s: adaptive: does not look back", b->name);
}

/*
 * The thresholds at which another port than the home hop is taken, for queues here and at the other
 * end of the link
 */
static void run_thresholds(void)
{
	static const struct {
		enum csw_choice choice;
		uint8_t here, back;	/* percent; of 255 */
		bool leaves;
	} given[] = {
		{ CSW_CHOOSE_ADAPTIVE, 49, 0, false }, { CSW_CHOOSE_ADAPTIVE, 51, 0, true },
		{ CSW_CHOOSE_ADAPTIVE, 0, 200, false },
		{ CSW_CHOOSE_EARLY, 12, 0, false }, { CSW_CHOOSE_EARLY, 14, 0, true },
		{ CSW_CHOOSE_EARLY, 0, 200, false },
		{ CSW_CHOOSE_BOTH, 12, 0, false }, { CSW_CHOOSE_BOTH, 14, 0, true },
		{ CSW_CHOOSE_BOTH, 0, 200, true }, { CSW_CHOOSE_BOTH, 0, 32, false },
		{ CSW_CHOOSE_BLOCK, 100, 200, false },
	};
	unsigned int i;
	int home;

	for (i = 0; i < sizeof(given) / sizeof(*given); i++) {
		begin(given[i].choice);
		home = port_of_block(1);
		waiting(1, 0);
		waiting(home, PERCENT(given[i].here));
		waiting(7 - home, 0);
		/* the contribution leaves by the port where the result comes back */
		result_says(2, home, given[i].back);
		check((port_of_block(1) != home) == given[i].leaves,
		      "%s: choice %d: %d %% here, %d of 255 there", b->name, given[i].choice,
		      given[i].here, given[i].back);
	}
}

static void run_refused(void)
{
	struct csw_backlog full = { .refused = 1000 * MSEC };
	int home;

	begin(CSW_CHOOSE_ADAPTIVE);
	home = port_of_block(1);
	b->backlog(home, &full);
	check(port_of_block(1) == 7 - home, "%s: adaptive: full if the driver refuses", b->name);
	b->at(2 * MSEC);
	check(port_of_block(1) == home, "%s: adaptive: for a short time", b->name);
}

static void run_flows(void)
{
	int here, n;

	begin(CSW_CHOOSE_FLOW);
	here = port_of_block(1);
	n = by_port4(64);
	check(here && n == (here == 4 ? 64 : 0), "%s: by flow: all blocks by one port", b->name);
	begin(CSW_CHOOSE_FLOWLET);
	here = port_of_block(1);
	waiting(here, WORLD_QUEUE);
	waiting(7 - here, 0);
	b->at(MSEC);
	check(port_of_block(2) == here, "%s: flowlet: no pause, no change", b->name);
	b->at(5 * MSEC);
	check(port_of_block(3) == 7 - here, "%s: flowlet: the emptier one after a pause", b->name);
	waiting(here, 0);
	waiting(7 - here, WORLD_QUEUE);
	b->at(6 * MSEC);
	check(port_of_block(4) == 7 - here, "%s: flowlet: and that one then", b->name);
}

static void run_random(void)
{
	int n;

	begin(CSW_CHOOSE_RANDOM);
	waiting(3, WORLD_QUEUE);
	waiting(4, 0);
	n = by_port4(256);
	check(n > 64 && n < 192, "%s: random: both ports, %d of 256", b->name, n);
	begin(CSW_CHOOSE_TWO);
	n = by_port4(256);
	check(n > 64 && n < 192, "%s: two: both ports while they are alike, %d of 256", b->name, n);
	waiting(3, PERCENT(2));
	waiting(4, 0);
	check(by_port4(64) == 64, "%s: two: the emptier one", b->name);
}

static void run_pinned(void)
{
	static const uint8_t one[] = { 3, 4, 3, 4 }, two[] = { 3, 3, 4, 4 };
	struct msg m = { .flags = CANARY_F_STATIC };
	bool good = true, spread = true;
	int i;

	begin(CSW_CHOOSE_ADAPTIVE);
	waiting(3, WORLD_QUEUE);
	waiting(4, PERCENT(90));
	for (i = 0; i < 16; i++) {
		m.path = i % 4;
		m.block = 1 + i / 4;
		b->config()->spread = 0;
		good &= port_of(&m) == one[i % 4];
		b->config()->spread = 2;
		spread &= port_of(&m) == two[i % 4];
	}
	check(good, "%s: pinned: by the path alone", b->name);
	check(spread, "%s: pinned: the second choice is not the first once more", b->name);
	begin(CSW_CHOOSE_STATIC);
	waiting(3, WORLD_QUEUE);
	b->config()->trees = 1;
	check(by_port4(64) == 0, "%s: static: one tree", b->name);
	b->config()->first_tree = 1;
	check(by_port4(64) == 64, "%s: static: another one", b->name);
	b->config()->trees = 2;
	check(by_port4(64) == 32, "%s: static: two trees take turns", b->name);
	b->config()->trees = 0;
	b->config()->first_tree = 0;
	begin(CSW_CHOOSE_BLOCK);
	b->config()->spread = 2;
	i = port_of_block(100);
	check(i == port_of_block(101) ? port_of_block(102) == 7 - i :
	    port_of_block(102) == port_of_block(101), "%s: by block: nor here", b->name);
}

void choice_run(const struct backend *backend)
{
	b = backend;
	run_default();
	run_retries();
	run_adaptive();
	run_both();
	run_two_children();
	run_thresholds();
	run_refused();
	run_flows();
	run_random();
	run_pinned();
}
