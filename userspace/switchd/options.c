// SPDX-License-Identifier: BSD-2-Clause
/*
 * Options of the switch daemon: defaults, values in human notation, ranges. Every refusal
 * names the option, the value and what would be right.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switchd.h"
#include "userspace/common/parse.h"

#define NS_PER_US	1000ULL
#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL

#define TIMEOUT_MIN	SWITCHD_TIMEOUT_MIN
#define TIMEOUT_MAX	SWITCHD_TIMEOUT_MAX
#define LIFETIME_MIN	(10 * NS_PER_MS)
#define LIFETIME_MAX	(3600 * NS_PER_S)
#define FLOWLET_MIN	(10 * NS_PER_US)
#define FLOWLET_MAX	(10 * NS_PER_S)
#define FLOWLET_DEFAULT	(5 * NS_PER_MS)
#define SPREAD_MAX	256
#define TREES_MAX	256
#define SLOTS_DEFAULT	32768
#define ROOT_PATIENCE_DEFAULT	3
#define ROOT_PATIENCE_MAX	100

int switchd_refuse(char *err, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return -1;
}

int switchd_each(void *arg, const char *text, char *err, size_t len,
		 int (*fn)(void *arg, char *one, char *err, size_t len))
{
	char *copy = strdup(text), *rest = copy, *one;
	int ret = 0;

	if (!copy)
		return switchd_refuse(err, len, "out of memory");
	while (!ret && (one = strsep(&rest, ",")))
		ret = fn(arg, one, err, len);
	free(copy);
	return ret;
}

void switchd_options_init(struct switchd_options *o)
{
	memset(o, 0, sizeof(*o));
	o->mode = CSW_FAST;
	o->clock = SWITCHD_CLOCK_SLEEP;
	o->timeout_auto = true;
	o->lifetime_ns = 5 * NS_PER_S;
	o->slots = SLOTS_DEFAULT;
	o->children = CSW_CHILDREN_MAX;
	o->root_patience = ROOT_PATIENCE_DEFAULT;
	o->restore = true;
	o->fan_in = CSW_FAN_IN_LEARN;
	o->choice = CSW_CHOOSE_BOTH;
	o->flowlet_ns = FLOWLET_DEFAULT;
	o->spread = 1;
}

static int parse_mode(const char *text, enum csw_mode *mode)
{
	if (!strcmp(text, "fast"))
		*mode = CSW_FAST;
	else if (!strcmp(text, "shaped"))
		*mode = CSW_SHAPED;
	else
		return -1;
	return 0;
}

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
		if (parse_mode(mode, &port->mode))
			return switchd_refuse(err, len, "--ports: %s: mode '%s' is neither fast nor shaped",
					      text, mode);
		port->mode_given = true;
	}
	o->ports++;
	return 0;
}

int switchd_option_ports(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return switchd_each(o, text, err, len, add_port);
}

int switchd_option_name(struct switchd_options *o, const char *text, char *err, size_t len)
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

int switchd_option_address(struct switchd_options *o, const char *text, char *err, size_t len)
{
	uint32_t host;

	if (inet_pton(AF_INET, text, &o->address) != 1)
		return switchd_refuse(err, len, "--address: '%s' is not an IPv4 address", text);
	host = ntohl(o->address.s_addr);
	if (host >> 24 == 0 || host >> 24 == 127 || host >> 28 >= 14)
		return switchd_refuse(err, len, "--address: %s is not a unicast address that others can reach",
				      text);
	return 0;
}

int switchd_option_mode(struct switchd_options *o, const char *text, char *err, size_t len)
{
	if (parse_mode(text, &o->mode))
		return switchd_refuse(err, len, "--mode: '%s' is neither fast nor shaped", text);
	return 0;
}

int switchd_option_clock(struct switchd_options *o, const char *text, char *err, size_t len)
{
	if (!strcmp(text, "sleep"))
		o->clock = SWITCHD_CLOCK_SLEEP;
	else if (!strcmp(text, "poll"))
		o->clock = SWITCHD_CLOCK_POLL;
	else
		return switchd_refuse(err, len, "--clock: '%s' is neither sleep nor poll", text);
	return 0;
}

static int option_duration(const char *option, const char *text, uint64_t min, uint64_t max,
			   const char *range, uint64_t *value, char *err, size_t len)
{
	switch (parse_quantity(text, PARSE_NS, min, max, value)) {
	case PARSE_OK:
		return 0;
	case PARSE_JUNK:
		return switchd_refuse(err, len, "%s: '%s' is no duration: a number and ns, us, ms or s (%s)",
				      option, text, range);
	default:
		return switchd_refuse(err, len, "%s: %s is out of range: %s", option, text, range);
	}
}

void switchd_timeout_begin(struct switchd_options *o)
{
	for (o->timeout_ns = o->timeout_min; o->timeout_ns < o->timeout_max / 2 &&
	     o->timeout_ns * o->timeout_ns < o->timeout_min * o->timeout_max;)
		o->timeout_ns += o->timeout_ns / 8;
}

/* MIN..MAX */
static int timeout_bounds(struct switchd_options *o, char *text, char *err, size_t len)
{
	char *max = strstr(text, "..");

	*max = '\0';
	if (option_duration("--timeout", text, TIMEOUT_MIN, TIMEOUT_MAX, "10us to 1s",
			    &o->timeout_min, err, len) ||
	    option_duration("--timeout", max + 2, TIMEOUT_MIN, TIMEOUT_MAX, "10us to 1s",
			    &o->timeout_max, err, len))
		return -1;
	if (o->timeout_min >= o->timeout_max)
		return switchd_refuse(err, len, "--timeout: %s is not less than %s", text, max + 2);
	switchd_timeout_begin(o);
	return 0;
}

