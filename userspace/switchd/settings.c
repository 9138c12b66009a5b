// SPDX-License-Identifier: BSD-2-Clause
/*
 * Settings of a running switch. All of a request are judged before the first is changed: all are
 * taken over or none, and the client hears why. They change one by one: packets that come in the
 * middle of it meet some of them.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* What would hold after a request */
struct wanted {
	struct switchd_options o;
	struct switchd_admission admission;
	bool values, fan_ins, rules;	/* which of them are to change */
	bool choice, trees;		/* which of these were named */
};

static const struct {
	const char *name;
	int (*parse)(struct switchd_options *o, const char *text, char *err, size_t len);
} values[] = {
	{ "choice", switchd_option_choice },
	{ "flowlet", switchd_option_flowlet },
	{ "spread", switchd_option_spread },
	{ "trees", switchd_option_trees },
	{ "timeout", switchd_option_timeout },
	{ "fan-in", switchd_option_fan_in },
};

static int take_value(struct wanted *w, const char *name, const char *value, char *err, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values) && strcmp(values[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(values))
		return switchd_refuse(err, len, "there is no setting '%.100s'", name);
	w->values = true;
	w->choice |= !strcmp(name, "choice");
	w->trees |= !strcmp(name, "trees");
	if (!strcmp(name, "fan-in")) {
		/* what was told before is forgotten, but not by a second one of the same request */
		if (!w->fan_ins)
			w->o.tolds = 0;
		w->fan_ins = true;
	}
	return values[i].parse(&w->o, value, err, len);
}

/* "SETTING VALUE" */
static int take(struct wanted *w, char *line, char *err, size_t len)
{
	char *value = strchr(line, ' ');

	if (!value || value == line || !value[1])
		return switchd_refuse(err, len, "which setting, to what?");
	*value++ = '\0';
	if (strcmp(line, "admit") && strcmp(line, "revoke"))
		return take_value(w, line, value, err, len);
	w->rules = true;
	if (*line == 'a')
		return switchd_admit(&w->admission, value, err, len);
	return switchd_revoke(&w->admission, value, err, len);
}

static int check_trees(const struct wanted *w, char *err, size_t len)
{
	return w->trees ? switchd_trees_check(&w->o, err, len) : 0;
}

/* Lines until an empty one: without it the end is missing */
static int take_all(struct wanted *w, char *text, char *err, size_t len)
{
	char *end = *text == '\n' ? text : strstr(text, "\n\n"), *line;

	if (!end)
		return switchd_refuse(err, len, "the end is missing");
	*end = '\0';
	if (end == text)
		return switchd_refuse(err, len, "nothing to set");
	while ((line = strsep(&text, "\n")))
		if (take(w, line, err, len))
			return -1;
	return check_trees(w, err, len) ? : switchd_timeout_check(&w->o, err, len);
}

/* The kernel refused something of @w: what it took is taken back, or that is left to the ticks. */
static int undo(struct switchd *sw, const struct wanted *w, char *err, size_t len)
{
	static const char later[] = "; taking back what it took failed, too, and is tried again";
	size_t at = strlen(err);

	if ((w->fan_ins && fan_in_set(sw, &sw->now)) || (w->rules && sw->admissions.dirty))
		snprintf(err + at, len - at, "%s", later);
	return -1;
}

static int apply(struct switchd *sw, const struct wanted *w, char *err, size_t len)
{
	struct switchd_options *now = &sw->now;
	int ret = w->fan_ins ? fan_in_set(sw, &w->o) : 0;

	/* first what the kernel may refuse */
	if (ret) {
		switchd_refuse(err, len, "--fan-in: the kernel does not take that: %s",
			       strerror(-ret));
		return undo(sw, w, err, len);
	}
	if (w->rules && admission_set(sw, &w->admission, err, len))
		return undo(sw, w, err, len);
	*now = w->o;
	if (w->values) {
		if (now->timeout_auto)
			qdiscs_rates(sw);
		timeout_follow(sw);
		dataplane_set(sw);
	}
	return 0;
}

int settings_change(struct switchd *sw, char *text, bool try, char *err, size_t len)
{
	struct wanted *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return switchd_refuse(err, len, "out of memory");
	w->o = sw->now;
	w->admission = sw->admission;
	ret = take_all(w, text, err, len);
	if (!ret && w->rules)
		ret = admission_try(sw, &w->admission, err, len);
	if (!ret && !try)
		ret = apply(sw, w, err, len);
	free(w);
	return ret;
}

static int judge(struct wanted *w, const struct switchd_setting *s, char *err, size_t len)
{
	if (!strcmp(s->name, "admit"))
		return switchd_admit_check(s->value, err, len);
	if (!strcmp(s->name, "revoke"))
		return switchd_revoke_check(s->value, err, len);
	return take_value(w, s->name, s->value, err, len);
}

int switchd_settings_check(const struct switchd_setting *setting, unsigned int n, char *err,
			   size_t len)
{
	struct wanted *w = calloc(1, sizeof(*w));
	unsigned int i;
	int ret = 0;

	if (!w)
		return switchd_refuse(err, len, "out of memory");
	switchd_options_init(&w->o);
	for (i = 0; i < n && !ret; i++)
		ret = judge(w, &setting[i], err, len);
	if (!ret && w->choice)
		ret = check_trees(w, err, len);
	free(w);
	return ret;
}
