// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls by way of node leaders (node.h). Nothing waits here but node_sleep(): each rank goes on as
 * far as it can, and rings the bells of those for whom that is news.
 *
 * A chunk has a slot, in which it stays until its result is there. The result stays in its own slot
 * until all ranks of the host have taken it. Where a vector is cut does not show in results: groups
 * of floating-point numbers begin where they would without, and no chunk of a long vector is so
 * short that it is added up in another way.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node.h"

#define LOOK_EVERY	1000	/* ms: whether the other ranks live */
#define TELL		1000	/* ms that members of other hosts are given to hear of an error */
#define MORE_AFTER	250	/* us: look for another chunk while results are due */

static uint64_t now_ms(void)
{
	return cmpi_now_us() / 1000;
}

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* ---- bells ---- */

static long futex(uint32_t *at, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, at, op, value, timeout, NULL, 0);
}

static void ring(struct cmpi_node *n, unsigned int rank)
{
	struct node_seat *s = n->seat[rank];

	__atomic_add_fetch(&s->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST))
		futex(&s->bell, FUTEX_WAKE, INT_MAX, NULL);
}

/* The member rings those of all others, which ring that of the member. */
static void ring_others(struct cmpi_node *n)
{
	unsigned int i;

	for (i = 0; i < n->local; i++)
		if (i != n->own && n->seat[i])
			ring(n, i);
}

uint32_t node_bell(struct cmpi_node *n)
{
	return __atomic_load_n(&n->seat[n->own]->bell, __ATOMIC_SEQ_CST);
}

static void sleep_for_bell(struct cmpi_node *n, uint32_t bell, unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };
	struct node_seat *s = n->seat[n->own];

	__atomic_add_fetch(&s->asleep, 1, __ATOMIC_SEQ_CST);
	futex(&s->bell, FUTEX_WAIT, bell, &ts);
	__atomic_sub_fetch(&s->asleep, 1, __ATOMIC_SEQ_CST);
}

/* ---- errors ---- */

/*
 * All calls here fail from now on. The member tells the others. These only find that the member has
 * ended, each by itself.
 */
static void fail(struct cmpi_node *n, int err, const char *why)
{
	struct node_seat *member = n->seat[0];

	if (n->error)
		return;
	n->error = err;
	snprintf(n->why, sizeof(n->why), "%s", why);
	if (n->own)
		return;
	memcpy(member->why, n->why, sizeof(n->why));
	__atomic_store_n(&member->error, err, __ATOMIC_RELEASE);
	ring_others(n);
}

/* The library counts members, of which each host has one. */
static void fail_as_told(struct cmpi_node *n, int err)
{
	char why[NODE_WHY];

	snprintf(why, sizeof(why), "among the node leaders: %s", canary_errmsg());
	fail(n, err, why);
}

/*
 * Something is wrong on this host. Members of other hosts hear of it first: when this host knows,
 * the job may end.
 */
static void fail_all(struct cmpi_node *n, int err, const char *why)
{
	if (!n->own)
		cmpi_spoil(n->canary, TELL);
	fail(n, err, why);
}

static void look_for_error(struct cmpi_node *n)
{
	int err = __atomic_load_n(&n->seat[0]->error, __ATOMIC_ACQUIRE);

	if (!err || n->error)
		return;
	n->error = err;
	memcpy(n->why, n->seat[0]->why, sizeof(n->why));
	n->why[sizeof(n->why) - 1] = 0;
	ring_others(n);
}

/* A launcher ends a job of which a process has died. Where there is none, it shows here. */
static void look_for_dead(struct cmpi_node *n)
{
	uint64_t now = now_ms();
	char why[NODE_WHY];
	unsigned int i;

	if (now - n->looked < LOOK_EVERY)
		return;
	n->looked = now;
	for (i = 0; i < n->local; i++) {
		if (!n->seat[i] || !kill(n->pids[i], 0) || errno != ESRCH)
			continue;
		/* The member may have ended as its last result is here. */
		if (!i && load(&n->seat[0]->done) > n->taken)
			continue;
		snprintf(why, sizeof(why), "rank %u, process %d on this host, has ended",
			 n->ranks[i], n->pids[i]);
		fail_all(n, -EHOSTDOWN, why);
		return;
	}
}

/* ---- chunks ---- */

static size_t chunk_first(const struct node_call *c, uint64_t chunk)
{
	return (chunk - c->first) * c->each;
}

static size_t chunk_count(const struct node_call *c, uint64_t chunk)
{
	return chunk - c->first == c->chunks - 1 ? c->call.count - chunk_first(c, chunk) : c->each;
}

/* Where the chunk is in a vector that begins at @v */
static void *chunk_in(const struct node_call *c, const void *v, uint64_t chunk)
{
	return (char *)v + chunk_first(c, chunk) * canary_dtype_size(c->call.dtype);
}

