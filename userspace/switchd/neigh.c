// SPDX-License-Identifier: BSD-2-Clause
/*
 * Neighbours: the map gets link-layer addresses that the kernel considers usable. The kernel does
 * all resolution. It is asked to do so (NTF_USE) for next hops, before traffic comes. It is also
 * asked for stale entries while the data plane sends, as it does not notice the packets of that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/rtnetlink.h>

#include "internal.h"

#define NUD_USABLE	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | \
			 NUD_DELAY)
#define BACKOFF_MAX	12	/* ticks between two attempts to resolve an absent next hop */
#define DUMP_RETRIES	10

static struct neigh **bucket(struct switchd *sw, const struct csw_neigh_key *key)
{
	uint32_t h = (canary_addr_fold(&key->addr) ^ key->ifindex * 0x9e3779b1U) * 0x85ebca6bU;

	return &sw->neighbours.bucket[h >> 24];
}

static struct neigh *find(struct switchd *sw, unsigned int ifindex, const struct canary_addr *addr,
			  bool make)
{
	struct csw_neigh_key key = { .ifindex = ifindex, .addr = *addr };
	struct neigh **head = bucket(sw, &key), *n;

	for (n = *head; n; n = n->next)
		if (n->key.ifindex == ifindex && canary_addr_equal(&n->key.addr, addr))
			return n;
	if (!make)
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->key = key;
	n->next = *head;
	*head = n;
	sw->neighbours.n++;
	return n;
}

static int map_delete(struct switchd *sw, struct neigh *n)
{
	int ret = n->in_map ? bpf_map_delete_elem(sw->dp.neighbours_fd, &n->key) : 0;

	if (ret && ret != -ENOENT)
		return ret;
	sw->neighbours.in_map -= n->in_map;
	n->in_map = false;
	return 0;
}

static int map_put(struct switchd *sw, struct neigh *n)
{
	int ret = bpf_map_update_elem(sw->dp.neighbours_fd, &n->key, &n->value, BPF_ANY);

	if (ret) {
		/*
		 * Packets without an entry are left to the kernel. A wrong entry would misdirect
		 * them.
		 */
		map_delete(sw, n);
		return ret;
	}
	sw->neighbours.in_map += !n->in_map;
	n->in_map = true;
	return 0;
}

/* Write the present state to the map. The next tick tries again what the map refuses. */
static void map_sync(struct switchd *sw, struct neigh *n)
{
	int ret = n->usable ? map_put(sw, n) : map_delete(sw, n);

	n->dirty = ret;
	if (!ret)
		return;
	sw->map_errors++;
	if (!sw->neighbours.told)
		sw_warn(sw, "neighbour map (room for %u), will try again: %s", sw->dp.neighbours_max,
			strerror(-ret));
	sw->neighbours.told = true;
}

static void mend(struct switchd *sw, struct neigh *n)
{
	if (n->dirty)
		map_sync(sw, n);
}

static void forget(struct switchd *sw, struct neigh **link)
{
	struct neigh *n = *link;

	*link = n->next;
	free(n);
	sw->neighbours.n--;
}

static void for_each(struct switchd *sw, void (*fn)(struct switchd *sw, struct neigh *n))
{
	struct neigh *n;
	size_t i;

	for (i = 0; i < NEIGH_BUCKETS; i++)
		for (n = sw->neighbours.bucket[i]; n; n = n->next)
			fn(sw, n);
}

/* Ask the kernel to resolve or confirm a neighbour. */
static void use(struct switchd *sw, struct neigh *n)
{
	char buf[MNL_NLMSG_HDRLEN + 64] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));
	bool ip4 = canary_addr_is_ip4(&n->key.addr);

	/* NTF_USE would make a permanent entry a temporary one. */
	if (n->state & (NUD_PERMANENT | NUD_NOARP))
		return;
	nlh->nlmsg_type = RTM_NEWNEIGH;
	nlh->nlmsg_flags = NLM_F_CREATE;
	ndm->ndm_family = ip4 ? AF_INET : AF_INET6;
	ndm->ndm_ifindex = n->key.ifindex;
	ndm->ndm_flags = NTF_USE;
	ndm->ndm_state = NUD_NONE;
	if (ip4)
		mnl_attr_put_u32(nlh, NDA_DST, canary_addr_ip4(&n->key.addr));
	else
		mnl_attr_put(nlh, NDA_DST, sizeof(n->key.addr), &n->key.addr);
	/* This fails while the device is down, for example. The next tick tries again. */
	rtnl_talk(&sw->rtnl, nlh, NULL, NULL);
}

/* Return: false if the neighbour has no address that a next hop may have */
static bool address_of(const struct ndmsg *ndm, const struct nlattr *dst, struct canary_addr *addr)
{
	size_t len = dst ? mnl_attr_get_payload_len(dst) : 0;

	if (ndm->ndm_family == AF_INET && len == sizeof(__be32))
		*addr = canary_addr_of_ip4(mnl_attr_get_u32(dst));
	else if (ndm->ndm_family == AF_INET6 && len == sizeof(*addr))
		memcpy(addr, mnl_attr_get_payload(dst), sizeof(*addr));
	else
		return false;
	/* An IPv6 neighbour ::ffff:a.b.c.d would take the place of a.b.c.d. */
	if (ndm->ndm_family == AF_INET6 && canary_addr_is_ip4(addr))
		return false;
	return !canary_addr_is_any(addr);
}

