// SPDX-License-Identifier: BSD-2-Clause
/*
 * canary comm allow|revoke|rules: shows and changes the module's rules, which say who may be a
 * member of which communicator in this network namespace. It talks generic netlink. linux/canary.h
 * has the commands and attributes.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <canary.h>
#include <libmnl/libmnl.h>
#include <linux/canary.h>
#include <linux/genetlink.h>

#include "cmds.h"
#include "userspace/common/address.h"
#include "userspace/common/complain.h"
#include "userspace/common/json.h"
#include "userspace/common/option.h"

#define BUFFER	8192
#define ID_MAX	(UINT32_MAX - 1)	/* of a user or group; UINT32_MAX means nobody */

struct rules_socket {
	struct mnl_socket *nl;
	uint32_t seq;
	uint16_t family;
};

/* Report the error of an answer, in the kernel's words if it sent some. */
static int refused(const char *what, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	const char *text = strerror(-err->error);
	size_t skip = sizeof(*err);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += mnl_nlmsg_get_payload_len(&err->msg);
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		mnl_attr_for_each(attr, nlh, skip)
			if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
				text = mnl_attr_get_str(attr);
	return complain("canary", "%s: %s", what, text);
}

/* Send a message and give each answer to @cb. Return: 0, or -1 after an error message. */
static int talk(struct rules_socket *s, struct nlmsghdr *nlh, const char *what, mnl_cb_t cb,
		void *arg)
{
	char buf[BUFFER] __attribute__((aligned(8)));
	const struct nlmsghdr *in;
	ssize_t n;
	int len;

	nlh->nlmsg_seq = ++s->seq;
	nlh->nlmsg_flags |= NLM_F_REQUEST | (nlh->nlmsg_flags & NLM_F_DUMP ? 0 : NLM_F_ACK);
	n = mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len);
	while (n >= 0) {
		n = mnl_socket_recvfrom(s->nl, buf, sizeof(buf));
		len = n;
		for (in = (void *)buf; n > 0 && mnl_nlmsg_ok(in, len);
		     in = mnl_nlmsg_next(in, &len)) {
			if (in->nlmsg_type == NLMSG_DONE)
				return 0;
			if (in->nlmsg_type == NLMSG_ERROR &&
			    !((const struct nlmsgerr *)mnl_nlmsg_get_payload(in))->error)
				return 0;
			if (in->nlmsg_type == NLMSG_ERROR)
				return refused(what, in);
			if (cb)
				cb(in, arg);
		}
	}
	return complain_errno("canary", what);
}

