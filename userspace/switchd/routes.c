// SPDX-License-Identifier: BSD-2-Clause
/*
 * Routes: the kernel's local, main and default tables as one longest-prefix map.
 *
 * Any notification causes a new dump, and the differences go into the map. It would be wrong to
 * follow single messages. IPv4 removes routes of a device that goes down, and next hops without
 * carrier, without a message. There are pauses between dumps, so that they take a tenth of a
 * processor at most, whatever routing protocols do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "internal.h"

#define DUMP_RETRIES	10
#define HOST_BITS	3		/* hosts of networks up to this size are resolved */
#define SPACING_MIN_NS	10000000ULL	/* least time between two dumps */

struct nexthop_object {
	uint32_t id;
	bool usable;			/* it is alive, and no blackhole */
	struct csw_nexthop hop;
	size_t member, members;		/* of a group: first index in dump.member[], and number */
	bool weighted;			/* members have different weights */
};

struct dump {
	struct switchd *sw;
	struct route *route;
	size_t n, room;
	struct nexthop_object *object;
	size_t objects, object_room;
	uint32_t *member;		/* ids of group members */
	size_t members, member_room;
};

static void *grow(void *array, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return array;
	more = realloc(array, (*room ? *room * 2 : 64) * size);
	if (more)
		*room = *room ? *room * 2 : 64;
	return more;
}

/* Add a next hop if it is alive and leaves by a port of ours. */
static void add_hop(struct switchd *sw, struct csw_route *route, const struct csw_nexthop *hop)
{
	if (!port_by_ifindex(sw, hop->ifindex))
		return;
	if (route->nexthops < CSW_NEXTHOPS_MAX)
		route->nexthop[route->nexthops++] = *hop;
	else
		sw->routes.cut++;
}

/* Take a gateway from the kernel. A route of IPv4 may have one of IPv6 (RFC 5549). */
static bool take_gateway(struct csw_nexthop *hop, int family, const void *gateway, size_t len)
{
	__be32 ip;

	if (family == AF_INET && len == sizeof(ip)) {
		memcpy(&ip, gateway, len);
		hop->gateway = ip ? canary_addr_of_ip4(ip) : (struct canary_addr){ { 0 } };
		return true;
	}
	if (family != AF_INET6 || len != sizeof(hop->gateway))
		return false;
	memcpy(&hop->gateway, gateway, len);
	return !canary_addr_is_ip4(&hop->gateway);	/* a mapped IPv4 address is none */
}

/* Add a next hop that the route names itself. */
static void add_one(struct switchd *sw, struct csw_route *route, uint32_t ifindex,
		    const struct nlattr **tb)
{
	struct csw_nexthop hop = { .ifindex = ifindex };
	const struct rtvia *via;
	bool taken = true;

	if (tb[RTA_ENCAP])
		return;
	if (tb[RTA_VIA]) {
		via = mnl_attr_get_payload(tb[RTA_VIA]);
		taken = take_gateway(&hop, via->rtvia_family, via->rtvia_addr,
				     mnl_attr_get_payload_len(tb[RTA_VIA]) - sizeof(*via));
	} else if (tb[RTA_GATEWAY]) {
		taken = take_gateway(&hop, AF_INET, mnl_attr_get_payload(tb[RTA_GATEWAY]),
				     mnl_attr_get_payload_len(tb[RTA_GATEWAY]));
	}
	if (taken)
		add_hop(sw, route, &hop);
}

static const struct nexthop_object *find_object(const struct dump *d, uint32_t id)
{
	size_t i;

	for (i = 0; i < d->objects; i++)
		if (d->object[i].id == id)
			return &d->object[i];
	return NULL;
}

static void add_member(const struct dump *d, struct csw_route *route,
		       const struct nexthop_object *o)
{
	if (o->usable)
		add_hop(d->sw, route, &o->hop);
}

