// SPDX-License-Identifier: BSD-2-Clause
/*
 * SIGHUP: the files of --config and --rules are read again. All that they change is changed, or
 * nothing.
 */
#include <stdlib.h>

#include "internal.h"
#include "setting.h"

static void tell(void *sw, const char *text)
{
	sw_error(sw, "%s", text);
}

/* Take over what can change. @o is used up. Return: 0, or -1 with a sentence */
static int replace(struct switchd *sw, struct switchd_options *o, char *err, size_t len)
{
	char names[256];

	if (o->config_missing) {
		/* It said more than whom to admit. But nobody knows what. */
		struct switchd_admission admission = o->admission;

		*o = sw->now;
		o->admission = admission;
		return settings_replace(sw, o, err, len);
	}
	if (switchd_options_check(o, err, len))
		return -1;
	if (settings_keep_fixed(o, sw->opt, names, sizeof(names)))
		sw_warn(sw, "only a new start changes:%s", names);
	return settings_replace(sw, o, err, len);
}

void reload_missing(struct switchd *sw, const struct switchd_options *o)
{
	if (o->config_missing)
		sw_warn(sw, "%s is missing: nobody is admitted", o->config);
	if (o->rules_missing)
		sw_warn(sw, "%s is missing: nobody is admitted", o->rules);
}

void reload(struct switchd *sw)
{
	struct switchd_options *o;
	char err[512] = "";

	sw->reread = false;
	if (!sw->opt->config[0] && !sw->opt->rules[0])
		return;
	o = calloc(1, sizeof(*o));
	notify_reloading(sw);
	if (!o) {
		sw_error(sw, "SIGHUP: out of memory, settings are as before");
	} else if (switchd_options_read(o, sw->given, tell, sw)) {
		sw_error(sw, "SIGHUP: settings are as before");
	} else {
		reload_missing(sw, o);
		if (replace(sw, o, err, sizeof(err)))
			sw_error(sw, "SIGHUP: settings are as before: %s", err);
		else
			sw_info(sw, "SIGHUP: settings are those of the files");
	}
	notify(sw, "READY=1");
	free(o);
}