static void learn(struct switchd *sw, const struct nlmsghdr *nlh)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *tb[NDA_MAX + 1];
	bool usable, changed;
	struct canary_addr addr;
	struct neigh *n;
	bool make;

	if (!port_by_ifindex(sw, ndm->ndm_ifindex))
		return;
	rtnl_attrs(nlh, sizeof(*ndm), tb, NDA_MAX);
	if (!address_of(ndm, tb[NDA_DST], &addr))
		return;
	usable = nlh->nlmsg_type == RTM_NEWNEIGH && ndm->ndm_state & NUD_USABLE &&
		 tb[NDA_LLADDR] && mnl_attr_get_payload_len(tb[NDA_LLADDR]) == ETH_ALEN;
	/* Of IPv6, only those that are next hops are kept. */
	make = usable && canary_addr_is_ip4(&addr);
	n = find(sw, ndm->ndm_ifindex, &addr, make);
	if (!n) {
		sw->lost |= make;	/* no memory: read everything again later */
		return;
	}
	n->seen = true;
	n->state = nlh->nlmsg_type == RTM_NEWNEIGH ? ndm->ndm_state : 0;
	changed = usable != n->usable;
	n->usable = usable;
	if (usable) {
		changed |= memcmp(n->value.mac, mnl_attr_get_payload(tb[NDA_LLADDR]), ETH_ALEN);
		memcpy(n->value.mac, mnl_attr_get_payload(tb[NDA_LLADDR]), ETH_ALEN);
		n->backoff = 0;
	}
	if (changed || n->dirty)
		map_sync(sw, n);
}

void neigh_event(struct switchd *sw, const struct nlmsghdr *nlh)
{
	learn(sw, nlh);
}

static int learn_cb(const struct nlmsghdr *nlh, void *arg)
{
	learn(arg, nlh);
	return MNL_CB_OK;
}

static void unsee(struct switchd *sw, struct neigh *n)
{
	n->seen = false;
}

static void drop_unseen(struct switchd *sw, struct neigh *n)
{
	if (n->seen)
		return;
	n->state = 0;
	n->usable = false;
	map_sync(sw, n);
}

static int dump(struct switchd *sw, uint8_t family)
{
	struct ndmsg ndm = { .ndm_family = family };
	int ret = -EINTR, i;

	for (i = 0; i < DUMP_RETRIES && ret == -EINTR; i++)
		ret = rtnl_dump(&sw->rtnl, RTM_GETNEIGH, &ndm, sizeof(ndm), learn_cb, sw);
	return ret;
}

int neigh_sync(struct switchd *sw)
{
	int ret;

	for_each(sw, unsee);
	sw->neighbours.fresh = false;
	ret = dump(sw, AF_INET);
	if (!ret && sw->neighbours.ip6)
		ret = dump(sw, AF_INET6);
	if (ret) {
		sw_warn(sw, "cannot read the neighbours: %s", strerror(-ret));
		return ret;
	}
	for_each(sw, drop_unseen);
	return 0;
}

static void unwant(struct switchd *sw, struct neigh *n)
{
	n->wanted = false;
}

void neigh_want_begin(struct switchd *sw)
{
	for_each(sw, unwant);
}

void neigh_want(struct switchd *sw, unsigned int ifindex, const struct canary_addr *addr)
{
	uint32_t before = sw->neighbours.n;
	struct neigh *n = find(sw, ifindex, addr, true);

	if (!n)
		return;
	n->wanted = true;
	if (canary_addr_is_ip4(addr))
		return;
	sw->neighbours.ip6 = true;
	sw->neighbours.fresh |= sw->neighbours.n != before;
}

static void resolve(struct switchd *sw, struct neigh *n)
{
	if (!n->wanted || n->state & NUD_USABLE)
		return;
	n->backoff = n->backoff ? n->backoff : 1;
	n->wait = n->backoff;
	use(sw, n);
}

void neigh_want_end(struct switchd *sw)
{
	/* The kernel does not notify about neighbours that it already knew. */
	if (sw->neighbours.fresh && neigh_sync(sw))
		sw->lost = true;
	for_each(sw, resolve);
}

static void refresh(struct switchd *sw, struct neigh *n)
{
	if (n->state & NUD_STALE)
		use(sw, n);
}

static void retry(struct switchd *sw, struct neigh *n)
{
	if (!n->wanted || n->state & NUD_USABLE)
		return;
	if (n->wait > 1) {
		n->wait--;
		return;
	}
	n->backoff = n->backoff >= BACKOFF_MAX / 2 ? BACKOFF_MAX : n->backoff * 2;
	n->wait = n->backoff;
	use(sw, n);
}

/* Called every few seconds. */
void neigh_tick(struct switchd *sw)
{
	uint64_t moved = counters_read_one(sw, CSW_TX_BYTES);
	struct neigh **link;
	size_t i;

	sw->neighbours.told = false;
	for_each(sw, mend);
	for_each(sw, retry);
	if (moved != sw->neighbours.moved)
		for_each(sw, refresh);
	sw->neighbours.moved = moved;
	for (i = 0; i < NEIGH_BUCKETS; i++)
		for (link = &sw->neighbours.bucket[i]; *link;)
			if (!(*link)->wanted && !(*link)->state && !(*link)->in_map)
				forget(sw, link);
			else
				link = &(*link)->next;
}

void neigh_free(struct switchd *sw)
{
	struct neigh *n;
	size_t i;

	for (i = 0; i < NEIGH_BUCKETS; i++) {
		while ((n = sw->neighbours.bucket[i])) {
			sw->neighbours.bucket[i] = n->next;
			free(n);
		}
	}
}
