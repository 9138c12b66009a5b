// SPDX-License-Identifier: BSD-2-Clause
/*
 * What waits at the ports: one map and one set of tracepoint programs for all switches of a
 * machine. The first switch loads them. Later ones find them by their names and hold on to them,
 * too. The kernel removes them with the last switch, however that ends. Nothing is pinned, so
 * nothing can be left behind, and no file system has to be visible in every namespace.
 *
 * The programs read how much waits from the disciplines themselves. So missed events do not matter
 * if another one follows. A switch that is killed leaves the entries of its ports. Their key is
 * never used again unless a new switch takes the same ports.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/file.h>
#include <sys/socket.h>

#include "internal.h"
#include "canary_backlog.skel.h"

#define LOCK_FILE	SWITCHD_RUN_DIR "/backlog.lock"
#define MAP_NAME	"canary_backlog"
#define VETH_RING	256		/* frames that wait at the other end of a veth */
#define FRAME_USUAL	1514

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE	71
#endif

static const char * const program_names[BACKLOG_LINKS] = {
	"backlog_enqueue", "backlog_dequeue", "backlog_refused",
};

static bool is_our_map(int fd, uint32_t *id)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return false;
	*id = info.id;
	return info.type == BPF_MAP_TYPE_HASH && !strcmp(info.name, MAP_NAME) &&
	       info.key_size == sizeof(struct csw_backlog_key) &&
	       info.value_size == sizeof(struct csw_backlog) &&
	       info.max_entries == CSW_BACKLOG_PORTS;
}

/* Return: which of the programs it is, if it uses the map @map */
static int which_program(uint32_t prog, uint32_t map)
{
	uint32_t maps[8] = { 0 }, size, i;
	struct bpf_prog_info info = { .map_ids = (uintptr_t)maps, .nr_map_ids = ARRAY_SIZE(maps) };
	int fd = bpf_prog_get_fd_by_id(prog), ret;

	if (fd < 0)
		return -1;
	size = sizeof(info);
	ret = bpf_obj_get_info_by_fd(fd, &info, &size);
	close(fd);
	for (i = 0; !ret && i < info.nr_map_ids && i < ARRAY_SIZE(maps); i++)
		if (maps[i] == map)
			break;
	if (ret || i == info.nr_map_ids || i == ARRAY_SIZE(maps))
		return -1;
	for (i = 0; i < BACKLOG_LINKS; i++)
		if (!strcmp(info.name, program_names[i]))
			return i;
	return -1;
}

static void drop(struct backlog *b)
{
	int i;

	for (i = 0; i < BACKLOG_LINKS; i++) {
		if (b->link[i] >= 0)
			close(b->link[i]);
		b->link[i] = -1;
	}
	if (b->map_fd >= 0)
		close(b->map_fd);
	b->map_fd = -1;
}

/* Find the attachments that feed the map @map. Without all of them the map is of no use. */
static bool take_links(struct backlog *b, uint32_t map)
{
	struct bpf_link_info info;
	uint32_t id = 0, size;
	int fd, which, n = 0;

	while (!bpf_link_get_next_id(id, &id)) {
		fd = bpf_link_get_fd_by_id(id);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		size = sizeof(info);
		which = -1;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) &&
		    info.type == BPF_LINK_TYPE_RAW_TRACEPOINT)
			which = which_program(info.prog_id, map);
		if (which < 0 || b->link[which] >= 0) {
			close(fd);
			continue;
		}
		b->link[which] = fd;
		n++;
	}
	return n == BACKLOG_LINKS;
}

static bool find(struct backlog *b)
{
	uint32_t id = 0, map;

	while (!bpf_map_get_next_id(id, &id)) {
		b->map_fd = bpf_map_get_fd_by_id(id);
		if (b->map_fd >= 0 && is_our_map(b->map_fd, &map) && take_links(b, map))
			return true;
		drop(b);
	}
	return false;
}

static int make(struct backlog *b)
{
	struct canary_backlog *skel = canary_backlog__open_and_load();
	int ret, i;

	if (!skel)
		return -errno;
	ret = canary_backlog__attach(skel);
	if (!ret) {
		struct bpf_link *link[BACKLOG_LINKS] = {
			skel->links.backlog_enqueue, skel->links.backlog_dequeue,
			skel->links.backlog_refused,
		};

		b->map_fd = dup(bpf_map__fd(skel->maps.canary_backlog));
		ret = b->map_fd < 0 ? -errno : 0;
		for (i = 0; i < BACKLOG_LINKS; i++) {
			b->link[i] = dup(bpf_link__fd(link[i]));
			if (b->link[i] < 0)
				ret = -errno;
		}
	}
	canary_backlog__destroy(skel);
	if (ret)
		drop(b);
	return ret;
}

/*
 * The kernel never gives this cookie to another namespace. Without it, entries of namespaces could
 * not be told apart.
 */
