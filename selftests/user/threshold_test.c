// SPDX-License-Identifier: BSD-2-Clause
/*
 * From which length on calls of MPI programs go through canary: what is measured where the host
 * functions are slow with some lengths only, and what is remembered.
 */
#include "cmpi_ranks.h"
#include "own_net.h"

static void test_kept(void)
{
	bool good = !cmpi_threshold(1003);
	int i;

	for (i = 1; i <= 100; i++)
		cmpi_threshold_keep(1003, i);
	cmpi_threshold_keep(1004, CMPI_NEVER);
	good &= cmpi_threshold(1003) == 100 && cmpi_threshold(1004) == CMPI_NEVER &&
		!cmpi_threshold(1005);
	tap(good, "what was measured");
}

static bool always(size_t bytes)
{
	return true;
}

static bool never(size_t bytes)
{
	return false;
}

static bool at_first(size_t bytes)
{
	return bytes == CMPI_LEAST_BYTES;
}

static bool from_128k(size_t bytes)
{
	return bytes >= 128 << 10;
}

static bool at_last(size_t bytes)
{
	return bytes == 2 << 20;
}

/* Return: 0 if a communicator is formed whose threshold is @want */
static int threshold(struct cmpi_comm *c, const struct cmpi_settings *s, size_t want)
{
	*c = (struct cmpi_comm){ .members = RANKS, .rank = rank, .peers = true };
	return cmpi_form(c, s, &host, 12345) || c->state != CMPI_FORMED || c->min_bytes != want;
}

/* Canary is faster with the lengths with which the host function is slow. */
static int measures(struct cmpi_settings *s, bool (*slow)(size_t bytes), size_t want)
{
	struct cmpi_comm c;
	int wrong;

	s->min_bytes = 0;
	is_slow = slow;
	wrong = threshold(&c, s, want);
	cmpi_close(&c);
	cmpi_close_all();
	return wrong;
}

/* A second communicator does not measure. */
static int measured(struct cmpi_settings *s)
{
	struct cmpi_comm c[2];
	int i, wrong;

	s->min_bytes = 0;
	is_slow = always;
	wrong = threshold(&c[0], s, CMPI_LEAST_BYTES);
	is_slow = never;
	wrong += threshold(&c[1], s, CMPI_LEAST_BYTES);
	for (i = 0; i < 2; i++)
		cmpi_close(&c[i]);
	cmpi_close_all();
	return wrong;
}

static int measured_never(struct cmpi_settings *s)
{
	return measures(s, never, CMPI_NEVER);
}

static int measured_once(struct cmpi_settings *s)
{
	return measures(s, at_first, CMPI_NEVER);
}

static int measured_later(struct cmpi_settings *s)
{
	return measures(s, from_128k, 128 << 10);
}

static int measured_last(struct cmpi_settings *s)
{
	return measures(s, at_last, 2 << 20);
}

int main(void)
{
	test_kept();
	if (!own_net()) {
		tap_skip("measurements", "no network namespace of its own");
		return tap_done("user/threshold");
	}
	share();
	run(measured, "the threshold is measured, once");
	run(measured_never, "canary is not faster: it is not used");
	run(measured_once, "faster with one length only: it is not used");
	run(measured_later, "faster from 128 KiB on");
	run(measured_last, "faster with the longest length only");
	return tap_done("user/threshold");
}