static void add_object(const struct dump *d, struct csw_route *route, uint32_t id)
{
	const struct nexthop_object *o = find_object(d, id), *member;
	size_t i;

	if (!o)
		return;
	add_member(d, route, o);
	d->sw->routes.weighted += o->weighted;
	for (i = 0; i < o->members; i++) {
		member = find_object(d, d->member[o->member + i]);
		if (member)
			add_member(d, route, member);
	}
}

static void add_multipath(const struct dump *d, struct csw_route *route, const struct nlattr *nest)
{
	const struct rtnexthop *rtnh = mnl_attr_get_payload(nest), *first = rtnh;
	bool weighted = false;
	int left = mnl_attr_get_payload_len(nest);
	const struct nlattr *attr, *tb[RTA_MAX + 1];

	while (RTNH_OK(rtnh, left)) {
		memset(tb, 0, sizeof(tb));
		mnl_attr_for_each_payload((const void *)RTNH_DATA(rtnh),
					  rtnh->rtnh_len - sizeof(*rtnh))
			if (mnl_attr_get_type(attr) <= RTA_MAX)
				tb[mnl_attr_get_type(attr)] = attr;
		if (!(rtnh->rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)))
			add_one(d->sw, route, rtnh->rtnh_ifindex, tb);
		weighted |= rtnh->rtnh_hops != first->rtnh_hops;
		left -= RTNH_ALIGN(rtnh->rtnh_len);
		rtnh = RTNH_NEXT(rtnh);
	}
	d->sw->routes.weighted += weighted;
}

static void add_nexthops(const struct dump *d, struct csw_route *route, const struct rtmsg *rtm,
			 const struct nlattr **tb)
{
	if (tb[RTA_MULTIPATH]) {
		add_multipath(d, route, tb[RTA_MULTIPATH]);
	} else if (tb[RTA_OIF]) {
		if (!(rtm->rtm_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)))
			add_one(d->sw, route, mnl_attr_get_u32(tb[RTA_OIF]), tb);
	} else if (tb[RTA_NH_ID]) {
		add_object(d, route, mnl_attr_get_u32(tb[RTA_NH_ID]));
	}
}

/* Rank of a table in the order in which the default rules use them; -1: they do not use it */
static int table_rank(uint32_t table)
{
	switch (table) {
	case RT_TABLE_LOCAL:
		return 0;
	case RT_TABLE_MAIN:
		return 1;
	case RT_TABLE_DEFAULT:
		return 2;
	}
	return -1;
}

static int route_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[RTA_MAX + 1];
	struct dump *d = arg;
	struct route *r;
	void *more;
	int rank;

	rtnl_attrs(nlh, sizeof(*rtm), tb, RTA_MAX);
	rank = table_rank(tb[RTA_TABLE] ? mnl_attr_get_u32(tb[RTA_TABLE]) : rtm->rtm_table);
	if (rtm->rtm_family != AF_INET || rank < 0 || rtm->rtm_tos || rtm->rtm_type == RTN_THROW ||
	    rtm->rtm_flags & RTM_F_CLONED)
		return MNL_CB_OK;
	more = grow(d->route, d->n, &d->room, sizeof(*d->route));
	if (!more)
		return MNL_CB_ERROR;
	d->route = more;
	r = &d->route[d->n];
	memset(r, 0, sizeof(*r));
	r->key.prefixlen = CANARY_ADDR_IP4_START + rtm->rtm_dst_len;
	r->key.addr = canary_addr_of_ip4(tb[RTA_DST] ? mnl_attr_get_u32(tb[RTA_DST]) : 0);
	r->rank = rank;
	r->metric = tb[RTA_PRIORITY] ? mnl_attr_get_u32(tb[RTA_PRIORITY]) : 0;
	r->order = d->n++;
	if (rtm->rtm_type == RTN_UNICAST)
		add_nexthops(d, &r->value, rtm, tb);
	r->value.kind = rtm->rtm_type == RTN_LOCAL ? CSW_ROUTE_LOCAL :
			r->value.nexthops ? CSW_ROUTE_UNICAST : CSW_ROUTE_OTHER;
	return MNL_CB_OK;
}