static struct nlmsghdr *message(char *buf, uint16_t type, uint8_t cmd, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

static int take_family(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			*(uint16_t *)arg = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static void stop(struct rules_socket *s)
{
	if (s->nl)
		mnl_socket_close(s->nl);
}

static int start(struct rules_socket *s)
{
	char buf[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
	int on = 1;

	memset(s, 0, sizeof(*s));
	s->nl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!s->nl || mnl_socket_bind(s->nl, 0, MNL_SOCKET_AUTOPID))
		return complain("canary", "netlink: %s", strerror(errno));
	mnl_socket_setsockopt(s->nl, NETLINK_EXT_ACK, &on, sizeof(on));
	nlh = message(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, CANARY_GENL_NAME);
	return talk(s, nlh, "rules: the module canary is not loaded", take_family,
		    &s->family);
}

struct rule {
	uint32_t first, last, uid, gid;
	bool has_uid, has_gid, keyed;
	uint8_t key[CANARY_KEY_BYTES];
	uint32_t believe;	/* number of prefixes in @believed */
	struct canary_prefix believed[CANARY_AGGREGATES_MAX];
};

/* Parse "100" or "100-199". */
static int take_range(const char *text, struct rule *r)
{
	if (parse_range(text, &r->first, &r->last))
		return 0;
	return complain("canary", "communicators: '%s' is no number or range FIRST-LAST,"
			" 0 to 4294967295", text);
}

static int take_user(const char *text, struct rule *r)
{
	const struct passwd *pw = getpwnam(text);

	r->has_uid = true;
	if (pw)
		r->uid = pw->pw_uid;
	else if (!parse_number(text, 0, ID_MAX, &r->uid))
		return complain("canary", "uid: there is no user '%s'", text);
	return 0;
}

static int take_group(const char *text, struct rule *r)
{
	const struct group *gr = getgrnam(text);

	r->has_gid = true;
	if (gr)
		r->gid = gr->gr_gid;
	else if (!parse_number(text, 0, ID_MAX, &r->gid))
		return complain("canary", "gid: there is no group '%s'", text);
	return 0;
}

/* Parse a parameter in the way that members do. */
static int take_param(const char *name, const char *text, struct canary_params *params)
{
	canary_params_init(params);
	if (!canary_params_set(params, name, text))
		return 0;
	return complain("canary", "%s", canary_errmsg());
}

static int take_key_file(const char *path, struct rule *r)
{
	struct canary_params params;

	if (take_param("key-file", path, &params))
		return -1;
	memcpy(r->key, params.key, sizeof(r->key));
	explicit_bzero(&params, sizeof(params));
	r->keyed = true;
	return 0;
}

static int take_aggregates(const char *text, struct rule *r)
{
	struct canary_params params;

	if (take_param("aggregates", text, &params))
		return -1;
	r->believe = params.aggregates;
	memcpy(r->believed, params.aggregate, sizeof(r->believed));
	return 0;
}

/* @json: the writer, or NULL for a table */
struct rules_print {
	struct json *json;
	unsigned int n;
};

static int change(const struct rule *r, uint8_t cmd, const char *what)
{
	char buf[512] __attribute__((aligned(8)));
	struct rules_socket s;
	struct nlmsghdr *nlh;
	int err;

	err = start(&s);
	if (!err) {
		nlh = message(buf, s.family, cmd, CANARY_GENL_VERSION);
		mnl_attr_put_u32(nlh, CANARY_A_FIRST, r->first);
		mnl_attr_put_u32(nlh, CANARY_A_LAST, r->last);
		if (r->has_uid)
			mnl_attr_put_u32(nlh, CANARY_A_UID, r->uid);
		if (r->has_gid)
			mnl_attr_put_u32(nlh, CANARY_A_GID, r->gid);
		if (r->keyed)
			mnl_attr_put(nlh, CANARY_A_KEY, sizeof(r->key), r->key);
		if (r->believe)
			mnl_attr_put(nlh, CANARY_A_AGGREGATES,
				     r->believe * sizeof(*r->believed), r->believed);
		err = talk(&s, nlh, what, NULL, NULL);
		explicit_bzero(buf, sizeof(buf));
	}
	stop(&s);
	return err ? 1 : 0;
}

static void json_id(struct json *j, const char *key, bool has, uint32_t id)
{
	if (has)
		json_u64(j, key, id);
	else
		json_null(j, key);
}

static void rule_json(struct json *j, const struct rule *r)
{
	char text[ADDRESS_TEXT];
	uint32_t i;

	json_object(j, NULL);
	json_u64(j, "first", r->first);
	json_u64(j, "last", r->last);
	json_id(j, "uid", r->has_uid, r->uid);
	json_id(j, "gid", r->has_gid, r->gid);
	json_bool(j, "key", r->keyed);
	json_array(j, "aggregates");
	for (i = 0; i < r->believe; i++)
		json_string(j, NULL, address_prefix_text(&r->believed[i].addr,
							r->believed[i].length, text));
	json_end(j);
	json_end(j);
}

static void rule_line(const struct rule *r, unsigned int n)
{
	const struct passwd *pw = r->has_uid ? getpwuid(r->uid) : NULL;
	const struct group *gr = r->has_gid ? getgrgid(r->gid) : NULL;
	char range[32], who[80] = "anybody", text[ADDRESS_TEXT];
	uint32_t i;

	if (!n)
		printf("%-22s %-24s %-3s %s\n", "COMMUNICATORS", "WHO", "KEY", "AGGREGATES");
	snprintf(range, sizeof(range), r->first == r->last ? "%u" : "%u-%u", r->first, r->last);
	if (pw)
		snprintf(who, sizeof(who), "user %s", pw->pw_name);
	else if (r->has_uid)
		snprintf(who, sizeof(who), "user %u", r->uid);
	else if (gr)
		snprintf(who, sizeof(who), "group %s", gr->gr_name);
	else if (r->has_gid)
		snprintf(who, sizeof(who), "group %u", r->gid);
	printf("%-22s %-24s %-3s ", range, who, r->keyed ? "set" : "-");
	for (i = 0; i < r->believe; i++)
		printf("%s%s", i ? "," : "", address_prefix_text(&r->believed[i].addr,
								 r->believed[i].length, text));
	puts(r->believe ? "" : "-");
}

static int take_rule(const struct nlmsghdr *nlh, void *arg)
{
	struct rule r = { 0 };
	const struct nlattr *attr;
	struct rules_print *print = arg;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		switch (mnl_attr_get_type(attr)) {
		case CANARY_A_FIRST:
			r.first = mnl_attr_get_u32(attr);
			break;
		case CANARY_A_LAST:
			r.last = mnl_attr_get_u32(attr);
			break;
		case CANARY_A_UID:
			r.uid = mnl_attr_get_u32(attr);
			r.has_uid = true;
			break;
		case CANARY_A_GID:
			r.gid = mnl_attr_get_u32(attr);
			r.has_gid = true;
			break;
		case CANARY_A_KEYED:
			r.keyed = true;
			break;
		case CANARY_A_AGGREGATES:
			r.believe = mnl_attr_get_payload_len(attr) / sizeof(*r.believed);
			if (r.believe > CANARY_AGGREGATES_MAX)
				r.believe = CANARY_AGGREGATES_MAX;
			memcpy(r.believed, mnl_attr_get_payload(attr),
			       r.believe * sizeof(*r.believed));
			break;
		}
	}
	if (print->json)
		rule_json(print->json, &r);
	else
		rule_line(&r, print->n);
	print->n++;
	return MNL_CB_OK;
}

static int show(bool json)
{
	struct json j = { 0 };
	struct rules_print print = { .json = json ? &j : NULL };
	char buf[256] __attribute__((aligned(8)));
	struct rules_socket s;
	struct nlmsghdr *nlh;
	int err;

	err = start(&s);
	if (!err) {
		json_begin(&j, stdout, JSON_ROWS);
		if (json)
			json_array(&j, NULL);
		nlh = message(buf, s.family, CANARY_CMD_GET_RULE, CANARY_GENL_VERSION);
		nlh->nlmsg_flags = NLM_F_DUMP;
		err = talk(&s, nlh, "rules", take_rule, &print);
		if (json)
			json_end(&j);
		else if (!err && !print.n)
			puts("no rules: anybody may be a member of any communicator");
	}
	stop(&s);
	return err ? 1 : 0;
}

static const struct option_row json_row[] = {
	{ OPTION("json", 'j', NULL, "rules: as JSON"), .size = sizeof(bool) },
};

static const struct option_row who_rows[] = {
	{ OPTION("uid", 'u', "USER", "name or number") },
	{ OPTION("gid", 'g', "GROUP", "name or number; not both") },
};

static const struct option_row what_rows[] = {
	{ OPTION("key-file", 'k', "FILE",
	  "allow: 32 hexadecimal digits: the communicators' key, which\n"
	  "members then need not know, and cannot read or replace") },
	{ OPTION("aggregates", 'a', "PREFIXES",
	  "allow: where the switches are: members take sums of several\n"
	  "members from there only") },
};

static int usage(FILE *to)
{
	const struct option_group all[] = {
		{ OPTION_ROWS(who_rows) }, { OPTION_ROWS(what_rows) }, { OPTION_ROWS(json_row) },
		{ 0 }
	};

	fprintf(to,
		"usage: canary comm rules [-j]\n"
		"       canary comm allow FIRST[-LAST] [--uid USER | --gid GROUP] [--key-file FILE]\n"
		"                    [--aggregates PREFIX[,PREFIX...]]\n"
		"       canary comm revoke FIRST[-LAST] [--uid USER | --gid GROUP]\n"
		"\n"
		"Who may be a member of which communicators in this network namespace, through\n"
		"AF_CANARY. Without rules anybody, of any; with rules, the first that fits decides.\n");
	options_help(to, all, 29);
	return to == stdout ? 0 : 2;
}

static int one_of_them(void)
{
	return complain("canary", "uid, gid: only one of them");
}

static int take_option(void *rule, const struct option_row *row, const char *text)
{
	struct rule *r = rule;

	switch (row->letter) {
	case 'u':
		return r->has_gid ? one_of_them() : take_user(text, r);
	case 'g':
		return r->has_uid ? one_of_them() : take_group(text, r);
	case 'k':
		return take_key_file(text, r);
	default:
		return take_aggregates(text, r);
	}
}

static int cmd_list(int argc, char **argv)
{
	bool json = false;
	const struct option_group groups[] = {
		{ OPTION_ROWS(json_row), .take = option_take, .arg = &json }, { 0 }
	};
	enum option_end end;

	argv[0] = (char *)"canary comm rules";	/* getopt() prints it before its messages */
	end = options_parse(groups, argc, argv);
	if (end != OPTIONS_OK)
		return usage(end == OPTIONS_HELP ? stdout : stderr);
	return optind == argc ? show(json) : usage(stderr);
}

int cmd_comm_rules(int argc, char **argv)
{
	bool allow = !strcmp(argv[0], "allow");
	struct rule r = { 0 };
	const struct option_group groups[] = {
		{ OPTION_ROWS(who_rows), .take = take_option, .arg = &r },
		{ .row = allow ? what_rows : NULL, .n = 2, .stride = sizeof(what_rows[0]),
		  .take = take_option, .arg = &r },
		{ 0 }
	};
	enum option_end end;
	int err;

	if (!strcmp(argv[0], "rules"))
		return cmd_list(argc, argv);
	argv[0] = (char *)(allow ? "canary comm allow" : "canary comm revoke");
	end = options_parse(groups, argc, argv);
	if (end == OPTIONS_REFUSED)
		return 2;
	if (end != OPTIONS_OK)
		return usage(end == OPTIONS_HELP ? stdout : stderr);
	if (optind + 1 != argc) {
		complain(argv[0], "which communicators? FIRST[-LAST], once");
		return usage(stderr);
	}
	if (take_range(argv[optind], &r))
		return 2;
	err = change(&r, allow ? CANARY_CMD_ALLOW : CANARY_CMD_REVOKE, allow ? "allow" : "revoke");
	explicit_bzero(&r, sizeof(r));
	return err;
}