static size_t chunk_bytes(const struct node_call *c, uint64_t chunk)
{
	return chunk_count(c, chunk) * canary_dtype_size(c->call.dtype);
}

/* Return: the call that has this chunk; NULL: there is none yet */
static struct node_call *call_of(const struct cmpi_node *n, uint64_t chunk)
{
	struct node_call *c;

	for (c = n->calls; c; c = c->next)
		if (chunk >= c->first && chunk - c->first < c->chunks)
			return c;
	return NULL;
}

static void *slot(struct node_seat *s, uint64_t chunk)
{
	return s->slot[chunk % NODE_SLOTS];
}

/* The result of chunk n->taken is at @from. */
static void take(struct cmpi_node *n, struct node_call *c, const void *from)
{
	void *to = chunk_in(c, c->call.recvbuf, n->taken);

	if (c->call.count && to != from)
		memcpy(to, from, chunk_bytes(c, n->taken));
	n->taken++;
	store(&n->seat[n->own]->taken, n->taken);
	c->ended = n->taken == c->first + c->chunks;
}

/* ---- ranks that are no members ---- */

static bool put_chunk(struct cmpi_node *n)
{
	struct node_call *c = call_of(n, n->put);
	struct node_seat *s = n->seat[n->own];

	if (!c || n->put >= load(&n->seat[0]->done) + NODE_SLOTS)
		return false;
	if (c->call.count)
		memcpy(slot(s, n->put), chunk_in(c, c->call.sendbuf, n->put),
		       chunk_bytes(c, n->put));
	s->what[n->put % NODE_SLOTS] = c->what;
	store(&s->put, ++n->put);
	return true;
}

static bool take_chunk(struct cmpi_node *n)
{
	struct node_call *c = call_of(n, n->taken);

	if (!c || n->taken >= load(&n->seat[0]->done))
		return false;
	take(n, c, slot(n->seat[0], n->taken));
	return true;
}

static void step_other(struct cmpi_node *n)
{
	bool put, taken, news = false;

	/* Of an operation in place, a chunk is put before its result is taken. */
	do {
		put = put_chunk(n);
		taken = take_chunk(n);
		news |= put || taken;
	} while (put || taken);
	if (news)
		ring(n, 0);
}

/* ---- members ---- */

/* Have all others put chunk n->posted, and taken the result that has its slot? */
static bool is_gathered(struct cmpi_node *n, const struct node_call *c)
{
	const struct node_seat *s;
	unsigned int i;

	if (n->posted >= n->taken + NODE_SLOTS)
		return false;
	for (i = 1; i < n->local; i++) {
		s = n->seat[i];
		if (load(&s->put) <= n->posted || load(&s->taken) + NODE_SLOTS <= n->posted)
			return false;
	}
	for (i = 1; i < n->local; i++) {
		if (n->seat[i]->what[n->posted % NODE_SLOTS] == c->what)
			continue;
		fail_all(n, -EPROTO, "ranks of one host run different operations");
		return false;
	}
	return true;
}

static bool post_chunk(struct cmpi_node *n)
{
	struct node_call *c = call_of(n, n->posted);
	struct canary_call call;
	unsigned int i;
	int err;

	if (!c || !is_gathered(n, c))
		return false;
	for (i = 1; i < n->local; i++)
		n->more[i - 1] = slot(n->seat[i], n->posted);
	call = c->call;
	call.count = chunk_count(c, n->posted);
	call.sendbuf = chunk_in(c, call.sendbuf, n->posted);
	call.recvbuf = n->local > 1 ? slot(n->seat[0], n->posted) :
				      chunk_in(c, call.recvbuf, n->posted);
	call.more = n->more;
	call.mores = n->local - 1;
	call.places = n->ranks;
	call.addends = n->all;
	err = canary_post_call(n->canary, &call, sizeof(call), &n->request[n->posted % NODE_SLOTS]);
	if (err) {
		if (err != -EAGAIN)
			fail_as_told(n, err);
		return false;
	}
	n->posted++;
	return true;
}

static bool end_chunk(struct cmpi_node *n)
{
	struct node_call *c = call_of(n, n->taken);
	int err;

	if (n->taken == n->posted || !c)
		return false;
	err = canary_test(n->canary, n->request[n->taken % NODE_SLOTS]);
	if (err < 0)
		fail_as_told(n, err);
	if (err <= 0)
		return false;
	if (n->local == 1) {
		take(n, c, chunk_in(c, c->call.recvbuf, n->taken));
		return true;
	}
	store(&n->seat[0]->done, n->taken + 1);
	ring_others(n);
	take(n, c, slot(n->seat[0], n->taken));
	return true;
}