int switchd_option_timeout(struct switchd_options *o, const char *text, char *err, size_t len)
{
	char *copy;
	int ret;

	o->timeout_auto = !strcmp(text, "auto");
	if (o->timeout_auto)
		return 0;
	if (!strstr(text, "..")) {
		o->timeout_min = 0;
		o->timeout_max = 0;
		return option_duration("--timeout", text, TIMEOUT_MIN, TIMEOUT_MAX, "10us to 1s",
				       &o->timeout_ns, err, len);
	}
	copy = strdup(text);
	if (!copy)
		return switchd_refuse(err, len, "out of memory");
	ret = timeout_bounds(o, copy, err, len);
	free(copy);
	return ret;
}

int switchd_option_lifetime(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return option_duration("--lifetime", text, LIFETIME_MIN, LIFETIME_MAX, "10ms to 3600s",
			       &o->lifetime_ns, err, len);
}

static int option_number(const char *option, const char *text, uint32_t min, uint32_t max,
			 uint32_t *value, char *err, size_t len)
{
	if (parse_number(text, min, max, value))
		return 0;
	return switchd_refuse(err, len, "%s: '%s' is not a number from %u to %u", option, text, min,
			      max);
}

int switchd_option_slots(struct switchd_options *o, const char *text, char *err, size_t len)
{
	uint32_t n;

	if (option_number("--slots", text, CSW_SLOTS_MIN, CSW_SLOTS_MAX, &n, err, len))
		return -1;
	if (n & (n - 1))
		return switchd_refuse(err, len, "--slots: %u is not a power of two from %d to %d", n,
				      CSW_SLOTS_MIN, CSW_SLOTS_MAX);
	o->slots = n;
	return 0;
}

int switchd_option_children(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return option_number("--children", text, 1, CSW_CHILDREN_MAX, &o->children, err, len);
}

int switchd_option_root_patience(struct switchd_options *o, const char *text, char *err,
				 size_t len)
{
	return option_number("--root-patience", text, 0, ROOT_PATIENCE_MAX, &o->root_patience,
			     err, len);
}

/* LEADER[/LEN]=N */
static int add_told(struct switchd_options *o, char *text, char *err, size_t len)
{
	struct switchd_fan_in *told = &o->told[o->tolds];
	char *count = strchr(text, '='), *prefix = strchr(text, '/');

	if (!count)
		return switchd_refuse(err, len, "--fan-in: '%s' is neither learn, off nor LEADER[/LEN]=N",
				      text);
	*count++ = '\0';
	told->prefixlen = 32;
	if (prefix && prefix < count) {
		*prefix++ = '\0';
		if (option_number("--fan-in: length of a prefix", prefix, 0, 32, &told->prefixlen,
				  err, len))
			return -1;
	}
	if (inet_pton(AF_INET, text, &told->leader) != 1)
		return switchd_refuse(err, len, "--fan-in: '%s' is not an IPv4 address", text);
	if (option_number("--fan-in: members", count, 1, CANARY_MEMBERS_MAX - 1, &told->expect, err,
			  len))
		return -1;
	o->tolds++;
	return 0;
}

