// SPDX-License-Identifier: GPL-2.0
/*
 * Rules say who may be a member of which communicator in a network namespace, and under which key.
 * They apply when a member joins; a member that is in stays. An administrator sets them by
 * netlink.c.
 */

#include <crypto/algapi.h>
#include <linux/cred.h>
#include <linux/slab.h>
#include "canary.h"

void canary_rule_free(struct canary_rule *rule)
{
	kfree_sensitive(rule);
}

/* Add @rule behind the others. The list owns it from now on. */
int canary_rule_add(struct canary_net *cn, struct canary_rule *rule)
{
	int err = 0;

	mutex_lock(&cn->rules_lock);
	if (cn->rule_count >= CANARY_RULES_MAX) {
		err = -ENOSPC;
	} else {
		list_add_tail(&rule->list, &cn->rules);
		cn->rule_count++;
		cn->rules_seq++;
	}
	mutex_unlock(&cn->rules_lock);
	return err;
}

/* Remove all rules with the range and user of @like. Return: 0, or -ENOENT if there was none */
int canary_rule_delete(struct canary_net *cn, const struct canary_rule *like)
{
	struct canary_rule *rule, *next;
	int err = -ENOENT;

	mutex_lock(&cn->rules_lock);
	list_for_each_entry_safe(rule, next, &cn->rules, list) {
		if (rule->first != like->first || rule->last != like->last ||
		    !uid_eq(rule->uid, like->uid) || !gid_eq(rule->gid, like->gid))
			continue;
		list_del(&rule->list);
		cn->rule_count--;
		cn->rules_seq++;
		canary_rule_free(rule);
		err = 0;
	}
	mutex_unlock(&cn->rules_lock);
	return err;
}

void canary_rules_clear(struct canary_net *cn)
{
	struct canary_rule *rule, *next;

	list_for_each_entry_safe(rule, next, &cn->rules, list)
		canary_rule_free(rule);
	INIT_LIST_HEAD(&cn->rules);
}

/* Is @rule about the caller? */
static bool canary_rule_is_about(const struct canary_rule *rule)
{
	if (uid_valid(rule->uid))
		return uid_eq(rule->uid, current_euid());
	if (gid_valid(rule->gid))
		return in_egroup_p(rule->gid);
	return true;
}

static bool canary_rule_fits(const struct canary_rule *rule, u32 id)
{
	return id >= rule->first && id <= rule->last && canary_rule_is_about(rule);
}

/* Tell the core from which sources to take aggregates. */
void canary_prefixes_set(struct cnr_config *cfg, const struct canary_prefix *list, u32 n)
{
	u32 i;

	BUILD_BUG_ON(CANARY_AGGREGATES_MAX != CNR_BELIEVED_MAX);
	for (i = 0; i < n; i++)
		cnr_prefix_set(&cfg->believed[i], &list[i].addr, list[i].length);
	cfg->believe = n;
}

/* Apply @rule to @cfg. Return: 0, or -EPERM: another key is set */
static int canary_rule_apply(const struct canary_rule *rule, struct cnr_config *cfg)
{
	if (rule->keyed) {
		if (memchr_inv(cfg->key, 0, sizeof(cfg->key)) &&
		    crypto_memneq(cfg->key, rule->key, sizeof(cfg->key)))
			return -EPERM;
		memcpy(cfg->key, rule->key, sizeof(cfg->key));
	}
	if (rule->believe)
		canary_prefixes_set(cfg, rule->believed, rule->believe);
	return 0;
}

/**
 * canary_rules_check() - may the caller be a member of communicator @cfg->comm?
 * @cn:		the namespace
 * @cfg:	the caller's own key, and the sources whose aggregates it takes. If a rule has
 *		these, its own replace them
 *
 * Context: process. Return: 0, -EACCES: no rule allows it, -EPERM: another key than its own is
 * set.
 */
int canary_rules_check(struct canary_net *cn, struct cnr_config *cfg)
{
	struct canary_rule *rule;
	int err = 0;

	mutex_lock(&cn->rules_lock);
	if (list_empty(&cn->rules))
		goto out;
	list_for_each_entry(rule, &cn->rules, list) {
		if (!canary_rule_fits(rule, cfg->comm))
			continue;
		err = canary_rule_apply(rule, cfg);
		goto out;
	}
	err = -EACCES;
out:
	if (err)
		cn->rules_refused++;
	mutex_unlock(&cn->rules_lock);
	return err;
}

/*
 * May the caller be a member of any communicator at all? Context: process. Return: 0, or -EACCES:
 * no rule is about it
 */
int canary_rules_check_any(struct canary_net *cn)
{
	struct canary_rule *rule;
	int err = -EACCES;

	mutex_lock(&cn->rules_lock);
	if (list_empty(&cn->rules))
		err = 0;
	list_for_each_entry(rule, &cn->rules, list)
		if (err && canary_rule_is_about(rule))
			err = 0;
	if (err)
		cn->rules_refused++;
	mutex_unlock(&cn->rules_lock);
	return err;
}

/* Is @list a valid list of prefixes? */
bool canary_prefixes_ok(const struct canary_prefix *list, u32 n)
{
	struct cnr_prefix p;
	u32 i;

	for (i = 0; i < n; i++)
		if (!cnr_prefix_set(&p, &list[i].addr, list[i].length) ||
		    memchr_inv(list[i].reserved, 0, sizeof(list[i].reserved)))
			return false;
	return true;
}

/*
 * A port is only for members. A caller that may not be a member of the communicator gets none.
 * While its communicator is not known, a caller that may not be a member of any gets none.
 */
int canary_rules_check_port(struct canary_comm *comm)
{
	struct cnr_config cfg = { .comm = comm->req.id };
	int err;

	if (!comm->configured)
		return canary_rules_check_any(canary_net(comm->net));
	memcpy(cfg.key, comm->req.key, sizeof(cfg.key));
	err = canary_rules_check(canary_net(comm->net), &cfg);
	memzero_explicit(&cfg, sizeof(cfg));
	return err;
}
