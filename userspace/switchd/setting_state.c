// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `show` prints about settings whose state is more than their value. The table of settings
 * names these functions.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "setting.h"

void text_address(struct switchd *sw, FILE *out)
{
	char text[ADDRESS_TEXT];

	fprintf(out, " address %s", address_text(&sw->address, text));
}

void json_address(struct switchd *sw, struct json *j)
{
	char text[ADDRESS_TEXT];

	json_string(j, "address", address_text(&sw->address, text));
}

void text_timeout(struct switchd *sw, FILE *out)
{
	fprintf(out, " timeout %gus", dataplane_timeout(&sw->dp) / 1e3);
}

void json_timeout(struct switchd *sw, struct json *j)
{
	const struct csw_config *c = sw->dp.config;

	json_number(j, "timeout_us", "%.10g", dataplane_timeout(&sw->dp) / 1e3);
	json_number(j, "timeout_min_us", "%.10g", c->timeout_min / 1e3);
	json_number(j, "timeout_max_us", "%.10g", c->timeout_max / 1e3);
	json_bool(j, "timeout_auto", sw->now.timeout_auto);
}

void text_lifetime(struct switchd *sw, FILE *out)
{
	fprintf(out, " lifetime %gs", sw->now.lifetime_ns / 1e9);
}

void text_trees(struct switchd *sw, FILE *out)
{
	fprintf(out, " trees %u+%u", sw->now.trees, sw->now.first_tree);
}

void json_trees(struct switchd *sw, struct json *j)
{
	json_u64(j, "trees", sw->now.trees);
	json_u64(j, "first_tree", sw->now.first_tree);
}

static uint32_t fan_ins_known(const struct dataplane *dp)
{
	uint32_t i, n = 0;

	for (i = 0; i < CSW_FAN_INS; i++)
		n += !!dp->fan_ins[i].expect;
	return n;
}

/* As the data plane has it, which may be behind */
void text_fan_in(struct switchd *sw, FILE *out)
{
	const struct csw_config *c = sw->dp.config;

	fprintf(out, " fan-in %s known %u of at most %u told %u", fan_in_words[c->fan_in],
		fan_ins_known(&sw->dp), CSW_FAN_INS, c->fan_ins_configured);
}

void json_fan_in(struct switchd *sw, struct json *j)
{
	const struct csw_config *c = sw->dp.config;

	json_object(j, "fan_in");
	json_string(j, "mode", fan_in_words[c->fan_in]);
	json_u64(j, "known", fan_ins_known(&sw->dp));
	json_u64(j, "room", CSW_FAN_INS);
	json_u64(j, "told", c->fan_ins_configured);
	json_end(j);
}

#define SHARES_SHOWN	16	/* shown to people; programs get SHARES_LISTED */
#define SHARES_LISTED	1024

static void text_shares(struct switchd *sw, FILE *out)
{
	struct share *shares;
	size_t n, i;
	char text[64];

	n = shares_read(sw, &shares);
	for (i = 0; i < n && i < SHARES_SHOWN; i++) {
		share_text(sw, &shares[i], text, sizeof(text));
		fprintf(out, "  %15s %s holds %u slots\n", "", text, shares[i].slots);
	}
	if (n > SHARES_SHOWN)
		fprintf(out, "  %15s %zu others hold fewer\n", "", n - SHARES_SHOWN);
	free(shares);
}

void text_admission(struct switchd *sw, FILE *out)
{
	const struct switchd_admission *a = &sw->admission;
	char text[64];
	unsigned int i;

	if (!a->on) {
		fprintf(out, "  admission off: everybody may contribute\n");
		return;
	}
	fprintf(out, "  admission on: %u rules of at most %d, %zu entries of at most %d%s\n", a->rules,
		SWITCHD_ADMIT_MAX, sw->admissions.n, CSW_ADMISSIONS, a->rules ? "" : ": nobody");
	for (i = 0; i < a->rules; i++) {
		switchd_admit_text(&a->rule[i], text, sizeof(text));
		fprintf(out, "  %15s %s\n", "", text);
	}
	text_shares(sw, out);
}

static void json_shares(struct switchd *sw, struct json *j)
{
	struct share *shares;
	size_t n, i;
	char text[64];

	n = shares_read(sw, &shares);
	json_array(j, "shares");
	for (i = 0; i < n && i < SHARES_LISTED; i++) {
		share_text(sw, &shares[i], text, sizeof(text));
		json_object(j, NULL);
		json_string(j, "source", text);
		json_u64(j, "slots", shares[i].slots);
		json_end(j);
	}
	json_end(j);
	free(shares);
}

void json_admission(struct switchd *sw, struct json *j)
{
	const struct switchd_admission *a = &sw->admission;
	char text[64];
	unsigned int i;

	json_object(j, "admission");
	json_bool(j, "on", a->on);
	json_u64(j, "entries", sw->admissions.n);
	json_array(j, "rules");
	for (i = 0; i < a->rules; i++) {
		switchd_admit_text(&a->rule[i], text, sizeof(text));
		json_string(j, NULL, text);
	}
	json_end(j);
	json_shares(sw, j);
	json_end(j);
}

void json_clock(struct switchd *sw, struct json *j)
{
	const struct clock *clock = &sw->clock;
	int error = __atomic_load_n(&clock->last_error, __ATOMIC_RELAXED);

	json_object(j, "clock");
	json_string(j, "mode", clock_words[sw->now.clock]);
	json_u64(j, "wakeups", clock_count(&clock->wakeups));
	json_u64(j, "frames", clock_count(&clock->frames));
	json_u64(j, "errors", clock_count(&clock->errors));
	json_bool(j, "works", clock_works(sw));
	if (error)
		json_string(j, "last_error", strerror(-error));
	else
		json_null(j, "last_error");
	json_end(j);
}
