// SPDX-License-Identifier: BSD-2-Clause
/*
 * Admission in the data plane. For each source prefix at each port, the map has the communicators
 * of all rules that cover it. Rules are taken over all together or not at all. What the map refuses
 * while doing so, or when ports come and go, is tried again by the next tick.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "internal.h"
#include "setting.h"

static bool covers(const struct switchd_admit *a, const struct switchd_admit *b)
{
	return a->prefixlen <= b->prefixlen &&
	       canary_addr_within(&b->source, &a->source, a->prefixlen);
}

static bool is_at(const struct switchd_admit *rule, const struct port *port)
{
	return !rule->port[0] || !strcmp(rule->port, port->option->name);
}

static int by_first(const void *pa, const void *pb)
{
	const struct csw_comm_range *a = pa, *b = pb;

	return a->first < b->first ? -1 : a->first > b->first;
}

/* Sort the ranges, and join those that overlap or touch. Return: how many are left */
static unsigned int join(struct csw_comm_range *range, unsigned int n)
{
	unsigned int i, k = 0;

	qsort(range, n, sizeof(*range), by_first);
	for (i = 1; i < n; i++) {
		if (range[k].last == UINT32_MAX || range[i].first <= range[k].last + 1) {
			if (range[i].last > range[k].last)
				range[k].last = range[i].last;
		} else {
			range[++k] = range[i];
		}
	}
	return n ? k + 1 : 0;
}

/* Make the entry for the sources of @rule at @port, from all rules that cover them. */
static int make_entry(const struct switchd_admission *a, const struct port *port,
		      const struct switchd_admit *rule, struct admitted *e, char *err, size_t len)
{
	struct csw_comm_range range[SWITCHD_ADMIT_MAX] = { 0 };
	unsigned int i, n = 0;
	char text[SWITCHD_RULE_TEXT];

	for (i = 0; i < a->rules; i++) {
		if (!is_at(&a->rule[i], port) || !covers(&a->rule[i], rule))
			continue;
		range[n].first = a->rule[i].first;
		range[n++].last = a->rule[i].last;
	}
	n = join(range, n);
	switchd_admit_text(rule, text, sizeof(text));
	if (n > CSW_ADMIT_RANGES)
		return switchd_refuse(err, len, "--admit: %s: %u ranges of communicators for one source at one port, at most %d",
				      text, n, CSW_ADMIT_RANGES);
	memset(e, 0, sizeof(*e));
	e->key.prefixlen = 32 + rule->prefixlen;
	e->key.ifindex = htonl(port->ifindex);
	e->key.addr = rule->source;
	e->value.ranges = n;
	memcpy(e->value.range, range, n * sizeof(*range));
	return 0;
}

static int by_key(const void *pa, const void *pb)
{
	return memcmp(pa, pb, sizeof(struct csw_admission_key));
}

static const struct admitted *find_entry(const struct admissions *in, const struct admitted *e)
{
	return in->n ? bsearch(e, in->entry, in->n, sizeof(*e), by_key) : NULL;
}

/* An entry that exists keeps its number, as descriptors refer to it. */
static void name_entries(struct switchd *sw, struct admissions *to)
{
	const struct admitted *old;
	size_t i;

	for (i = 0; i < to->n; i++) {
		old = find_entry(&sw->admissions, &to->entry[i]);
		if (!old && !++sw->admissions.last_id)
			sw->admissions.last_id = 1;
		to->entry[i].value.id = old ? old->value.id : sw->admissions.last_id;
	}
}

/* Make the entries of all ports, sorted. There is at most one for each rule and port. */
static int make_entries(struct switchd *sw, const struct switchd_admission *a,
			struct admissions *to, char *err, size_t len)
{
	unsigned int p, i;
	size_t n, k = 0;

	to->n = 0;
	to->entry = calloc((size_t)a->rules * sw->ports + 1, sizeof(*to->entry));
	if (!to->entry)
		return switchd_refuse(err, len, "out of memory");
	for (p = 0; p < sw->ports; p++) {
		for (i = 0; i < a->rules; i++) {
			if (!is_at(&a->rule[i], &sw->port[p]))
				continue;
			/* Rules are also checked for a port that is away, as it may come back. */
			if (make_entry(a, &sw->port[p], &a->rule[i], &to->entry[to->n], err, len)) {
				free(to->entry);
				return -1;
			}
			to->n += !!sw->port[p].ifindex;
		}
	}
	qsort(to->entry, to->n, sizeof(*to->entry), by_key);
	for (n = 0; n < to->n; n++)
		if (!k || by_key(&to->entry[k - 1], &to->entry[n]))
			to->entry[k++] = to->entry[n];
	to->n = k;
	name_entries(sw, to);
	return 0;
}

static int map_put(struct switchd *sw, const struct admitted *e)
{
	int ret = bpf_map_update_elem(sw->dp.admissions_fd, &e->key, &e->value, BPF_ANY);

	sw->map_errors += !!ret;
	return ret;
}

