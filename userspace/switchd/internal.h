/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the switch daemon, and what they do for each other. The main thread owns everything.
 * The clock thread only touches struct clock and the mapped data plane.
 */
#ifndef CANARY_SWITCHD_INTERNAL_H
#define CANARY_SWITCHD_INTERNAL_H

#include <pthread.h>
#include <stdio.h>

#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <sys/un.h>

#include "switchd.h"

struct canary_switch;
struct qdisc;
struct ring_buffer;
struct switchd;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* log.c: standard error */
__attribute__((format(printf, 2, 3)))
void sw_error(const struct switchd *sw, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void sw_warn(const struct switchd *sw, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void sw_info(const struct switchd *sw, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void sw_debug(const struct switchd *sw, const char *fmt, ...);

/* rtnl.c: rtnetlink requests and notifications */
struct rtnl {
	struct mnl_socket *ask;		/* for requests and dumps; blocking */
	struct mnl_socket *hear;	/* for notifications; non-blocking */
	unsigned int seq;
};

int rtnl_open(struct rtnl *nl);
/* Limit how long to wait for an answer. rtnl_why() then says why nothing was received. */
int rtnl_limit(struct mnl_socket *nl);
int rtnl_why(void);
void rtnl_close(struct rtnl *nl);
/* Send @nlh and give each answer to @cb, which may be NULL. Return: 0 or -errno */
int rtnl_talk(struct rtnl *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg);
/*
 * Request a dump. @size bytes of the family's header @header, which is zeroed, follow the netlink
 * header.
 */
int rtnl_dump(struct rtnl *nl, uint16_t type, const void *header, size_t size, mnl_cb_t cb,
	      void *arg);
/* Collect attributes by type: those of a message behind @offset, or those inside @nest. */
void rtnl_attrs(const struct nlmsghdr *nlh, size_t offset, const struct nlattr **tb, int max);
void rtnl_attrs_nested(const struct nlattr *nest, const struct nlattr **tb, int max);

/* dataplane.c: the loaded programs and maps */
struct dataplane {
	struct canary_switch *skel, *skel_long;
	struct csw_config *config;
	struct csw_queue_ctl *queue_ctl;
	const struct csw_queue_entry *queue;
	const struct csw_descriptor *descriptors;
	const struct csw_fan_in *fan_ins;
	size_t descriptor_size;		/* distance of two descriptors in the map */
	size_t queue_bytes, descriptors_bytes, fan_ins_bytes;
	uint32_t slots, queues, queue_len;
	int xdp_fd, tc_fd, flush_fd;
	int xdp_long_fd;		/* negative: not loaded yet */
	int ports_fd, devmap_fd, routes_fd, neighbours_fd, counters_fd, wake_fd, admissions_fd;
	int fan_in_config_fd, vlans_fd, groups_fd, wanted_fd;
	int copy_fd;			/* the program at the egress of ports with groups */
	uint64_t crowded;		/* lacked room for a child, as last reported */
	uint32_t routes_max, neighbours_max, ports_max;
};

int dataplane_load(struct switchd *sw);
void dataplane_unload(struct switchd *sw);
/*
 * Load the program for drivers that need several pages for a packet, when the first one comes.
 * Return: -errno if that fails
 */
int dataplane_long(struct switchd *sw);
/* Change the secret. Cookies are valid for one to two ticks. Also report what went wrong. */
void dataplane_tick(struct switchd *sw);
/* Write the values of @sw->now one by one. A packet may meet old and new ones. */
void dataplane_set(struct switchd *sw);

/* dataplane_read.c: reading it */
/* Size of the maps that depend on options */
size_t dataplane_memory(const struct dataplane *dp);
uint64_t dataplane_timeout(const struct dataplane *dp);
/*
 * Number of blocks that are held, and of those whose result may come at any moment, as of @since
 * (ns)
 */
struct holding {
	uint32_t collecting, sent;
};

struct holding dataplane_holding(const struct dataplane *dp, uint64_t since);
static inline const struct csw_descriptor *dataplane_slot(const struct dataplane *dp, uint32_t i)
{
	return (const void *)((const char *)dp->descriptors + (size_t)i * dp->descriptor_size);
}

/* Is it soft state that has not expired at @now? */
static inline bool dataplane_in_use(const struct dataplane *dp, const struct csw_descriptor *d,
				    uint64_t now)
{
	uint64_t born = __atomic_load_n(&d->born, __ATOMIC_RELAXED);

	return d->state != CSW_FREE && (born >= now || now - born <= dp->config->lifetime_ns);
}

/* What the discipline says waits, for an entry that had @said bytes and no event since @changed */
struct backlog_word {
	uint32_t said;			/* 0: never asked */
	uint32_t waiting;
	uint64_t changed;
	uint32_t missed;		/* how often the discipline disagreed */
};

/* port.c: a device of the switch */
#define IFF_CARRIER	0x10000		/* IFF_LOWER_UP, which <net/if.h> lacks */

enum port_tags {
	TAGS_UNKNOWN,
	TAGS_SEEN,	/* XDP sees frames with their VLAN tags */
	TAGS_HIDDEN,
};

#define DEVICE_KIND	16

enum port_peer {
	PEER_NONE,	/* the port is no veth, or not looked at yet */
	PEER_OK,	/* takes redirected frames */
	PEER_DEAF,	/* neither GRO nor XDP: redirected frames vanish */
	PEER_UNKNOWN,	/* it is in a namespace that cannot be opened */
};

struct port {
	const struct switchd_port_option *option;
	enum csw_mode mode;
	unsigned int ifindex;		/* 0: the device is not there */
	uint32_t mtu;
	uint32_t txqlen;		/* packets */
	uint64_t rate;			/* bytes a second, 0: unknown */
	uint32_t queue;			/* bytes that may wait to be sent, 0: unknown */
	struct backlog_word word;
	uint32_t flags;			/* IFF_* */
	uint16_t type;			/* ARPHRD_* */
	uint8_t mac[ETH_ALEN];
	char kind[DEVICE_KIND];		/* "veth", ... */
	unsigned int master;		/* ifindex of a bond, bridge, VRF, ...; 0: none */
	char master_kind[DEVICE_KIND];
	unsigned int peer_ifindex;	/* of a VLAN: the device below it */
	int peer_nsid;			/* -1: this namespace */
	struct csw_vlan_key vlan;	/* its tag at the device below; 0: it is no VLAN */
	struct csw_vlan_key vlan_put;	/* what the data plane has of @vlan */
	enum port_peer peer;
	enum port_tags tags;
	bool tags_off;			/* rxvlan is off, by us or by others */
	uint8_t rx_was, tx_was;		/* features switched off here and at the other end */
	uint8_t tags_looks;		/* number of looks since the last tick */
	bool features_known;
	uint64_t features;		/* DRIVER_* */
	int xdp_link;			/* fd of the bpf_link, or -1 */
	bool xdp_native;
	bool tc_attached;
	bool qdisc_ours;
	uint64_t key;			/* see struct csw_port */
	bool copies;			/* it is in groups, or was */
	bool dirty;			/* the data plane lacks a change */
	unsigned int stale;		/* former ifindex that is still in the data plane */
	uint8_t wait, backoff;		/* ticks until the next attempt to use it */
};

struct port *port_by_ifindex(struct switchd *sw, unsigned int ifindex);
struct port *port_by_name(struct switchd *sw, const char *name);
/* Read a link message. */
void port_learn(struct port *port, const struct nlmsghdr *nlh, const struct nlattr **tb);

/* publish.c: what the data plane knows of a port */
int port_publish(struct switchd *sw, struct port *port);
/* Remove the port from the data plane. The tick tries again if that fails. */
void port_withdraw(struct switchd *sw, struct port *port);
/* Remove a former ifindex of a port. Return: 0, or -errno if something is left */
int port_number_withdraw(struct switchd *sw, unsigned int ifindex);

/* ports.c: ports come, change, go and come back */
int ports_find(struct switchd *sw);
void ports_link_event(struct switchd *sw, const struct nlmsghdr *nlh);
int ports_resync(struct switchd *sw);
void ports_tick(struct switchd *sw);

/* backlog.c: what waits at the ports */
#define BACKLOG_LINKS	3

struct backlog {
	uint64_t netns;			/* cookie of our namespace; 0: it is not known what waits */
	int map_fd;
	int link[BACKLOG_LINKS];	/* held, so that the kernel keeps the programs */
};

void backlog_open(struct switchd *sw);
void backlog_close(struct switchd *sw);
/*
 * Bytes that may wait at the egress of a port, from its @qdisc or, if that does not say, from what
 * else is known
 */
uint32_t backlog_limit_by(const struct port *port, const struct qdisc *qdisc);
uint32_t backlog_limit(struct switchd *sw, const struct port *port);
void backlog_watch(struct switchd *sw, const struct port *port);
void backlog_forget(struct switchd *sw, const struct port *port);
bool backlog_read(struct switchd *sw, const struct port *port, struct csw_backlog *b);
/* Has an entry said for too long that something waits? */
bool backlog_stale(struct switchd *sw);
void backlog_ask(struct switchd *sw, const struct qdisc *qdisc, uint64_t since);

/* qdisc.c: queueing disciplines of the ports */
struct qdisc {
	bool queues;			/* one of them can hold packets back */
	bool classes;			/* that have rates */
	uint64_t bytes;			/* that may wait; 0: they do not say */
	uint64_t rate;			/* bytes a second, 0: none shapes */
	uint32_t waiting;		/* bytes that wait now */
};

/* Read those of all ports. @qdisc has SWITCHD_PORTS_MAX elements. Return: 0 or -errno */
int qdiscs_read(struct switchd *sw, struct qdisc *qdisc);
/* @rate is set only if the result is 0. */
int qdisc_rate(struct switchd *sw, const struct port *port, const struct qdisc *qdisc,
	       uint64_t *rate);

/* qdisc_poll.c: when they are read */
/* Read the rates now, before they are shown, unless that was just done. */
void qdiscs_rates(struct switchd *sw);
void qdiscs_show(struct switchd *sw);
void qdiscs_tick(struct switchd *sw);

/* timeout.c: bounds that follow the rates of the ports, if none are configured */
void timeout_rates(struct switchd *sw, const struct qdisc *qdisc);
bool timeout_follow(struct switchd *sw);	/* in @sw->now. Return: have they changed? */
void timeout_tick(struct switchd *sw);

/* device.c: what a device is, and whether it can be a port */
int device_refuse(struct switchd *sw, const struct port *port);
int device_refuse_captive(struct switchd *sw, const struct port *port);
/*
 * Do its packets go to another device, or into a VRF? Then the data plane leaves them alone, or
 * drops them.
 */
bool device_captive(const struct port *port);
void device_tell_captive(struct switchd *sw, const struct port *port);

/* offload.c: VLAN tags have to be where XDP sees them */
/* Return: 0, or -errno if the device must not be a port like that */
int port_want_tags(struct switchd *sw, struct port *port);
void ports_want_tags(struct switchd *sw);
/* Restore the features that it had before. */
void port_leave_tags(struct switchd *sw, struct port *port);
/* Return: 0, or -1 and a message why rules would not be safe */
int ports_refuse_hidden(struct switchd *sw, char *err, size_t len);

/* vlan.c: VLANs of ports that are ports themselves */
void port_vlan_learn(struct port *port, const struct nlattr *data);
/* Update the data plane. It knows the VLAN while its program is @attached. */
void port_vlan_sync(struct switchd *sw, struct port *port, bool attached);

/* driver.c: what a driver can do, if the kernel tells. Return: 0 or -errno */
#define DRIVER_NDO_XMIT	4	/* takes redirected frames */

int driver_features(const struct port *port, uint64_t *features);

/* attach.c: programs on ports */
int port_attach(struct switchd *sw, struct port *port);
bool port_is_attached(const struct port *port);
void port_detach(struct switchd *sw, struct port *port);
int port_refuse_taken(struct switchd *sw, const struct port *port);

/* peer.c: does the other end of a veth take redirected frames? */
void ports_check_peers(struct switchd *sw, bool all, bool warn);
/*
 * Open a socket in the namespace of a veth's other end, and find its @name there. Return: -1 if
 * that is not possible
 */
int peer_socket(struct switchd *sw, const struct port *port, char name[IFNAMSIZ]);

/* namespaces.c: the namespaces at the other ends of veths */
struct namespaces {
	struct {
		int nsid, fd;
	} found[SWITCHD_PORTS_MAX];
	unsigned int n;
	bool searched;			/* the search is done; what it did not find is not there */
};

/* Return: a socket of the namespace with that number (-1: of this one), or -1 */
int namespace_socket(struct switchd *sw, int nsid);
void namespaces_forget(struct switchd *sw);

/* checks.c: what else a switch needs from its machine */
int check_privileges(struct switchd *sw);
int check_address(struct switchd *sw);
void check_sysctls(struct switchd *sw);
void check_rules(struct switchd *sw);

/* routes.c: the kernel's routing table in the data plane */
struct route {
	struct csw_route_key key;
	uint32_t rank;			/* rank of its table, then its place in the dump */
	uint32_t metric;
	uint32_t order;
	struct csw_route value;
};

struct routes {
	struct route *route;
	size_t n;
	bool dirty;
	bool overflow;
	bool unsure;			/* the map may still have deleted routes */
	uint64_t not_before;		/* time of the next dump, ns */
	uint64_t syncs;
	uint32_t cut, cut_told;		/* next hops beyond the limit; last reported */
	uint32_t weighted, weighted_told;	/* routes with weights; last reported */
};

void routes_event(struct switchd *sw);
int routes_sync(struct switchd *sw);
void routes_free(struct switchd *sw);

/* neigh.c: usable neighbours in the data plane */
struct neigh {
	struct neigh *next;
	struct csw_neigh_key key;
	struct csw_neigh value;
	uint16_t state;			/* NUD_*; 0: the kernel does not have it */
	bool usable;
	bool in_map;
	bool dirty;			/* the map lacks a change */
	bool seen;			/* it was in the present dump */
	bool wanted;			/* it is a next hop: keep it resolved */
	uint8_t wait, backoff;		/* ticks until the next attempt */
};

#define NEIGH_BUCKETS	256

struct neighbours {
	struct neigh *bucket[NEIGH_BUCKETS];
	uint32_t n, in_map;
	bool told;			/* the error of the map was reported */
	uint64_t moved;			/* bytes that the data plane had sent at the last tick */
	bool ip6;			/* some next hops have IPv6 addresses, ... */
	bool fresh;			/* ... and some of these were not read yet */
};

int neigh_sync(struct switchd *sw);
void neigh_event(struct switchd *sw, const struct nlmsghdr *nlh);
/*
 * Called by routes.c: forget which neighbours are wanted, name each of them, then ask for those
 * that are missing.
 */
void neigh_want_begin(struct switchd *sw);
void neigh_want(struct switchd *sw, unsigned int ifindex, const struct canary_addr *addr);
void neigh_want_end(struct switchd *sw);
void neigh_tick(struct switchd *sw);
void neigh_free(struct switchd *sw);

/* admission.c: whose packets make the switch act */
struct admitted {
	struct csw_admission_key key;
	struct csw_admission value;
};

struct admissions {
	struct admitted *entry;		/* sorted by key */
	size_t n;
	uint32_t last_id;		/* number of the latest entry */
	bool dirty;			/* the map lacks changes */
};

/* Would admission_set() take @a? */
int admission_try(struct switchd *sw, const struct switchd_admission *a, char *err, size_t len);
/* Take over all of @a. Otherwise write the reason to @err and leave everything as it is. */
int admission_set(struct switchd *sw, const struct switchd_admission *a, char *err, size_t len);
/* Called when a port has come or gone. */
void admission_follow(struct switchd *sw);
void admission_tick(struct switchd *sw);
void admission_free(struct switchd *sw);

/* share.c: how many slots the sources of an admission entry hold */
struct share {
	const struct admitted *entry;
	uint32_t slots;
};

/* Return: how many entries hold slots. @shares has the largest first. The caller frees it. */
size_t shares_read(struct switchd *sw, struct share **shares);
void share_text(struct switchd *sw, const struct share *share, char *text, size_t len);

/* groups.c: ports that results are broadcast to */
struct groups {
	struct {
		uint64_t key;
		uint64_t made_at;
		struct csw_want want;
	} group[CSW_GROUPS];
	unsigned int n;
	uint64_t look_at;		/* time of the next look at what is wanted */
	bool anew;			/* counts begin anew with the next look */
	bool told;			/* an error was reported */
};

void groups_tick(struct switchd *sw);
/* Make groups that are wanted, if it is time. Return: when to call it again */
uint64_t groups_settle(struct switchd *sw);

/* fan_in.c: configured fan-ins */
struct configured_fan_in {
	struct csw_route_key key;
	uint32_t expect;
};

struct configured_fan_ins {
	struct configured_fan_in entry[CSW_FAN_IN_CONFIG_MAX];	/* what the map has */
	unsigned int n;
	bool dirty;			/* the map lacks changes */
};

/* Make the data plane have the fan-ins of @o. Return: 0, or -errno if it only has some of them */
int fan_in_set(struct switchd *sw, const struct switchd_options *o);
void fan_in_tick(struct switchd *sw);

/* clock.c: emits what is due and was not carried away by traffic */
struct clock {
	pthread_t thread;
	bool running;
	bool stop;			/* atomic: end the thread */
	bool drain;			/* atomic: take no blocks, send on what is held */
	bool failed;			/* BPF_PROG_RUN failed; repeated until it succeeds */
	uint64_t beat_at;		/* time of the next beat */
	uint64_t turned;		/* atomic: last turn of the main loop, ns */
	uint32_t tail;			/* of all queues, at the last look */
	uint64_t moved_at;		/* when a look last found that it had moved */
	bool quiet;			/* no block has begun for the shortest timeout */
	uint32_t ingress;		/* atomic: device that live frames pretend to come from */
	int epoll, stop_fd;
	struct ring_buffer *wake;
	uint64_t wakeups;		/* atomic: number of sleeps */
	uint64_t frames;		/* atomic: runs of the flush program */
	uint64_t errors;		/* atomic: failures of BPF_PROG_RUN */
	int last_error;			/* atomic: errno of the latest failure */
	uint64_t errors_told;		/* errors that were reported; used by the main thread */
};

int clock_start(struct switchd *sw);
void clock_stop(struct switchd *sw);
/* Take no new blocks from now on, and send those that are held at once. */
void clock_drain(struct switchd *sw);
/* Are new blocks taken? */
bool clock_works(struct switchd *sw);
/* Read one of wakeups, frames and errors. */
static inline uint64_t clock_count(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

void clock_tick(struct switchd *sw);
/* Say that the main thread does not hang. */
void clock_turned(struct switchd *sw);
void clock_choose_ingress(struct switchd *sw);

/* counters.c */
struct counters {
	uint64_t counter[CSW_COUNTER_COUNT];
	uint64_t drop[64];
	unsigned int drops;
};

int counters_read(struct switchd *sw, struct counters *c);
uint64_t counters_read_one(struct switchd *sw, enum csw_counter which);
const char *counter_name(unsigned int i);
const char *counter_help(unsigned int i);
const char *drop_name(unsigned int i);
const char *drop_help(unsigned int i);

/* control.c: the UNIX socket */
#define CONTROL_CLIENTS	16
#define CONTROL_TAG	0x100		/* epoll data of client 0; the others follow */

struct control_client {
	int fd;				/* 0: none */
	uid_t uid;
	bool owner;			/* it may change settings */
	bool waits;			/* it was put off */
	uint64_t until;			/* it has to ask before, ns */
};

struct control {
	int fd;
	char path[128];
	struct control_client client[CONTROL_CLIENTS];
	uint64_t others_at;		/* when ordinary users get the next answer, ns */
	uint64_t unanswered, unanswered_told;	/* answers not taken; last reported */
};

int control_open(struct switchd *sw);
void control_accept(struct switchd *sw);
void control_serve(struct switchd *sw, unsigned int client, uint32_t events);
uint64_t control_settle(struct switchd *sw);
void control_tick(struct switchd *sw);
void control_close(struct switchd *sw);

/*
 * settings.c: take over all of @text, which has lines "SETTING VALUE" and an empty one. Otherwise
 * write the reason to @err and leave everything as it is. @try: change nothing in any case
 */
int settings_change(struct switchd *sw, char *text, bool try, char *err, size_t len);

/* Take over all of @o that `set` can change. What it cannot has to be as it is. Return as above */
int settings_replace(struct switchd *sw, const struct switchd_options *o, char *err, size_t len);

/* reload.c: the files of --config and --rules on SIGHUP */
/* Read them again. After a mistake all stays as it is, and the log says why. */
void reload(struct switchd *sw);
/* Say which of them are missing. */
void reload_missing(struct switchd *sw, const struct switchd_options *o);

/* notify.c: the manager that started the daemon, see sd_notify(3) */
struct notify {
	struct sockaddr_un to;
	socklen_t len;
	int fd;				/* -1: there is no manager */
	bool watchdog;			/* it wants to hear from the main loop */
	bool failed;			/* the last time it could not be told, and the log says so */
};

void notify_open(struct switchd *sw);
/* Send lines "VARIABLE=VALUE". */
__attribute__((format(printf, 2, 3)))
void notify(struct switchd *sw, const char *fmt, ...);
void notify_reloading(struct switchd *sw);
void notify_tick(struct switchd *sw);
void notify_close(struct switchd *sw);

/* report.c: the state of the switch, for people and for programs */
void switch_report_text(struct switchd *sw, FILE *out);
void switch_report_json(struct switchd *sw, FILE *out);

uint64_t sw_now(void);

/**
 * struct switchd - one daemon
 * It lives as long as switchd_run(). The main thread owns everything in it but @clock.
 */
struct switchd {
	const struct switchd_options *opt;
	const struct switchd_given *given;	/* what @opt was read from */
	struct switchd_options now;	/* settings with their present values */
	char name[SWITCHD_NAME_MAX + 1];
	struct canary_addr address;
	uint64_t started;
	struct rtnl rtnl;
	struct dataplane dp;
	struct backlog backlog;
	struct port port[SWITCHD_PORTS_MAX];
	unsigned int ports;
	struct namespaces namespaces;
	struct routes routes;
	struct neighbours neighbours;
	struct switchd_admission admission;	/* present rules; at first those of @opt */
	struct admissions admissions;	/* entries that the map has */
	struct configured_fan_ins configured;	/* what the map has */
	struct groups groups;
	struct clock clock;
	struct control control;
	struct notify notify;
	int epoll, signal_fd, timer_fd, tick_fd;
	uint64_t ticks;
	bool lost;			/* notifications were lost: read everything again */
	bool asked;			/* SIGHUP asks for that */
	bool reread;			/* and for the files of settings */
	uint64_t resync_at;		/* not before this time, ns */
	uint64_t qdiscs_at, qdiscs_show_at;	/* not before these times, ns */
	uint64_t losses, resyncs;	/* how often: @lost; everything was read */
	uint64_t resyncs_told;		/* number at the last tick */
	uint64_t map_errors;		/* changes of maps that failed at the first attempt */
	bool stop;
};

#endif /* CANARY_SWITCHD_INTERNAL_H */