static void step_member(struct cmpi_node *n)
{
	bool posted, ended;

	do {
		posted = post_chunk(n);
		ended = end_chunk(n);
	} while (posted || ended);
}

/* ---- calls ---- */

bool node_busy(const struct cmpi_node *n)
{
	const struct node_call *c;

	for (c = n->calls; c; c = c->next)
		if (!c->ended)
			return true;
	return false;
}

/*
 * All calls fail. If that is for another reason than the end of the communicator, the library still
 * writes to a caller's vector: take what has ended of that. Results of several local ranks go to
 * slots. Return: true if nothing is under way any more
 */
static bool end_results(struct cmpi_node *n)
{
	if (n->own || n->local > 1)
		return true;
	for (; n->taken != n->posted; n->taken++)
		if (!canary_test(n->canary, n->request[n->taken % NODE_SLOTS]))
			return false;
	return true;
}

void node_step(struct cmpi_node *n)
{
	struct node_call *c;

	look_for_error(n);
	if (!n->error && n->own)
		step_other(n);
	else if (!n->error)
		step_member(n);
	if (!n->error || !end_results(n))
		return;
	for (c = n->calls; c; c = c->next) {
		if (c->ended)
			continue;
		c->err = n->error;
		c->ended = true;
	}
}

/* Results are due, and there is another chunk that may follow. */
static bool may_follow(struct cmpi_node *n)
{
	bool may;

	pthread_mutex_lock(&n->lock);
	may = call_of(n, n->posted);
	pthread_mutex_unlock(&n->lock);
	return may;
}

static bool is_due(struct cmpi_node *n)
{
	bool due;

	pthread_mutex_lock(&n->lock);
	due = !n->error && !n->own && n->posted != n->taken;
	look_for_dead(n);
	pthread_mutex_unlock(&n->lock);
	return due;
}

void node_sleep(struct cmpi_node *n, uint32_t bell, unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };
	struct pollfd fd = { .events = POLLIN };

	if (!is_due(n)) {
		sleep_for_bell(n, bell, ms);
		return;
	}
	fd.fd = canary_poll_fd(n->canary);
	if (may_follow(n))
		ts = (struct timespec){ 0, MORE_AFTER * 1000L };
	ppoll(&fd, fd.fd >= 0, &ts, NULL);
}

static void cut(struct node_call *c)
{
	size_t size = canary_dtype_size(c->call.dtype);

	/* Groups have 32 elements at most. */
	c->each = NODE_CHUNK / size & ~(size_t)63;
	c->chunks = 1;
	if (c->call.count > c->each + NODE_LAST)
		c->chunks += (c->call.count - NODE_LAST - 1) / c->each;
}

int cmpi_node_post(struct cmpi_node *n, const struct canary_call *call, uint64_t *id)
{
	struct node_call *c = calloc(1, sizeof(*c));
	const uint64_t what[] = { call->count, call->dtype, call->op, call->how };

	if (!c)
		return -ENOMEM;
	c->call = *call;
	c->what = cmpi_hash(what, sizeof(what));
	cut(c);
	pthread_mutex_lock(&n->lock);
	c->id = ++n->next_id;
	c->first = n->next;
	n->next += c->chunks;
	*n->tail = c;
	n->tail = &c->next;
	*id = c->id;
	node_step(n);
	pthread_mutex_unlock(&n->lock);
	return 0;
}

int cmpi_node_test(struct cmpi_node *n, uint64_t id)
{
	struct node_call **at, *c;
	int ret = 0;

	pthread_mutex_lock(&n->lock);
	node_step(n);
	for (at = &n->calls; *at && (*at)->id != id; at = &(*at)->next)
		;
	c = *at;
	if (!c) {
		ret = -ENOENT;
	} else if (c->ended) {
		ret = c->err ?: 1;
		*at = c->next;
		if (n->tail == &c->next)
			n->tail = at;
		free(c);
	}
	pthread_mutex_unlock(&n->lock);
	return ret;
}

int cmpi_node_wait(struct cmpi_node *n, uint64_t id, unsigned int ms)
{
	uint64_t now = now_ms(), until = now + ms;
	uint32_t bell;
	int ret;

	for (;;) {
		bell = node_bell(n);
		ret = cmpi_node_test(n, id);
		if (ret)
			return ret < 0 ? ret : 0;
		if (now >= until)
			return -ETIMEDOUT;
		node_sleep(n, bell, until - now);
		now = now_ms();
	}
}

void cmpi_node_doze(struct cmpi_node *n, unsigned int ms)
{
	uint32_t bell = node_bell(n);

	pthread_mutex_lock(&n->lock);
	node_step(n);
	pthread_mutex_unlock(&n->lock);
	node_sleep(n, bell, ms);
}

const char *cmpi_node_error(struct cmpi_node *n)
{
	return n->error ? n->why : NULL;
}
