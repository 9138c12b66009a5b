// SPDX-License-Identifier: BSD-2-Clause
/*
 * Values of settings that are more than a number or a word, and combinations that are not valid.
 * Every error message names the option, the value and what would be right.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setting.h"

static int add_port(void *options, char *text, char *err, size_t len)
{
	struct switchd_options *o = options;
	struct switchd_port_option *port = &o->port[o->ports];
	char *mode = strchr(text, ':');
	unsigned int i;

	if (mode)
		*mode++ = '\0';
	if (!*text)
		return switchd_refuse(err, len, "--ports: empty port name");
	if (strlen(text) >= IFNAMSIZ)
		return switchd_refuse(err, len, "--ports: %s: longer than the %d characters of a device name",
				      text, IFNAMSIZ - 1);
	for (i = 0; i < o->ports; i++)
		if (!strcmp(o->port[i].name, text))
			return switchd_refuse(err, len, "--ports: %s is named twice", text);
	if (o->ports == SWITCHD_PORTS_MAX)
		return switchd_refuse(err, len, "--ports: more than %d ports", SWITCHD_PORTS_MAX);
	memset(port, 0, sizeof(*port));
	strcpy(port->name, text);
	if (mode) {
		port->mode_given = true;
		if (strcmp(mode, "fast") && strcmp(mode, "shaped"))
			return switchd_refuse(err, len, "--ports: %s: mode '%s' is neither fast nor shaped",
					      text, mode);
		port->mode = strcmp(mode, "shaped") ? CSW_FAST : CSW_SHAPED;
	}
	o->ports++;
	return 0;
}

int option_ports(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return switchd_each(o, text, err, len, add_port);
}

static int take_path(const char *option, char *to, const char *text, char *err, size_t len)
{
	if (*to)
		return switchd_refuse(err, len, "%s: %s: there is a file already, %s", option, text, to);
	if (!*text || strlen(text) >= SWITCHD_PATH_MAX)
		return switchd_refuse(err, len, "%s: a path of 1 to %d characters expected", option,
				      SWITCHD_PATH_MAX - 1);
	strcpy(to, text);
	return 0;
}

int option_config(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return take_path("--config", o->config, text, err, len);
}

int option_rules(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return take_path("--rules", o->rules, text, err, len);
}

int option_name(struct switchd_options *o, const char *text, char *err, size_t len)
{
	const char *p;

	if (!*text || strlen(text) > SWITCHD_NAME_MAX)
		return switchd_refuse(err, len, "--name: '%s': 1 to %d characters expected", text,
				      SWITCHD_NAME_MAX);
	for (p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && (p == text || !strchr("._-", *p)))
			return switchd_refuse(err, len,
					      "--name: '%s': letters, digits and, not at the start, . _ - only",
					      text);
	strcpy(o->name, text);
	return 0;
}

int option_address(struct switchd_options *o, const char *text, char *err, size_t len)
{
	struct switchd_prefix address;

	if (strchr(text, '/'))
		return switchd_refuse(err, len, "--address: '%s' is not an IPv4 address", text);
	if (switchd_prefix("--address", "not an IPv4 address", text, &address, err, len))
		return -1;
	o->address = address.addr;
	if (!canary_addr_is_host_ip4(&o->address) ||
	    ntohl(canary_addr_ip4(&o->address)) >> 24 == 127)
		return switchd_refuse(err, len, "--address: %s is not a unicast address that others can reach",
				      text);
	return 0;
}

void switchd_timeout_begin(struct switchd_options *o)
{
	for (o->timeout_ns = o->timeout_min; o->timeout_ns < o->timeout_max / 2 &&
	     o->timeout_ns * o->timeout_ns < o->timeout_min * o->timeout_max;)
		o->timeout_ns += o->timeout_ns / 8;
}

static int timeout_value(const char *text, uint64_t *ns, char *err, size_t len)
{
	return setting_quantity("--timeout", text, PARSE_NS, SWITCHD_TIMEOUT_MIN,
				SWITCHD_TIMEOUT_MAX, ns, err, len);
}

/* Parse MIN..MAX. */
static int timeout_bounds(struct switchd_options *o, char *text, char *err, size_t len)
{
	char *max = strstr(text, "..");

	*max = '\0';
	if (timeout_value(text, &o->timeout_min, err, len) ||
	    timeout_value(max + 2, &o->timeout_max, err, len))
		return -1;
	if (o->timeout_min >= o->timeout_max)
		return switchd_refuse(err, len, "--timeout: %s is not less than %s", text, max + 2);
	switchd_timeout_begin(o);
	return 0;
}