static uint64_t netns_cookie(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(uint64_t);
	uint64_t cookie = 0;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len))
		cookie = 0;
	if (fd >= 0)
		close(fd);
	return cookie;
}

void backlog_open(struct switchd *sw)
{
	struct backlog *b = &sw->backlog;
	int lock, ret = 0;

	b->netns = netns_cookie();
	/* switches that start at the same time must not load it twice */
	lock = open(LOCK_FILE, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (!b->netns)
		ret = -EOPNOTSUPP;
	else if (lock < 0 || flock(lock, LOCK_EX))
		ret = -errno;
	else if (!find(b))
		ret = make(b);
	if (lock >= 0)
		close(lock);
	if (!ret)
		return;
	sw_warn(sw, "what waits at the ports cannot be seen (%s): congestion goes unnoticed",
		strerror(-ret));
	b->netns = 0;
}

void backlog_close(struct switchd *sw)
{
	drop(&sw->backlog);
}

/* ---- how much may wait at a port ---- */

/* Bytes that may wait, if the disciplines do not say: as many packets as the device's queue has */
uint32_t backlog_limit_by(const struct port *port, const struct qdisc *qdisc)
{
	uint64_t bytes = qdisc->bytes;

	if (qdisc->queues && !bytes)
		bytes = (uint64_t)port->txqlen * (port->mtu + ETH_HLEN);
	if (!bytes && port->mode == CSW_FAST)
		bytes = VETH_RING * FRAME_USUAL;
	return bytes < UINT32_MAX ? bytes : UINT32_MAX;
}

uint32_t backlog_limit(struct switchd *sw, const struct port *port)
{
	struct qdisc qdisc[SWITCHD_PORTS_MAX];

	if (sw->opt->queue)
		return sw->opt->queue;
	if (!sw->backlog.netns)
		return 0;
	return qdiscs_read(sw, qdisc) ? port->queue : backlog_limit_by(port, &qdisc[port - sw->port]);
}

/* ---- entries ---- */

static struct csw_backlog_key key_of(struct switchd *sw, const struct port *port)
{
	return (struct csw_backlog_key){ .netns = sw->backlog.netns, .ifindex = port->ifindex };
}

void backlog_watch(struct switchd *sw, const struct port *port)
{
	struct csw_backlog_key key = key_of(sw, port);
	struct csw_backlog zero = { 0 };
	int ret;

	if (!key.netns)
		return;
	ret = bpf_map_update_elem(sw->backlog.map_fd, &key, &zero, BPF_NOEXIST);
	if (ret && ret != -EEXIST)
		sw_warn(sw, "port %s: what waits there cannot be seen: %s", port->option->name,
			strerror(-ret));
}

void backlog_forget(struct switchd *sw, const struct port *port)
{
	struct csw_backlog_key key = key_of(sw, port);

	if (key.netns && key.ifindex)
		bpf_map_delete_elem(sw->backlog.map_fd, &key);
}

static bool entry_read(struct switchd *sw, const struct port *port, struct csw_backlog *b)
{
	struct csw_backlog_key key = key_of(sw, port);

	return key.netns && key.ifindex && !bpf_map_lookup_elem(sw->backlog.map_fd, &key, b);
}

/*
 * The kernel may skip tracing programs, for instance in softirqs that interrupt certain processes.
 * The next event makes up for a missed one. If there is none, the entry goes on to say that
 * something waits. The data plane ignores it after a while, and here the discipline is asked. Only
 * the programs change entries, as they may be about to do so.
 */
static bool entry_stale(const struct csw_backlog *b, uint64_t now)
{
	return b->bytes && now > b->changed + CSW_BACKLOG_STALE_NS;
}

static bool word_holds(const struct port *port, const struct csw_backlog *b)
{
	return b->bytes && b->bytes == port->word.said && b->changed == port->word.changed;
}

bool backlog_stale(struct switchd *sw)
{
	struct csw_backlog b;
	unsigned int i;

	for (i = 0; i < sw->ports; i++)
		if (entry_read(sw, &sw->port[i], &b) && entry_stale(&b, sw_now()))
			return true;
	return false;
}

void backlog_ask(struct switchd *sw, const struct qdisc *qdisc, uint64_t since)
{
	struct csw_backlog b;
	struct port *port;
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port = &sw->port[i];
		if (!entry_read(sw, port, &b) || !entry_stale(&b, since))
			continue;
		port->word.missed += !word_holds(port, &b) && qdisc[i].waiting != b.bytes;
		port->word.said = b.bytes;
		port->word.changed = b.changed;
		port->word.waiting = qdisc[i].waiting;
	}
}

bool backlog_read(struct switchd *sw, const struct port *port, struct csw_backlog *b)
{
	if (!entry_read(sw, port, b))
		return false;
	if (word_holds(port, b))
		b->bytes = port->word.waiting;
	return true;
}

