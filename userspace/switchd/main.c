// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of the daemon: checks, loading, filling the maps, attaching. Then comes one epoll loop
 * for notifications, the control socket, signals and timers. At the end everything is undone in
 * reverse order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "internal.h"
#include "setting.h"

#define NS_PER_S	1000000000ULL
#define TICK_S		5
#define PEER_CHECK_TICK	1	/* by this tick, neighbouring switches have attached, too */
#define HEAR_BUFFER	32768
#define EVENTS		16
#define DRAIN_NS	(NS_PER_S / 2)	/* after SIGTERM, at most, to serve held blocks */
#define DRAIN_STEP_MS	20
#define RESYNC_MIN_NS	10000000ULL	/* least time between two reads of everything */
#define RESYNC_AGAIN_NS	NS_PER_S	/* the same after one that failed */

enum { FD_SIGNAL, FD_RTNL, FD_CONTROL, FD_TIMER, FD_TICK };

static int watch(struct switchd *sw, int fd, uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

	if (fd < 0 || epoll_ctl(sw->epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	return 0;
}

static int open_loop(struct switchd *sw)
{
	struct itimerspec tick = { .it_interval.tv_sec = TICK_S, .it_value.tv_sec = TICK_S };
	sigset_t set;
	int ret;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	sw->epoll = epoll_create1(EPOLL_CLOEXEC);
	sw->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sw->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	sw->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (sw->epoll < 0)
		return -errno;
	ret = watch(sw, sw->signal_fd, FD_SIGNAL);
	if (!ret)
		ret = watch(sw, sw->timer_fd, FD_TIMER);
	if (!ret)
		ret = watch(sw, sw->tick_fd, FD_TICK);
	if (!ret)
		ret = watch(sw, mnl_socket_get_fd(sw->rtnl.hear), FD_RTNL);
	if (!ret)
		ret = watch(sw, sw->control.fd, FD_CONTROL);
	if (!ret && timerfd_settime(sw->tick_fd, 0, &tick, NULL))
		ret = -errno;
	return ret;
}

static void close_loop(struct switchd *sw)
{
	int *fds[] = { &sw->epoll, &sw->signal_fd, &sw->timer_fd, &sw->tick_fd };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static int heard(const struct nlmsghdr *nlh, void *arg)
{
	struct switchd *sw = arg;

	switch (nlh->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		neigh_event(sw, nlh);
		break;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		ports_link_event(sw, nlh);
		routes_event(sw);
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
		check_rules(sw);
		break;
	default:	/* routes, next hops, addresses */
		routes_event(sw);
	}
	return MNL_CB_OK;
}

/* Something was not heard, so read everything again, until that succeeds. */
static void resync(struct switchd *sw)
{
	uint64_t start = sw_now(), pause;
	int ret;

	/* if notifications are lost all the time, the tick reports it */
	if (sw->asked)
		sw_info(sw, "SIGHUP: reading everything again");
	else if (sw->resyncs == sw->resyncs_told)
		sw_info(sw, "notifications were lost, reading everything again");
	sw->lost = false;
	sw->asked = false;
	sw->resyncs++;
	ret = ports_resync(sw);
	check_rules(sw);
	routes_event(sw);
	if (neigh_sync(sw) || ret)
		sw->lost = true;
	/* this may take a tenth of a processor, whatever happens to the network */
	pause = sw->lost ? RESYNC_AGAIN_NS : 9 * (sw_now() - start);
	sw->resync_at = sw_now() + (pause > RESYNC_MIN_NS ? pause : RESYNC_MIN_NS);
}

static void hear(struct switchd *sw)
{
	char buf[HEAR_BUFFER] __attribute__((aligned(8)));
	bool again = true;
	ssize_t n;

	while (again) {
		n = mnl_socket_recvfrom(sw->rtnl.hear, buf, sizeof(buf));
		if (n > 0 && mnl_cb_run(buf, n, 0, 0, heard, sw) >= MNL_CB_STOP)
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/*
		 * the queue was full (ENOBUFS), a message was longer than the buffer (ENOSPC), or
		 * worse
		 */
		again = n > 0 || errno == ENOBUFS || errno == ENOSPC;
		sw->losses++;
		sw->lost = true;
	}
}

/* Do everything that is due: clients, reading everything, routes. Set the timer to what is next. */
static void settle(struct switchd *sw)
{
	struct itimerspec when = { 0 };
	uint64_t at = control_settle(sw), look_at;

	look_at = groups_settle(sw);
	if (look_at < at)
		at = look_at;
	if (sw->reread)
		reload(sw);
	if (sw->lost && sw->resync_at <= sw_now())
		resync(sw);
	if (sw->routes.dirty && sw->routes.not_before <= sw_now())
		routes_sync(sw);
	if (sw->lost && sw->resync_at < at)
		at = sw->resync_at;
	if (sw->routes.dirty && sw->routes.not_before < at)
		at = sw->routes.not_before;
	when.it_value.tv_sec = at / NS_PER_S;
	when.it_value.tv_nsec = at % NS_PER_S;
	timerfd_settime(sw->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void clear(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		perror("timerfd");
}

static void tell_resyncs(struct switchd *sw)
{
	uint64_t n = sw->resyncs - sw->resyncs_told;

	if (n > 1)
		sw_info(sw, "notifications were lost again, everything was read %llu times more",
			(unsigned long long)n - 1);
	sw->resyncs_told = sw->resyncs;
}

static void tick(struct switchd *sw)
{
	clear(sw->tick_fd);
	tell_resyncs(sw);
	ports_tick(sw);
	neigh_tick(sw);
	admission_tick(sw);
	fan_in_tick(sw);
	clock_tick(sw);
	control_tick(sw);
	qdiscs_tick(sw);
	timeout_tick(sw);
	dataplane_tick(sw);
	notify_tick(sw);
	if (++sw->ticks == PEER_CHECK_TICK)
		ports_check_peers(sw, true, true);
	else
		ports_check_peers(sw, false, false);
	groups_tick(sw);
}

/*
 * On SIGHUP files of settings, ports, neighbours, routes and rules are read again. Other signals end
 * the daemon.
 */
static void take_signal(struct switchd *sw)
{
	struct signalfd_siginfo info;

	if (read(sw->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo != SIGHUP) {
		sw->stop = true;
		return;
	}
	sw->lost = true;
	sw->asked = true;
	sw->reread = true;
}

static void handle(struct switchd *sw, uint64_t tag, uint32_t events)
{
	switch (tag) {
	case FD_SIGNAL:
		take_signal(sw);
		break;
	case FD_RTNL:
		hear(sw);
		break;
	case FD_CONTROL:
		control_accept(sw);
		break;
	case FD_TIMER:
		clear(sw->timer_fd);
		break;
	case FD_TICK:
		tick(sw);
		break;
	default:
		control_serve(sw, tag - CONTROL_TAG, events);
	}
}

static int loop(struct switchd *sw)
{
	struct epoll_event events[EVENTS];
	int n, i;

	while (!sw->stop) {
		clock_turned(sw);
		settle(sw);
		namespaces_forget(sw);
		n = epoll_wait(sw->epoll, events, EVENTS, -1);
		if (n < 0 && errno != EINTR) {
			sw_error(sw, "epoll: %s", strerror(errno));
			return -errno;
		}
		for (i = 0; i < n; i++)
			handle(sw, events[i].data.u64, events[i].events);
	}
	return 0;
}

/*
 * Called before programs are removed. No new blocks are taken, and those that are held are sent on.
 * Their results come here and are passed on. If a result does not come while this lasts, it was
 * lost, and members will ask for it. A second signal ends this at once.
 */
static void drain_blocks(struct switchd *sw)
{
	struct pollfd pfd = { .fd = sw->signal_fd, .events = POLLIN };
	uint64_t end = sw_now() + DRAIN_NS;
	struct holding h;

	clock_drain(sw);
	sw->stop = false;
	do {
		if (poll(&pfd, 1, DRAIN_STEP_MS) > 0)
			take_signal(sw);
		h = dataplane_holding(&sw->dp, sw_now() - DRAIN_NS);
	} while (!sw->stop && (h.collecting || h.sent) && sw_now() < end);
	if (h.collecting)
		sw_warn(sw, "%u blocks could not be sent on before the end", h.collecting);
}

static void ready(struct switchd *sw)
{
	char addr[ADDRESS_TEXT];
	unsigned int i;

	printf("canary switch %s ready: address %s ports ", sw->name,
	       address_text(&sw->address, addr));
	for (i = 0; i < sw->ports; i++)
		printf("%s%s:%s%s", i ? "," : "", sw->port[i].option->name,
		       sw->port[i].mode == CSW_SHAPED ? "shaped" : "fast",
		       sw->port[i].xdp_native ? "" : ":generic");
	if (sw->now.timeout_max)
		printf(" timeout %g..%gus", sw->now.timeout_min / 1e3, sw->now.timeout_max / 1e3);
	else
		printf(" timeout %gus", sw->now.timeout_ns / 1e3);
	printf(" slots %u\n", sw->opt->slots);
	fflush(stdout);
}

/* Check everything that can be checked before anything is changed. */
static int check(struct switchd *sw)
{
	int ret;

	ret = check_privileges(sw);
	if (ret)
		return ret;
	ret = rtnl_open(&sw->rtnl);
	if (ret) {
		sw_error(sw, "cannot open rtnetlink: %s", strerror(-ret));
		return ret;
	}
	ret = control_open(sw);
	if (!ret)
		ret = ports_find(sw);
	if (!ret)
		ret = check_address(sw);
	if (!ret) {
		check_sysctls(sw);
		check_rules(sw);
	}
	return ret;
}

/* Maps have to be filled before the first packet is handled. */
static int start(struct switchd *sw)
{
	unsigned int i;
	char err[256];
	int ret;

	reload_missing(sw, sw->opt);
	if (sw->now.timeout_auto)
		qdiscs_rates(sw);
	timeout_follow(sw);
	ret = dataplane_load(sw);
	if (ret)
		return ret;
	ret = open_loop(sw);
	if (ret) {
		sw_error(sw, "cannot set up the main loop: %s", strerror(-ret));
		return ret;
	}
	for (i = 0; i < sw->ports && !ret; i++)
		ret = port_publish(sw, &sw->port[i]);
	if (!ret && admission_set(sw, &sw->opt->admission, err, sizeof(err))) {
		sw_error(sw, "%s", err);
		ret = -EINVAL;
	}
	if (!ret)
		ret = neigh_sync(sw);
	if (!ret)
		ret = routes_sync(sw);
	if (!ret)
		ret = clock_start(sw);
	for (i = 0; i < sw->ports && !ret; i++)
		ret = port_attach(sw, &sw->port[i]);
	/* Do not warn yet: the other end may be a switch that is starting, too. */
	if (!ret)
		ports_check_peers(sw, true, false);
	clock_choose_ingress(sw);
	return ret;
}

static void stop(struct switchd *sw)
{
	unsigned int i;

	for (i = 0; i < sw->ports; i++) {
		port_detach(sw, &sw->port[i]);
		backlog_forget(sw, &sw->port[i]);
	}
	namespaces_forget(sw);
	clock_stop(sw);
	close_loop(sw);
	dataplane_unload(sw);
	backlog_close(sw);
	routes_free(sw);
	neigh_free(sw);
	admission_free(sw);
	control_close(sw);
	rtnl_close(&sw->rtnl);
}

static int choose_name(struct switchd *sw)
{
	struct switchd_options host = { 0 };
	char err[256];

	if (sw->opt->name[0]) {
		strcpy(sw->name, sw->opt->name);
		return 0;
	}
	if (gethostname(sw->name, sizeof(sw->name) - 1) ||
	    option_name(&host, sw->name, err, sizeof(err))) {
		strcpy(sw->name, "?");
		sw_error(sw, "the host's name does not do as a name: give --name");
		return -EINVAL;
	}
	return 0;
}

int switchd_run(const struct switchd_options *o, const struct switchd_given *given)
{
	struct switchd sw = {
		.opt = o,
		.given = given,
		.now = *o,
		.started = sw_now(),
		.control.fd = -1,
		.epoll = -1, .signal_fd = -1, .timer_fd = -1, .tick_fd = -1,
		.backlog = { .map_fd = -1, .link = { -1, -1, -1 } },
		.clock.epoll = -1, .clock.stop_fd = -1,
	};
	int ret;

	ret = choose_name(&sw);
	if (ret)
		return 1;
	notify_open(&sw);
	ret = check(&sw);
	if (!ret)
		ret = start(&sw);
	if (!ret) {
		ready(&sw);
		notify(&sw, "READY=1\nSTATUS=switch %s, %u ports", sw.name, sw.ports);
		ret = loop(&sw);
		notify(&sw, "STOPPING=1");
		drain_blocks(&sw);
	}
	stop(&sw);
	notify_close(&sw);
	return ret ? 1 : 0;
}
