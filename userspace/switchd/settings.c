// SPDX-License-Identifier: BSD-2-Clause
/*
 * Settings of a running switch. All settings of a request are checked before the first one is
 * changed. All are taken over or none, and the client is told why. They change one by one, so
 * packets in between meet some of them.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "setting.h"

/* State after a request */
struct wanted {
	struct switchd_options o;
	bool part[PART_RULES + 1];	/* which parts change */
	bool choice, trees;		/* whether the request names them */
};

static int take_value(struct wanted *w, const struct setting *s, const char *value, char *err,
		      size_t len)
{
	const char *name = s->option.name;

	w->choice |= !strcmp(name, "choice");
	w->trees |= !strcmp(name, "trees");
	/*
	 * The first one of a request replaces what was configured before. A second one adds to it.
	 */
	if (s->part == PART_FAN_INS && !w->part[PART_FAN_INS])
		w->o.fan_in_count = 0;
	w->part[s->part] = true;
	return setting_take(s, &w->o, value, err, len);
}

static const struct setting *find(const char *name, char *err, size_t len)
{
	const struct setting *s = setting_find(name, SETTING_SET);

	if (!s)
		switchd_refuse(err, len, "there is no setting '%.100s'", name);
	return s;
}

/* Parse "SETTING VALUE". */
static int take(struct wanted *w, char *line, char *err, size_t len)
{
	char *value = strchr(line, ' ');
	const struct setting *s;

	if (!value || value == line || !value[1])
		return switchd_refuse(err, len, "which setting, to what?");
	*value++ = '\0';
	s = find(line, err, len);
	return s ? take_value(w, s, value, err, len) : -1;
}

static int check_trees(const struct wanted *w, char *err, size_t len)
{
	return w->trees ? switchd_trees_check(&w->o, err, len) : 0;
}

/* Parse lines up to an empty one. Without that, the end of the request is missing. */
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

/* The kernel refused a part of @w. Undo what it took, or leave that to the ticks. */
static int undo(struct switchd *sw, const struct wanted *w, char *err, size_t len)
{
	static const char later[] = "; taking back what it took failed, too, and is tried again";
	size_t at = strlen(err);

	if ((w->part[PART_FAN_INS] && fan_in_set(sw, &sw->now)) || (w->part[PART_RULES] && sw->admissions.dirty))
		snprintf(err + at, len - at, "%s", later);
	return -1;
}

static int apply(struct switchd *sw, const struct wanted *w, char *err, size_t len)
{
	struct switchd_options *now = &sw->now;
	int ret = w->part[PART_FAN_INS] ? fan_in_set(sw, &w->o) : 0;

	/* first what the kernel may refuse */
	if (ret) {
		switchd_refuse(err, len, "--fan-in: the kernel does not take that: %s",
			       strerror(-ret));
		return undo(sw, w, err, len);
	}
	if (w->part[PART_RULES] && admission_set(sw, &w->o.admission, err, len))
		return undo(sw, w, err, len);
	*now = w->o;
	now->save = false;
	if (w->part[PART_VALUES]) {
		if (now->timeout_auto)
			qdiscs_rates(sw);
		timeout_follow(sw);
		dataplane_set(sw);
	}
	return 0;
}

/* All is set. Only now it is known which rules the switch has. */
static int save(struct switchd *sw, char *err, size_t len)
{
	int ret = switchd_rules_save(sw->opt->rules, &sw->admission);

	if (!ret)
		return 0;
	return switchd_refuse(err, len, "--save: all is set, but not saved to %s: %s",
			      sw->opt->rules, strerror(-ret));
}

int settings_replace(struct switchd *sw, const struct switchd_options *o, char *err, size_t len)
{
	struct wanted *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return switchd_refuse(err, len, "out of memory");
	w->o = *o;
	memset(w->part, true, sizeof(w->part));
	ret = switchd_timeout_check(&w->o, err, len) ? :
	      admission_try(sw, &w->o.admission, err, len) ? : apply(sw, w, err, len);
	free(w);
	return ret;
}

int settings_change(struct switchd *sw, char *text, bool try, char *err, size_t len)
{
	struct wanted *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return switchd_refuse(err, len, "out of memory");
	w->o = sw->now;
	w->o.admission = sw->admission;
	ret = take_all(w, text, err, len);
	if (!ret && w->part[PART_RULES])
		ret = admission_try(sw, &w->o.admission, err, len);
	if (!ret && w->o.save && !sw->opt->rules[0])
		ret = switchd_refuse(err, len, "--save: the switch was started without --rules");
	if (!ret && !try)
		ret = apply(sw, w, err, len) ? : w->o.save ? save(sw, err, len) : 0;
	free(w);
	return ret;
}

static int check_one(struct wanted *w, const struct switchd_setting *given, char *err, size_t len)
{
	const struct setting *s = find(given->name, err, len);

	if (!s)
		return -1;
	if (s->check)
		return s->check(given->value, err, len);
	return take_value(w, s, given->value, err, len);
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
		ret = check_one(w, &setting[i], err, len);
	if (!ret && w->choice)
		ret = check_trees(w, err, len);
	free(w);
	return ret;
}