static int add_fan_in(void *options, char *text, char *err, size_t len)
{
	struct switchd_options *o = options;

	if (!strcmp(text, "learn"))
		o->fan_in = CSW_FAN_IN_LEARN;
	else if (!strcmp(text, "off"))
		o->fan_in = CSW_FAN_IN_OFF;
	else if (o->tolds == CSW_TOLD_MAX)
		return switchd_refuse(err, len, "--fan-in: more than %d prefixes", CSW_TOLD_MAX);
	else
		return add_told(o, text, err, len);
	return 0;
}

int switchd_option_fan_in(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return switchd_each(o, text, err, len, add_fan_in);
}

static const struct {
	const char *name, *help;
} choices[] = {
#define X(name, text, help) { text, help },
	CSW_CHOICES(X)
#undef X
};

const char *switchd_choice_name(unsigned int choice)
{
	return choice < CSW_CHOICE_COUNT ? choices[choice].name : NULL;
}

const char *switchd_choice_help(unsigned int choice)
{
	return choice < CSW_CHOICE_COUNT ? choices[choice].help : NULL;
}

int switchd_option_choice(struct switchd_options *o, const char *text, char *err, size_t len)
{
	char names[128] = "";
	unsigned int i;

	for (i = 0; i < CSW_CHOICE_COUNT; i++) {
		if (!strcmp(text, choices[i].name)) {
			o->choice = i;
			return 0;
		}
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", choices[i].name);
	}
	return switchd_refuse(err, len, "--choice: '%s' is none of %s", text, names);
}

int switchd_option_flowlet(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return option_duration("--flowlet", text, FLOWLET_MIN, FLOWLET_MAX, "10us to 10s",
			       &o->flowlet_ns, err, len);
}

int switchd_option_spread(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return option_number("--spread", text, 1, SPREAD_MAX, &o->spread, err, len);
}

/* T or T+FIRST */
int switchd_option_trees(struct switchd_options *o, const char *text, char *err, size_t len)
{
	char *copy = strdup(text), *plus;
	int ret = 0;

	if (!copy)
		return switchd_refuse(err, len, "out of memory");
	plus = strchr(copy, '+');
	if (plus)
		*plus++ = '\0';
	o->first_tree = 0;
	ret = option_number("--trees", copy, 1, TREES_MAX, &o->trees, err, len);
	if (!ret && plus)
		ret = option_number("--trees: first one", plus, 0, TREES_MAX - 1, &o->first_tree,
				    err, len);
	free(copy);
	return ret;
}

int switchd_option_queue(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return option_number("--queue", text, 1, UINT32_MAX, &o->queue, err, len);
}

int switchd_option_restore(struct switchd_options *o, const char *text, char *err, size_t len)
{
	if (strcmp(text, "on") && strcmp(text, "off"))
		return switchd_refuse(err, len, "--restore: '%s' is neither on nor off", text);
	o->restore = !strcmp(text, "on");
	return 0;
}

int switchd_option_forward(struct switchd_options *o, const char *text, char *err, size_t len)
{
	if (strcmp(text, "fast") && strcmp(text, "stack"))
		return switchd_refuse(err, len, "--forward: '%s' is neither fast nor stack", text);
	o->forward = strcmp(text, "stack") ? CSW_FORWARD_FAST : CSW_FORWARD_STACK;
	return 0;
}

int switchd_timeout_check(const struct switchd_options *o, char *err, size_t len)
{
	uint64_t longest = o->timeout_max ? o->timeout_max : o->timeout_ns;

	/* what nobody named keeps to the lifetime */
	if (o->timeout_auto || o->lifetime_ns >= (2 + o->root_patience) * longest)
		return 0;
	return switchd_refuse(err, len, "--timeout: --lifetime must be at least (2 + root patience) timeouts");
}

int switchd_trees_check(const struct switchd_options *o, char *err, size_t len)
{
	if (!o->trees || o->choice == CSW_CHOOSE_STATIC)
		return 0;
	return switchd_refuse(err, len, "--trees: only with --choice static, the choice is %s",
			      switchd_choice_name(o->choice));
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
