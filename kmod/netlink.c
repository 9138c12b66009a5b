// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "canary", by which an administrator sets and reads the rules of a network
 * namespace (rules.c). Its commands and attributes are in canary.h of uapi.
 */

#include <linux/slab.h>
#include <net/genetlink.h>
#include "canary.h"

static struct genl_family canary_genl;

static const struct nla_policy canary_genl_policy[CANARY_A_MAX + 1] = {
	[CANARY_A_FIRST]	= { .type = NLA_U32 },
	[CANARY_A_LAST]		= { .type = NLA_U32 },
	[CANARY_A_UID]		= { .type = NLA_U32 },
	[CANARY_A_GID]		= { .type = NLA_U32 },
	[CANARY_A_KEY]		= NLA_POLICY_EXACT_LEN(CANARY_KEY_BYTES),
	[CANARY_A_KEYED]	= { .type = NLA_REJECT },
	[CANARY_A_AGGREGATES]	= {
		.type	= NLA_BINARY,
		.len	= CANARY_AGGREGATES_MAX * sizeof(struct canary_prefix),
	},
};

static int canary_genl_user(struct genl_info *info, struct canary_rule *rule)
{
	struct nlattr *uid = info->attrs[CANARY_A_UID], *gid = info->attrs[CANARY_A_GID];

	rule->uid = INVALID_UID;
	rule->gid = INVALID_GID;
	if (uid && gid) {
		NL_SET_ERR_MSG(info->extack, "either a user or a group");
		return -EINVAL;
	}
	if (uid) {
		rule->uid = make_kuid(current_user_ns(), nla_get_u32(uid));
		if (!uid_valid(rule->uid)) {
			NL_SET_ERR_MSG_ATTR(info->extack, uid, "no such user here");
			return -EINVAL;
		}
	}
	if (gid) {
		rule->gid = make_kgid(current_user_ns(), nla_get_u32(gid));
		if (!gid_valid(rule->gid)) {
			NL_SET_ERR_MSG_ATTR(info->extack, gid, "no such group here");
			return -EINVAL;
		}
	}
	return 0;
}

/* Read a rule from a message, except its key and its prefixes. */
static int canary_genl_rule(struct genl_info *info, struct canary_rule *rule)
{
	if (!info->attrs[CANARY_A_FIRST] || !info->attrs[CANARY_A_LAST]) {
		NL_SET_ERR_MSG(info->extack, "first and last communicator are needed");
		return -EINVAL;
	}
	rule->first = nla_get_u32(info->attrs[CANARY_A_FIRST]);
	rule->last = nla_get_u32(info->attrs[CANARY_A_LAST]);
	if (rule->last < rule->first) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[CANARY_A_LAST],
				    "the last communicator comes before the first");
		return -EINVAL;
	}
	return canary_genl_user(info, rule);
}

static int canary_genl_key(struct genl_info *info, struct canary_rule *rule)
{
	struct nlattr *key = info->attrs[CANARY_A_KEY];

	if (!key)
		return 0;
	memcpy(rule->key, nla_data(key), CANARY_KEY_BYTES);
	/* Nobody else wipes the key from the buffer of the message. */
	memzero_explicit(nla_data(key), CANARY_KEY_BYTES);
	if (!memchr_inv(rule->key, 0, CANARY_KEY_BYTES)) {
		NL_SET_ERR_MSG_ATTR(info->extack, key, "a key of zeros is no key");
		return -EINVAL;
	}
	rule->keyed = true;
	return 0;
}

static int canary_genl_aggregates(struct genl_info *info, struct canary_rule *rule)
{
	struct nlattr *list = info->attrs[CANARY_A_AGGREGATES];

	if (!list)
		return 0;
	memcpy(rule->believed, nla_data(list), nla_len(list));
	rule->believe = nla_len(list) / sizeof(*rule->believed);
	if (rule->believe && !(nla_len(list) % sizeof(*rule->believed)) &&
	    canary_prefixes_ok(rule->believed, rule->believe))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, list, "that is no list of prefixes");
	return -EINVAL;
}

