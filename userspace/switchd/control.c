// SPDX-License-Identifier: BSD-2-Clause
/*
 * The control socket, /run/canary/switch-NAME.sock: a client sends "json\n" or "text\n" and
 * gets the state of the switch, or "set SETTING VALUE\n" and gets "ok\n" or a complaint. The main
 * loop never waits long for a client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "internal.h"

#define ANSWER_MAX	(1 << 20)

/* Is somebody listening at @path? */
static bool in_use(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool used = fd >= 0 && !connect(fd, (const struct sockaddr *)sun, sizeof(*sun));

	if (fd >= 0)
		close(fd);
	return used;
}

int control_open(struct switchd *sw)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct control *c = &sw->control;
	int fd;

	snprintf(sun.sun_path, sizeof(sun.sun_path), SWITCHD_RUN_DIR "/switch-%s.sock", sw->name);
	if (mkdir(SWITCHD_RUN_DIR, 0755) && errno != EEXIST) {
		sw_error(sw, "cannot make %s: %s", SWITCHD_RUN_DIR, strerror(errno));
		return -errno;
	}
	if (in_use(&sun)) {
		sw_error(sw, "a switch of that name is running already (--name gives another)");
		return -EADDRINUSE;
	}
	unlink(sun.sun_path);	/* of a killed daemon */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sun, sizeof(sun)) || listen(fd, 8)) {
		sw_error(sw, "cannot listen at %s: %s", sun.sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	/* looking is harmless, so everybody may */
	if (chmod(sun.sun_path, 0666))
		sw_warn(sw, "%s: %s", sun.sun_path, strerror(errno));
	c->fd = fd;
	strcpy(c->path, sun.sun_path);
	return 0;
}

/* Looking is everybody's, changing only who could have started the daemon */
static bool may_change(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* One of the settings that are a value each: what packets meet from now on */
static int change_value(struct switchd *sw, const char *name, const char *value, char *err,
			size_t len)
{
	static const struct {
		const char *name;
		int (*parse)(struct switchd_options *o, const char *text, char *err, size_t len);
	} settings[] = {
		{ "choice", switchd_option_choice },
		{ "flowlet", switchd_option_flowlet },
		{ "spread", switchd_option_spread },
		{ "trees", switchd_option_trees },
		{ "timeout", switchd_option_timeout },
		{ "fan-in", switchd_option_fan_in },
	};
	struct csw_config *c = sw->dp.config;
	struct switchd_options o = {
		.choice = c->choice, .flowlet_ns = c->flowlet_ns, .spread = c->spread,
		.trees = c->trees, .first_tree = c->first_tree, .timeout_ns = c->timeout_ns,
		.timeout_min = c->timeout_min, .timeout_max = c->timeout_max,
		.fan_in = c->fan_in,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings) && strcmp(settings[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(settings)) {
		snprintf(err, len, "there is no setting '%.100s'", name);
		return -1;
	}
	if (settings[i].parse(&o, value, err, len))
		return -1;
	c->flowlet_ns = o.flowlet_ns;
	c->spread = o.spread;
	c->trees = o.trees;
	c->first_tree = o.first_tree;
	c->timeout_ns = o.timeout_ns;
	c->timeout_min = o.timeout_min;
	c->timeout_max = o.timeout_max;
	if (!strcmp(name, "fan-in") && dataplane_tell_fan_ins(sw, &o)) {
		snprintf(err, len, "--fan-in: the switch does not take that");
		return -1;
	}
	/* begin anew, with what was said */
	__atomic_store_n(&sw->dp.queue_ctl->timeout, 0, __ATOMIC_RELAXED);
	c->choice = o.choice;
	return 0;
}

static int change_admission(struct switchd *sw, const char *name, const char *value, char *err,
			    size_t len)
{
	struct switchd_admission a = sw->admission;

	if (*name == 'a' ? switchd_admit(&a, value, err, len) : switchd_revoke(&a, value, err, len))
		return -1;
	return admission_set(sw, &a, err, len);
}

/* "set SETTING VALUE" */
static void change(struct switchd *sw, int fd, char *request, FILE *out)
{
	char *name = request + strlen("set "), *value, *end, err[256] = "";
	int ret;

	value = strchr(name, ' ');
	end = strchr(name, '\n');
	if (!value || !end || value + 1 >= end) {
		fprintf(out, "which setting, to what?\n");
		return;
	}
	*value++ = '\0';
	*end = '\0';
	if (!may_change(fd)) {
		fprintf(out, "only root changes settings\n");
		return;
	}
	if (!strcmp(name, "admit") || !strcmp(name, "revoke"))
		ret = change_admission(sw, name, value, err, sizeof(err));
	else
		ret = change_value(sw, name, value, err, sizeof(err));
	if (ret) {
		fprintf(out, "%s\n", err);
		return;
	}
	sw_info(sw, "%s set to %.200s", name, value);
	fprintf(out, "ok\n");
}

static void answer(struct switchd *sw, int fd, char *request)
{
	int room = ANSWER_MAX;
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	out = open_memstream(&text, &len);
	if (!out)
		return;
	if (!strcmp(request, "json\n"))
		switch_report_json(sw, out);
	else if (!strcmp(request, "text\n"))
		switch_report_text(sw, out);
	else if (!strncmp(request, "set ", 4))
		change(sw, fd, request, out);
	else
		fprintf(out, "unknown request\n");
	if (!fclose(out)) {
		/* by force, or the system's limit cuts it short */
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		if (send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
			sw_warn(sw, "a client of the control socket did not get its answer");
	}
	free(text);
}

void control_accept(struct switchd *sw)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct control *c = &sw->control;
	unsigned int i;
	int fd;

	fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	for (i = 0; i < CONTROL_CLIENTS && c->client[i]; i++)
		;
	event.data.u64 = CONTROL_TAG + i;
	if (i == CONTROL_CLIENTS || epoll_ctl(sw->epoll, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return;
	}
	c->client[i] = fd;
	c->age[i] = 0;
}

void control_serve(struct switchd *sw, unsigned int i)
{
	struct control *c = &sw->control;
	char request[SWITCHD_SET_MAX + 64];
	ssize_t n;

	if (i >= CONTROL_CLIENTS || !c->client[i])
		return;
	n = recv(c->client[i], request, sizeof(request) - 1, 0);
	if (n > 0) {
		request[n] = '\0';
		answer(sw, c->client[i], request);
	}
	close(c->client[i]);
	c->client[i] = 0;
}

/* Clients that connected and say nothing */
void control_tick(struct switchd *sw)
{
	struct control *c = &sw->control;
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++) {
		if (c->client[i] && c->age[i]++) {
			close(c->client[i]);
			c->client[i] = 0;
		}
	}
}

void control_close(struct switchd *sw)
{
	struct control *c = &sw->control;
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		if (c->client[i])
			close(c->client[i]);
	if (c->fd < 0)
		return;
	unlink(c->path);
	close(c->fd);
	c->fd = -1;
}