static int map_delete(struct switchd *sw, const struct admitted *e)
{
	int ret = bpf_map_delete_elem(sw->dp.admissions_fd, &e->key);

	if (ret == -ENOENT)
		return 0;
	sw->map_errors += !!ret;
	return ret;
}

/*
 * Put the entries of @to that are new or changed into the map. @has becomes what the map then has.
 */
static int put_entries(struct switchd *sw, const struct admissions *to, struct admissions *has)
{
	const struct admissions *now = &sw->admissions;
	const struct admitted *old, *new;
	size_t i = 0, j = 0;
	int ret = 0, err, cmp;

	while (i < now->n || j < to->n) {
		cmp = i == now->n ? 1 : j == to->n ? -1 : by_key(&now->entry[i], &to->entry[j]);
		old = cmp <= 0 ? &now->entry[i++] : NULL;
		new = cmp >= 0 ? &to->entry[j++] : NULL;
		if (new && (!old || memcmp(old, new, sizeof(*old)))) {
			err = map_put(sw, new);
			ret = ret ? ret : err;
			/* the map still has the old entry */
			new = err ? old : new;
		}
		if (new || old)
			has->entry[has->n++] = new ? *new : *old;
	}
	return ret;
}

static int delete_entries(struct switchd *sw, const struct admissions *to, struct admissions *has)
{
	int ret = 0, err = 0;
	size_t i, k = 0;

	for (i = 0; i < has->n; i++) {
		if (!find_entry(to, &has->entry[i])) {
			err = map_delete(sw, &has->entry[i]);
			ret = ret ? ret : err;
			if (!err)
				continue;
		}
		has->entry[k++] = has->entry[i];
	}
	has->n = k;
	return ret;
}

/*
 * Make the map @to. First it gets what is new or changed. If all of that went well, or with @force,
 * it then loses what is gone. sw->admissions always says what the map really has. Return: 0, or the
 * first -errno
 */
static int write_entries(struct switchd *sw, const struct admissions *to, bool force)
{
	struct admissions *now = &sw->admissions, has = { 0 };
	int ret, err = 0;

	has.entry = calloc(now->n + to->n + 1, sizeof(*has.entry));
	if (!has.entry)
		return -ENOMEM;
	ret = put_entries(sw, to, &has);
	if (!ret || force)
		err = delete_entries(sw, to, &has);
	free(now->entry);
	now->entry = has.entry;
	now->n = has.n;
	return ret ? ret : err;
}

/* Can the present ports do what @a needs? */
static int check_ports(struct switchd *sw, const struct switchd_admission *a, char *err, size_t len)
{
	return a->on && !sw->admission.on ? ports_refuse_hidden(sw, err, len) : 0;
}

int admission_try(struct switchd *sw, const struct switchd_admission *a, char *err, size_t len)
{
	struct admissions next;

	if (switchd_admission_check(a, sw->opt, err, len) || check_ports(sw, a, err, len) ||
	    make_entries(sw, a, &next, err, len))
		return -1;
	free(next.entry);
	return 0;
}

int admission_set(struct switchd *sw, const struct switchd_admission *a, char *err, size_t len)
{
	struct admissions next;
	int ret;

	if (switchd_admission_check(a, sw->opt, err, len) || make_entries(sw, a, &next, err, len))
		return -1;
	/*
	 * No packet may meet half of the rules. So they apply only when all are there, and end
	 * before any of them goes.
	 */
	if (!a->on)
		__atomic_store_n(&sw->dp.config->admit, 0, __ATOMIC_RELEASE);
	ret = write_entries(sw, &next, false);
	free(next.entry);
	if (ret) {
		admission_follow(sw);
		__atomic_store_n(&sw->dp.config->admit, sw->admission.on, __ATOMIC_RELEASE);
		return switchd_refuse(err, len, "--admit, --revoke: the kernel does not take the rules: %s",
				      strerror(-ret));
	}
	__atomic_store_n(&sw->dp.config->admit, a->on, __ATOMIC_RELEASE);
	sw->admission = *a;
	sw->admissions.dirty = false;
	ports_want_tags(sw);
	return 0;
}

void admission_follow(struct switchd *sw)
{
	struct admissions next;
	char err[256];
	int ret = -1;

	if (!make_entries(sw, &sw->admission, &next, err, sizeof(err))) {
		ret = write_entries(sw, &next, true);
		free(next.entry);
		snprintf(err, sizeof(err), "%s", strerror(-ret));
	}
	sw->admissions.dirty = ret;
	if (ret)
		sw_error(sw, "admission map, will try again: %s", err);
}

void admission_tick(struct switchd *sw)
{
	if (sw->admissions.dirty)
		admission_follow(sw);
}

void admission_free(struct switchd *sw)
{
	free(sw->admissions.entry);
	memset(&sw->admissions, 0, sizeof(sw->admissions));
}