static int canary_genl_allow(struct sk_buff *skb, struct genl_info *info)
{
	struct canary_rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL_ACCOUNT);
	int err;

	if (!rule)
		return -ENOMEM;
	err = canary_genl_rule(info, rule);
	if (!err)
		err = canary_genl_key(info, rule);
	if (!err)
		err = canary_genl_aggregates(info, rule);
	if (!err)
		err = canary_rule_add(canary_net(genl_info_net(info)), rule);
	if (err == -ENOSPC)
		NL_SET_ERR_MSG(info->extack, "a namespace has room for 1024 rules");
	if (err)
		canary_rule_free(rule);
	return err;
}

static int canary_genl_revoke(struct sk_buff *skb, struct genl_info *info)
{
	struct canary_rule like = { };
	int err;

	err = canary_genl_rule(info, &like);
	if (!err)
		err = canary_rule_delete(canary_net(genl_info_net(info)), &like);
	if (err == -ENOENT)
		NL_SET_ERR_MSG(info->extack, "no rule has this range and user");
	return err;
}

static int canary_genl_put(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct canary_rule *rule)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	void *header;

	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &canary_genl,
			     NLM_F_MULTI, CANARY_CMD_GET_RULE);
	if (!header)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, header);
	if (nla_put_u32(skb, CANARY_A_FIRST, rule->first) ||
	    nla_put_u32(skb, CANARY_A_LAST, rule->last) ||
	    (uid_valid(rule->uid) &&
	     nla_put_u32(skb, CANARY_A_UID, from_kuid_munged(ns, rule->uid))) ||
	    (gid_valid(rule->gid) &&
	     nla_put_u32(skb, CANARY_A_GID, from_kgid_munged(ns, rule->gid))) ||
	    (rule->keyed && nla_put_flag(skb, CANARY_A_KEYED)) ||
	    (rule->believe && nla_put(skb, CANARY_A_AGGREGATES,
				      rule->believe * sizeof(*rule->believed), rule->believed))) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* cb->args[0]: how many rules were dumped so far */
static int canary_genl_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct canary_net *cn = canary_net(sock_net(skb->sk));
	struct canary_rule *rule;
	long n = 0;

	mutex_lock(&cn->rules_lock);
	cb->seq = cn->rules_seq;
	list_for_each_entry(rule, &cn->rules, list) {
		if (n++ < cb->args[0])
			continue;
		if (canary_genl_put(skb, cb, rule))
			break;
		cb->args[0] = n;
	}
	mutex_unlock(&cn->rules_lock);
	return skb->len;
}

static const struct genl_small_ops canary_genl_ops[] = {
	{
		.cmd	= CANARY_CMD_ALLOW,
		.flags	= GENL_UNS_ADMIN_PERM,
		.doit	= canary_genl_allow,
	},
	{
		.cmd	= CANARY_CMD_REVOKE,
		.flags	= GENL_UNS_ADMIN_PERM,
		.doit	= canary_genl_revoke,
	},
	{
		.cmd	= CANARY_CMD_GET_RULE,
		.dumpit	= canary_genl_dump,
	},
};

static struct genl_family canary_genl __ro_after_init = {
	.name		= CANARY_GENL_NAME,
	.version	= CANARY_GENL_VERSION,
	.maxattr	= CANARY_A_MAX,
	.policy		= canary_genl_policy,
	.netnsok	= true,
	.module		= THIS_MODULE,
	.small_ops	= canary_genl_ops,
	.n_small_ops	= ARRAY_SIZE(canary_genl_ops),
	.resv_start_op	= CANARY_CMD_GET_RULE + 1,
};

int __init canary_netlink_init(void)
{
	return genl_register_family(&canary_genl);
}

void canary_netlink_exit(void)
{
	genl_unregister_family(&canary_genl);
}
