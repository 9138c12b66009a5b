// SPDX-License-Identifier: BSD-2-Clause
/*
 * The control socket, /run/canary/switch-NAME.sock: a client sends "json\n" or "text\n" and gets
 * the state of the switch, "netns\n" and gets the inode of its network namespace, or "set\n", lines
 * "SETTING VALUE\n" and an empty one, and gets "ok\n" or a complaint; "try\n" instead of "set\n"
 * changes nothing. Everybody may look, root and the daemon's user may change. The main loop waits
 * for no client, and clients that say nothing do not keep others out.
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
#define SILENT_NS	2000000000ULL	/* a client may say nothing for so long */

/* Is somebody listening at @path? */
static bool in_use(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* it hangs, and as many as may wait for it do */
	bool used = fd >= 0 && (!connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) ||
				errno == EAGAIN);

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
	if (fd < 0 || bind(fd, (struct sockaddr *)&sun, sizeof(sun)) || listen(fd, SOMAXCONN)) {
		sw_error(sw, "cannot listen at %s: %s", sun.sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	/* looking is harmless, so everybody may: see may_change() */
	if (chmod(sun.sun_path, 0666))
		sw_warn(sw, "%s: %s", sun.sun_path, strerror(errno));
	c->fd = fd;
	strcpy(c->path, sun.sun_path);
	return 0;
}

/* -1: nobody's */
static uid_t user_of(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? (uid_t)-1 : peer.uid;
}

/* Looking is everybody's, changing only who could have started the daemon */
static bool may_change(int fd)
{
	uid_t uid = user_of(fd);

	return uid == 0 || uid == geteuid();
}

/* @text: lines "SETTING VALUE" and an empty one. @try: only say whether they would be taken. */
static void change(struct switchd *sw, int fd, char *text, bool try, FILE *out)
{
	char err[256] = "", said[201], *p;

	if (!may_change(fd)) {
		fprintf(out, "only root changes settings\n");
		return;
	}
	snprintf(said, sizeof(said), "%.200s", text);
	for (p = said; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	if (settings_change(sw, text, try, err, sizeof(err))) {
		fprintf(out, "%s\n", err);
		return;
	}
	if (!try)
		sw_info(sw, "set: %s", said);
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
	else if (!strcmp(request, "netns\n"))
		fprintf(out, "%llu\n", (unsigned long long)switchd_netns());
	else if (!strncmp(request, "set\n", 4) || !strncmp(request, "try\n", 4))
		change(sw, fd, request + 4, *request == 't', out);
	else
		fprintf(out, "unknown request\n");
	if (!fclose(out)) {
		/* by force, or the system's limit cuts it short */
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		if (send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
			sw->control.unanswered++;
	}
	free(text);
}

static void leave(struct control_client *client)
{
	close(client->fd);
	client->fd = 0;
}

static unsigned int places_of(const struct control *c, uid_t uid)
{
	unsigned int i, n = 0;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		n += c->client[i].fd && c->client[i].uid == uid;
	return n;
}

/*
 * Of those that are not root's, or of all: the oldest of the user that has most; NULL: none. So a
 * user cannot drive out who has fewer.
 */
static struct control_client *who_goes(struct control *c, bool all)
{
	struct control_client *found = NULL, *client;
	unsigned int i, n, most = 0;

	for (i = 0; i < CONTROL_CLIENTS; i++) {
		client = &c->client[i];
		if (!client->fd || (client->owner && !all))
			continue;
		n = places_of(c, client->uid);
		if (n < most || (n == most && client->until >= found->until))
			continue;
		found = client;
		most = n;
	}
	return found;
}

/*
 * A free place, or that of who is silent: so nobody keeps others out by doing nothing. Who may
 * change settings does not make room for who may not.
 */
static struct control_client *place(struct control *c, bool owner)
{
	struct control_client *client;
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		if (!c->client[i].fd)
			return &c->client[i];
	client = who_goes(c, false);
	if (!client && owner)
		client = who_goes(c, true);
	if (client)
		leave(client);
	return client;
}

void control_accept(struct switchd *sw)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct control *c = &sw->control;
	struct control_client *client;
	unsigned int n;
	int fd;

	/* not for ever: the rest comes after what else there is to do */
	for (n = 0; n < CONTROL_CLIENTS; n++) {
		fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		client = place(c, may_change(fd));
		if (client)
			event.data.u64 = CONTROL_TAG + (client - c->client);
		if (!client || epoll_ctl(sw->epoll, EPOLL_CTL_ADD, fd, &event)) {
			close(fd);
			continue;
		}
		client->fd = fd;
		client->uid = user_of(fd);
		client->owner = may_change(fd);
		client->waits = false;
		client->until = sw_now() + SILENT_NS;
	}
}

/*
 * Questions of others get a tenth of a processor: they are put off, and asked for again later.
 * Until then nothing is heard of who asked, not even that it is gone.
 */
static bool put_off(struct switchd *sw, struct control_client *client, bool waits)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = CONTROL_TAG + (client - sw->control.client),
	};

	client->waits = waits;
	return !epoll_ctl(sw->epoll, waits ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, client->fd, &event);
}

void control_serve(struct switchd *sw, unsigned int i, uint32_t events)
{
	char request[SWITCHD_SET_MAX + 64];
	struct control *c = &sw->control;
	uint64_t start = sw_now();
	ssize_t n;

	if (i >= CONTROL_CLIENTS || !c->client[i].fd)
		return;
	if (!c->client[i].owner && events & EPOLLHUP) {
		leave(&c->client[i]);
		return;
	}
	if (!c->client[i].owner && start < c->others_at && put_off(sw, &c->client[i], true))
		return;
	n = recv(c->client[i].fd, request, sizeof(request) - 1, 0);
	/* the place was another one's when the event came */
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0) {
		request[n] = '\0';
		answer(sw, c->client[i].fd, request);
	}
	if (!c->client[i].owner)
		c->others_at = sw_now() + 9 * (sw_now() - start);
	leave(&c->client[i]);
}

/* Who says nothing goes, who was put off gets a turn. Return: when next, UINT64_MAX for never */
uint64_t control_settle(struct switchd *sw)
{
	uint64_t now = sw_now(), next = UINT64_MAX;
	struct control *c = &sw->control;
	struct control_client *client;
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++) {
		client = &c->client[i];
		if (client->fd && client->waits && c->others_at <= now) {
			client->until = now + SILENT_NS;
			if (!put_off(sw, client, false))
				leave(client);
		}
		if (client->fd && !client->waits && client->until <= now)
			leave(client);
		if (client->fd && !client->waits && client->until < next)
			next = client->until;
		if (client->fd && client->waits && c->others_at < next)
			next = c->others_at;
	}
	return next;
}

void control_tick(struct switchd *sw)
{
	struct control *c = &sw->control;

	if (c->unanswered != c->unanswered_told)
		sw_warn(sw, "clients of the control socket did not get their answers: %llu",
			(unsigned long long)(c->unanswered - c->unanswered_told));
	c->unanswered_told = c->unanswered;
}

void control_close(struct switchd *sw)
{
	struct control *c = &sw->control;
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		if (c->client[i].fd)
			leave(&c->client[i]);
	if (c->fd < 0)
		return;
	unlink(c->path);
	close(c->fd);
	c->fd = -1;
}
