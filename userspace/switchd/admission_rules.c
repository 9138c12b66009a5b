// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rules of admission as people write them: which sources may make the switch act, for which
 * communicators, by which port. admission.c turns them into entries of the data plane.
 */
#include <string.h>

#include "setting.h"

/* Parse any, COMM or COMM-COMM. */
static bool take_range(const char *text, struct switchd_admit *rule)
{
	rule->first = 0;
	rule->last = UINT32_MAX;
	return !strcmp(text, "any") || parse_range(text, &rule->first, &rule->last);
}

/* Parse any, or ADDRESS[/LEN]. */
static int parse_prefix(const char *option, char *text, struct switchd_admit *rule, char *err,
			size_t len)
{
	struct switchd_prefix prefix = { .bits = CANARY_ADDR_IP4_START };

	if (!strcmp(text, "any"))
		prefix.addr = canary_addr_of_ip4(0);
	else if (switchd_prefix(option, "neither any nor an IPv4 address", text, &prefix, err, len))
		return -1;
	rule->source = prefix.addr;
	rule->prefixlen = prefix.bits;
	if (canary_addr_is_prefix(&prefix.addr, prefix.bits))
		return 0;
	return switchd_refuse(err, len, "%s: %.*s has bits behind the %u of its prefix", option,
			      (int)strcspn(text, "/"), text, prefix.bits - CANARY_ADDR_IP4_START);
}

/* Parse COMM[-COMM]:PREFIX[/LEN][%PORT]. */
static int parse_rule(const char *option, char *text, struct switchd_admit *rule, char *err,
		      size_t len)
{
	char *source = strchr(text, ':'), *port = strchr(text, '%');

	memset(rule, 0, sizeof(*rule));
	if (!source)
		return switchd_refuse(err, len, "%s: '%s' is neither everybody, nobody nor COMM[-COMM]:PREFIX[/LEN][%%PORT]",
				      option, text);
	if (port) {
		*port++ = '\0';
		if (!*port || strlen(port) >= IFNAMSIZ)
			return switchd_refuse(err, len, "%s: '%s' is no name of a port", option, port);
		strcpy(rule->port, port);
	}
	*source++ = '\0';
	if (!take_range(text, rule))
		return switchd_refuse(err, len, "%s: '%s' is neither any, nor a communicator or a range FIRST-LAST of them (0 to %u)",
				      option, text, UINT32_MAX);
	return parse_prefix(option, source, rule, err, len);
}

void switchd_admit_text(const struct switchd_admit *rule, char *text, size_t len)
{
	char range[32] = "any", prefix[ADDRESS_TEXT];

	address_prefix_text(&rule->source, rule->prefixlen, prefix);
	if (rule->first == rule->last)
		snprintf(range, sizeof(range), "%u", rule->first);
	else if (rule->first || rule->last != UINT32_MAX)
		snprintf(range, sizeof(range), "%u-%u", rule->first, rule->last);
	snprintf(text, len, "%s:%s%s%s", range, prefix, rule->port[0] ? "%" : "", rule->port);
}

static unsigned int find_rule(const struct switchd_admission *a, const struct switchd_admit *rule)
{
	unsigned int i;

	for (i = 0; i < a->rules; i++)
		if (!memcmp(&a->rule[i], rule, sizeof(*rule)))
			break;
	return i;
}

static bool is_all_or_none(const char *text)
{
	return !strcmp(text, "everybody") || !strcmp(text, "nobody");
}

static int add_rule(void *admission, char *text, char *err, size_t len)
{
	struct switchd_admission *a = admission;
	struct switchd_admit rule;

	if (is_all_or_none(text)) {
		a->on = *text == 'n';
		a->rules = 0;
		return 0;
	}
	if (parse_rule("--admit", text, &rule, err, len))
		return -1;
	a->on = true;
	if (find_rule(a, &rule) < a->rules)
		return 0;
	if (a->rules == SWITCHD_ADMIT_MAX)
		return switchd_refuse(err, len, "--admit: more than %d rules", SWITCHD_ADMIT_MAX);
	a->rule[a->rules++] = rule;
	return 0;
}

static int remove_rule(void *admission, char *text, char *err, size_t len)
{
	struct switchd_admission *a = admission;
	char name[SWITCHD_RULE_TEXT];
	struct switchd_admit rule;
	unsigned int i;

	if (parse_rule("--revoke", text, &rule, err, len))
		return -1;
	i = find_rule(a, &rule);
	switchd_admit_text(&rule, name, sizeof(name));
	if (i == a->rules)
		return switchd_refuse(err, len, "--revoke: there is no rule %s", name);
	/* the order of rules has no meaning */
	a->rule[i] = a->rule[--a->rules];
	return 0;
}

int option_admit(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return switchd_each(&o->admission, text, err, len, add_rule);
}

int option_revoke(struct switchd_options *o, const char *text, char *err, size_t len)
{
	return switchd_each(&o->admission, text, err, len, remove_rule);
}

static int check_admit(void *none, char *text, char *err, size_t len)
{
	struct switchd_admit rule;

	if (is_all_or_none(text))
		return 0;
	return parse_rule("--admit", text, &rule, err, len);
}

static int check_revoke(void *none, char *text, char *err, size_t len)
{
	struct switchd_admit rule;

	return parse_rule("--revoke", text, &rule, err, len);
}

int option_admit_check(const char *text, char *err, size_t len)
{
	return switchd_each(NULL, text, err, len, check_admit);
}

int option_revoke_check(const char *text, char *err, size_t len)
{
	return switchd_each(NULL, text, err, len, check_revoke);
}

int switchd_admission_check(const struct switchd_admission *a, const struct switchd_options *o,
			    char *err, size_t len)
{
	unsigned int i, p;

	for (i = 0; i < a->rules; i++) {
		if (!a->rule[i].port[0])
			continue;
		for (p = 0; p < o->ports && strcmp(o->port[p].name, a->rule[i].port); p++)
			;
		if (p == o->ports)
			return switchd_refuse(err, len, "--admit: %s is no port of this switch",
					      a->rule[i].port);
	}
	return 0;
}