int option_timeout(struct switchd_options *o, const char *text, char *err, size_t len)
{
	char *copy;
	int ret;

	o->timeout_auto = !strcmp(text, "auto");
	if (o->timeout_auto)
		return 0;
	if (!strstr(text, "..")) {
		o->timeout_min = 0;
		o->timeout_max = 0;
		return timeout_value(text, &o->timeout_ns, err, len);
	}
	copy = strdup(text);
	if (!copy)
		return switchd_refuse(err, len, "out of memory");
	ret = timeout_bounds(o, copy, err, len);
	free(copy);
	return ret;
}

int option_slots(struct switchd_options *o, const char *text, char *err, size_t len)
{
	uint32_t n;

	if (setting_number("--slots", text, CSW_SLOTS_MIN, CSW_SLOTS_MAX, &n, err, len))
		return -1;
	if (n & (n - 1))
		return switchd_refuse(err, len, "--slots: %u is not a power of two from %d to %d", n,
				      CSW_SLOTS_MIN, CSW_SLOTS_MAX);
	o->slots = n;
	return 0;
}

/* Parse LEADER[/LEN]=N. */
static int add_leader(struct switchd_options *o, char *text, char *err, size_t len)
{
	struct switchd_fan_in *to = &o->fan_ins[o->fan_in_count];
	char *count = strchr(text, '=');
	struct switchd_prefix prefix;

	if (!count)
		return switchd_refuse(err, len, "--fan-in: '%s' is neither learn, off nor LEADER[/LEN]=N",
				      text);
	*count++ = '\0';
	if (switchd_prefix("--fan-in", "not an IPv4 address", text, &prefix, err, len))
		return -1;
	to->leader = prefix.addr;
	to->prefixlen = prefix.bits;
	if (setting_number("--fan-in: members", count, 1, CANARY_MEMBERS_MAX - 1, &to->expect, err,
			  len))
		return -1;
	o->fan_in_count++;
	return 0;
}

static int add_fan_in(void *options, char *text, char *err, size_t len)
{
	struct switchd_options *o = options;

	if (!strcmp(text, "learn"))
		o->fan_in = CSW_FAN_IN_LEARN;
	else if (!strcmp(text, "off"))
		o->fan_in = CSW_FAN_IN_OFF;
	else if (o->fan_in_count == CSW_FAN_IN_CONFIG_MAX)
		return switchd_refuse(err, len, "--fan-in: more than %d prefixes", CSW_FAN_IN_CONFIG_MAX);
	else
		return add_leader(o, text, err, len);
	return 0;
}

int option_fan_in(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return switchd_each(o, text, err, len, add_fan_in);
}

/* Parse T or T+FIRST. */
int option_trees(struct switchd_options *o, const char *text, char *err, size_t len)
{
	char *copy = strdup(text), *plus;
	int ret = 0;

	if (!copy)
		return switchd_refuse(err, len, "out of memory");
	plus = strchr(copy, '+');
	if (plus)
		*plus++ = '\0';
	o->first_tree = 0;
	ret = setting_number("--trees", copy, 1, SWITCHD_TREES_MAX, &o->trees, err, len);
	if (!ret && plus)
		ret = setting_number("--trees: first one", plus, 0, SWITCHD_TREES_MAX - 1, &o->first_tree,
				    err, len);
	free(copy);
	return ret;
}

int switchd_timeout_check(const struct switchd_options *o, char *err, size_t len)
{
	uint64_t longest = o->timeout_max ? o->timeout_max : o->timeout_ns;

	/* An automatic timeout adapts to the lifetime. */
	if (o->timeout_auto || o->lifetime_ns >= (2 + o->root_waits) * longest)
		return 0;
	return switchd_refuse(err, len, "--timeout: --lifetime must be at least (2 + root waits) timeouts");
}

int switchd_trees_check(const struct switchd_options *o, char *err, size_t len)
{
	if (!o->trees || o->choice == CSW_CHOOSE_STATIC)
		return 0;
	return switchd_refuse(err, len, "--trees: only with --choice static, the choice is %s",
			      choice_words[o->choice]);
}

int switchd_options_check(struct switchd_options *o, char *err, size_t len)
{
	unsigned int i;

	if (!o->ports)
		return switchd_refuse(err, len, "--ports: which devices belong to the switch?");
	if (switchd_trees_check(o, err, len) || switchd_timeout_check(o, err, len))
		return -1;
	for (i = 0; i < o->ports; i++)
		if (!o->port[i].mode_given)
			o->port[i].mode = o->mode;
	return switchd_admission_check(&o->admission, o, err, len);
}