/* Store all members of a group. Which of them are alive is known when all objects are read. */
static int learn_group(struct dump *d, struct nexthop_object *o, const struct nlattr *group)
{
	const struct nexthop_grp *grp = mnl_attr_get_payload(group);
	size_t n = mnl_attr_get_payload_len(group) / sizeof(*grp), i;
	void *more;

	o->member = d->members;
	for (i = 0; i < n; i++) {
		more = grow(d->member, d->members, &d->member_room, sizeof(*d->member));
		if (!more)
			return MNL_CB_ERROR;
		d->member = more;
		d->member[d->members++] = grp[i].id;
		o->members++;
		o->weighted |= grp[i].weight != grp[0].weight;
	}
	return MNL_CB_OK;
}

static int object_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nhmsg *nhm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[NHA_MAX + 1];
	struct nexthop_object *o;
	struct dump *d = arg;
	void *more;

	rtnl_attrs(nlh, sizeof(*nhm), tb, NHA_MAX);
	more = grow(d->object, d->objects, &d->object_room, sizeof(*d->object));
	if (!more || !tb[NHA_ID])
		return MNL_CB_ERROR;
	d->object = more;
	o = &d->object[d->objects++];
	memset(o, 0, sizeof(*o));
	o->id = mnl_attr_get_u32(tb[NHA_ID]);
	if (tb[NHA_GROUP])
		return learn_group(d, o, tb[NHA_GROUP]);
	if (!tb[NHA_OIF] || tb[NHA_BLACKHOLE] || tb[NHA_ENCAP] ||
	    nhm->nh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN))
		return MNL_CB_OK;
	o->hop.ifindex = mnl_attr_get_u32(tb[NHA_OIF]);
	o->usable = tb[NHA_GATEWAY] ?
		    take_gateway(&o->hop, nhm->nh_family, mnl_attr_get_payload(tb[NHA_GATEWAY]),
				 mnl_attr_get_payload_len(tb[NHA_GATEWAY])) :
		    nhm->nh_family == AF_INET;
	return MNL_CB_OK;
}

static int dump_once(struct dump *d)
{
	struct nhmsg nhm = { .nh_family = AF_UNSPEC };
	struct rtmsg rtm = { .rtm_family = AF_INET };
	int ret;

	d->n = 0;
	d->objects = 0;
	d->members = 0;
	d->sw->routes.cut = 0;
	d->sw->routes.weighted = 0;
	ret = rtnl_dump(&d->sw->rtnl, RTM_GETNEXTHOP, &nhm, sizeof(nhm), object_cb, d);
	if (ret && ret != -EOPNOTSUPP)
		return ret;
	return rtnl_dump(&d->sw->rtnl, RTM_GETROUTE, &rtm, sizeof(rtm), route_cb, d);
}

static int compare_keys(const struct csw_route_key *a, const struct csw_route_key *b)
{
	if (a->prefixlen != b->prefixlen)
		return a->prefixlen < b->prefixlen ? -1 : 1;
	return canary_addr_compare(&a->addr, &b->addr);
}

static int compare_routes(const void *pa, const void *pb)
{
	const struct route *a = pa, *b = pb;
	int ret = compare_keys(&a->key, &b->key);

	if (!ret && a->rank != b->rank)
		ret = a->rank < b->rank ? -1 : 1;
	if (!ret && a->metric != b->metric)
		ret = a->metric < b->metric ? -1 : 1;
	if (!ret && a->order != b->order)
		ret = a->order < b->order ? -1 : 1;
	return ret;
}

