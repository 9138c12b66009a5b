// SPDX-License-Identifier: BSD-2-Clause
/*
 * The control socket, /run/canary/switch-NAME.sock. A client sends one of these requests:
 *	"json\n" or "text\n": it gets the state of the switch
 *	"netns\n": it gets the inode of the switch's network namespace
 *	"set\n", lines "SETTING VALUE\n" and an empty line: it gets "ok\n" or an error message
 *	"try\n" instead of "set\n": the same, but nothing changes
 * Everybody may look. Root and the daemon's user may change settings. The main loop does not wait
 * for clients, and silent clients do not keep others out.
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
#define SILENT_NS	2000000000ULL	/* how long a client may be silent */

/* Is somebody listening at @path? */
static bool in_use(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* EAGAIN: it hangs, and its queue of waiting clients is full */
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
	unlink(sun.sun_path);	/* left by a killed daemon */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sun, sizeof(sun)) || listen(fd, SOMAXCONN)) {
		sw_error(sw, "cannot listen at %s: %s", sun.sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	/* Looking is harmless, so everybody may connect: see may_change(). */
	if (chmod(sun.sun_path, 0666))
		sw_warn(sw, "%s: %s", sun.sun_path, strerror(errno));
	c->fd = fd;
	strcpy(c->path, sun.sun_path);
	return 0;
}

/* Return: user of the client; -1 if that is unknown */
static uid_t user_of(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? (uid_t)-1 : peer.uid;
}

/* Only those who could have started the daemon may change settings. */
static bool may_change(int fd)
{
	uid_t uid = user_of(fd);

	return uid == 0 || uid == geteuid();
}

/*
 * Change settings. @text: lines "SETTING VALUE" and an empty one. @try: only say whether they would
 * be taken
 */
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
		/*
		 * An ordinary send buffer is limited by the system, which would cut the answer
		 * short.
		 */
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
 * Choose a client that has to go, not one of root's unless @all: the oldest one of the user with
 * most clients. So a user cannot drive out another one who has fewer. Return: NULL if there is none
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
 * Find a free place, or free that of a client. So nobody keeps others out by being silent. A client
 * that may change settings does not have to make room for one that may not.
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

	/* The number is limited, as other work waits. The rest comes later. */
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
 * Questions of ordinary users get a tenth of a processor. So put a client off, or let it ask again.
 * A client that is put off is not watched, so that even its end is not noticed.
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
	/* the event was for the client that had this place before */
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

/*
 * Close silent clients, and let those that were put off ask. Return: next time for that;
 * UINT64_MAX: never
 */
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