/* Sort, and of several routes for one prefix keep the one that the kernel would use. */
static void choose(struct dump *d)
{
	size_t i, n = 0;

	if (d->n)
		qsort(d->route, d->n, sizeof(*d->route), compare_routes);
	for (i = 0; i < d->n; i++)
		if (!n || compare_keys(&d->route[n - 1].key, &d->route[i].key))
			d->route[n++] = d->route[i];
	d->n = n;
}

static const struct route *find_route(const struct dump *d, const struct csw_route_key *key)
{
	size_t low = 0, high = d->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (compare_keys(&d->route[mid].key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n && !compare_keys(&d->route[low].key, key) ? &d->route[low] : NULL;
}

/* Without this route, would the data plane send packets for @key to somewhere else? */
static bool misleads(const struct dump *d, const struct csw_route_key *key)
{
	struct csw_route_key shorter = *key;
	const struct route *r = NULL;

	while (!r && shorter.prefixlen-- > 0) {
		canary_addr_cut(&shorter.addr, shorter.prefixlen);
		r = find_route(d, &shorter);
	}
	return r && r->value.kind != CSW_ROUTE_LOCAL && r->value.kind != CSW_ROUTE_OTHER;
}

static bool map_delete(struct switchd *sw, const struct csw_route_key *key)
{
	int ret = bpf_map_delete_elem(sw->dp.routes_fd, key);

	if (!ret || ret == -ENOENT)
		return true;
	sw_error(sw, "route map, will try again: %s", strerror(-ret));
	sw->map_errors++;
	return false;
}

/*
 * Put a route into the map. A failure counts as a change, so that it is tried again. Until then
 * packets are left to the kernel instead of going to old next hops, unless a shorter prefix would
 * take them.
 */
static bool map_put(struct switchd *sw, const struct dump *d, struct route *r, bool known)
{
	int ret = bpf_map_update_elem(sw->dp.routes_fd, &r->key, &r->value, BPF_ANY);

	if (!ret)
		return true;
	sw_error(sw, "route map, will try again: %s", strerror(-ret));
	sw->map_errors++;
	r->value.kind = 0;
	if (known && !misleads(d, &r->key))
		map_delete(sw, &r->key);
	return false;
}

/* Deleted routes may still be in the map: compare with what it really has. */
static bool prune(struct switchd *sw, const struct dump *d)
{
	struct csw_route_key key, next;
	bool all = true;
	int ret;

	ret = bpf_map_get_next_key(sw->dp.routes_fd, NULL, &key);
	while (!ret) {
		ret = bpf_map_get_next_key(sw->dp.routes_fd, &key, &next);
		if (!find_route(d, &key))
			all &= map_delete(sw, &key);
		key = next;
	}
	if (ret == -ENOENT)
		return all;
	/* going on takes memory, too, so this is not the end of the map */
	sw_error(sw, "route map, will try again: %s", strerror(-ret));
	sw->map_errors++;
	return false;
}

/* Both lists are sorted. Put what is new or changed, then delete what is gone. */
static bool apply(struct switchd *sw, struct dump *d)
{
	const struct routes *old = &sw->routes;
	size_t i = 0, j = 0;
	bool all = true, gone;
	int cmp;

	while (j < d->n) {
		cmp = i < old->n ? compare_keys(&old->route[i].key, &d->route[j].key) : 1;
		if (cmp > 0 || (!cmp && memcmp(&old->route[i].value, &d->route[j].value,
					       sizeof(old->route[i].value))))
			all &= map_put(sw, d, &d->route[j], !cmp);
		i += cmp <= 0;
		j += cmp >= 0;
	}
	gone = !old->unsure || prune(sw, d);
	for (i = 0, j = 0; i < old->n;) {
		cmp = j < d->n ? compare_keys(&old->route[i].key, &d->route[j].key) : -1;
		if (cmp < 0)
			gone &= map_delete(sw, &old->route[i].key);
		i += cmp <= 0;
		j += cmp >= 0;
	}
	sw->routes.unsure = !gone;
	return all && gone;
}

/* Ask for all hosts of a small on-link network. */
static void want_hosts(struct switchd *sw, const struct csw_route_key *net, uint32_t ifindex)
{
	uint32_t bits = CANARY_ADDR_BITS - net->prefixlen, first, last, host;
	struct canary_addr addr;

	if (bits > HOST_BITS)
		return;
	first = ntohl(canary_addr_ip4(&net->addr));
	last = first | ((1U << bits) - 1);
	if (bits > 1) {
		first++;
		last--;
	}
	for (host = first; host - first <= last - first; host++) {
		addr = canary_addr_of_ip4(htonl(host));
		neigh_want(sw, ifindex, &addr);
	}
}

/* Ask for the neighbours that routes name, and for those in small on-link networks. */
static void want_neighbours(struct switchd *sw)
{
	const struct csw_nexthop *hop;
	const struct route *r;
	unsigned int i;
	size_t n;

	neigh_want_begin(sw);
	for (n = 0; n < sw->routes.n; n++) {
		r = &sw->routes.route[n];
		for (i = 0; i < r->value.nexthops; i++) {
			hop = &r->value.nexthop[i];
			if (canary_addr_is_zero(&hop->gateway))
				want_hosts(sw, &r->key, hop->ifindex);
			else
				neigh_want(sw, hop->ifindex, &hop->gateway);
		}
	}
	neigh_want_end(sw);
}

/*
 * Report what the data plane does not do as the kernel would, when that changes. `show` has it,
 * too.
 */
static void tell(struct switchd *sw)
{
	struct routes *r = &sw->routes;

	if (r->cut && r->cut != r->cut_told)
		sw_warn(sw, "%u next hops are not used: of a route only the first %d are", r->cut,
			CSW_NEXTHOPS_MAX);
	if (r->weighted && r->weighted != r->weighted_told)
		sw_warn(sw, "%u routes have next hops of different weights: all get the same share",
			r->weighted);
	r->cut_told = r->cut;
	r->weighted_told = r->weighted;
}

void routes_event(struct switchd *sw)
{
	sw->routes.dirty = true;
}

int routes_sync(struct switchd *sw)
{
	struct dump d = { .sw = sw };
	uint64_t start = sw_now(), took;
	int ret = -EINTR, i;
	bool all;

	sw->routes.dirty = false;
	for (i = 0; i < DUMP_RETRIES && ret == -EINTR; i++)
		ret = dump_once(&d);
	free(d.object);
	free(d.member);
	if (ret) {
		sw_warn(sw, "cannot read the routes, will try again: %s", strerror(-ret));
		free(d.route);
		sw->routes.dirty = true;
		sw->routes.not_before = sw_now() + 100 * SPACING_MIN_NS;
		return ret;
	}
	tell(sw);
	choose(&d);
	if (d.n > sw->dp.routes_max) {
		/* with only a part of the routes, packets would go the wrong way */
		if (!sw->routes.overflow)
			sw_error(sw, "%zu routes, room for %u: packets are left to the kernel",
				 d.n, sw->dp.routes_max);
		d.n = 0;
	}
	sw->routes.overflow = !d.n && d.room;
	all = apply(sw, &d);
	free(sw->routes.route);
	sw->routes.route = d.route;
	sw->routes.n = d.n;
	sw->routes.syncs++;
	want_neighbours(sw);
	took = sw_now() - start;
	sw->routes.not_before = sw_now() + (took * 9 > SPACING_MIN_NS ? took * 9 : SPACING_MIN_NS);
	if (!all) {
		sw->routes.dirty = true;
		sw->routes.not_before = sw_now() + 100 * SPACING_MIN_NS;
	}
	return 0;
}

void routes_free(struct switchd *sw)
{
	free(sw->routes.route);
	sw->routes.route = NULL;
	sw->routes.n = 0;
}
