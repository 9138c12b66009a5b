// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which ranks of a communicator share a host, and what they agree on before they share memory. No
 * function waits: form.c exchanges what they make.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node.h"

/* A number that all processes of a system have, until it boots again */
static uint64_t boot_number(void)
{
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	if (fd >= 0)
		close(fd);
	return cmpi_hash(text, sizeof(text));
}

/*
 * Containers may have the same address on different hosts, or numbers of processes of their own on
 * the same one. Where /proc is missing, opening the memory fails later on.
 */
static uint64_t host_number(const struct canary_addr *addr)
{
	struct stat s;
	uint64_t is[] = { cmpi_hash(addr, sizeof(*addr)), boot_number(), geteuid(), 0 };

	if (!stat("/proc/self/ns/pid", &s))
		is[3] = s.st_ino;
	return cmpi_hash(is, sizeof(is));
}

static struct cmpi_node *node_new(unsigned int members)
{
	struct cmpi_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->fd = -1;
	n->pid = getpid();
	n->all = members;
	n->tail = &n->calls;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->wake, NULL);
	n->leads = calloc(members, sizeof(*n->leads));
	n->ranks = calloc(members, sizeof(*n->ranks));
	n->pids = calloc(members, sizeof(*n->pids));
	n->seat = calloc(members, sizeof(*n->seat));
	n->more = calloc(members, sizeof(*n->more));
	if (n->leads && n->ranks && n->pids && n->seat && n->more)
		return n;
	cmpi_node_free(n);
	return NULL;
}

/* Memory is made before anybody knows whether it is needed, as nothing else is exchanged. */
void cmpi_node_offer(struct cmpi_comm *c, const struct cmpi_settings *s, struct canary *port,
		     struct cmpi_offer *offer)
{
	struct canary_info info;
	struct cmpi_node *n;

	memset(offer, 0, sizeof(*offer));
	canary_get_info(port, &info, sizeof(info));
	offer->host = host_number(&info.local.addr);
	offer->alone = strcmp(canary_engine_name(port), "user") != 0;
	offer->pid = getpid();
	snprintf(offer->why, sizeof(offer->why), "out of memory");
	n = s->node_leaders && !offer->alone ? node_new(c->members) : NULL;
	c->node = n;
	if (!n)
		return;
	if (getrandom(&offer->token, sizeof(offer->token), 0) != sizeof(offer->token))
		return;
	n->seat[0] = node_seat_make(&n->fd, offer->why);
	if (!n->seat[0])
		return;
	n->seat[0]->token = offer->token;
	offer->fd = n->fd;
	offer->ok = 1;
}

/* Offer number @i of the ranks */
static const struct cmpi_offer *offer_at(const struct cmpi_offer *all, size_t stride,
					 unsigned int i)
{
	return (const struct cmpi_offer *)((const char *)all + i * stride);
}

/* Find out who is where. The own seat goes to its place. */
static void plan(struct cmpi_node *n, unsigned int rank, const struct cmpi_offer *all,
		 size_t stride)
{
	const struct cmpi_offer *own = offer_at(all, stride, rank), *o;
	struct node_seat *seat = n->seat[0];
	unsigned int i, at;

	for (i = 0; i < n->all; i++) {
		o = offer_at(all, stride, i);
		for (at = 0; at < n->nodes; at++)
			if (offer_at(all, stride, n->leads[at])->host == o->host)
				break;
		if (at == n->nodes)
			n->leads[n->nodes++] = i;
		if (i == rank) {
			n->node = at;
			n->own = n->local;
		}
		if (o->host != own->host)
			continue;
		n->pids[n->local] = o->pid;
		n->ranks[n->local++] = i;
	}
	n->seat[0] = NULL;
	n->seat[n->own] = seat;
}

static bool all_may(const struct cmpi_node *n, const struct cmpi_offer *all, size_t stride)
{
	unsigned int i;

	for (i = 0; i < n->all && !offer_at(all, stride, i)->alone; i++)
		;
	return i == n->all;
}

/* Return: the first rank without a seat; n->all: there is none */
static unsigned int without_seat(const struct cmpi_node *n, const struct cmpi_offer *all,
				 size_t stride)
{
	unsigned int i;

	for (i = 0; i < n->all && offer_at(all, stride, i)->ok; i++)
		;
	return i;
}

static int take_seats(struct cmpi_node *n, const struct cmpi_offer *all, size_t stride,
		      char why[CMPI_NODE_WHY])
{
	unsigned int i, last = n->own ? 0 : n->local - 1;

	for (i = 0; i <= last; i++) {
		if (n->seat[i])
			continue;
		n->seat[i] = node_seat_open(offer_at(all, stride, n->ranks[i]), why);
		if (!n->seat[i])
			return -ENOMEM;
	}
	return 0;
}

/* All ranks come to the same, as they look at the same offers, and at nothing else. */
static bool agree(struct cmpi_comm *c, const struct cmpi_offer *all, size_t stride)
{
	struct cmpi_node *n = c->node;
	unsigned int without;

	plan(n, c->rank, all, stride);
	if (n->nodes < 2 || n->nodes == n->all || !all_may(n, all, stride))
		return false;
	without = without_seat(n, all, stride);
	if (without == c->rank)
		fprintf(stderr,
			"canary: all %u processes of a communicator are members: rank %u: %s\n",
			c->members, without, offer_at(all, stride, without)->why);
	return without == n->all;
}

int cmpi_node_join(struct cmpi_comm *c, const struct cmpi_offer *all, size_t stride,
		   char why[CMPI_NODE_WHY])
{
	struct cmpi_node *n = c->node;

	/* Others may still count on it. */
	if (!n)
		return 0;
	if (agree(c, all, stride))
		return take_seats(n, all, stride, why);
	cmpi_node_free(n);
	c->node = NULL;
	return 0;
}

void cmpi_node_ready(struct cmpi_node *n)
{
	if (n && n->fd >= 0)
		close(n->fd);
	if (n)
		n->fd = -1;
}

bool cmpi_node_leads(const struct cmpi_node *n)
{
	return !n->own;
}

unsigned int cmpi_node_members(const struct cmpi_node *n, unsigned int *own)
{
	*own = n->node;
	return n->nodes;
}

unsigned int cmpi_node_rank(const struct cmpi_node *n, unsigned int member)
{
	return n->leads[member];
}

void cmpi_node_carry(struct cmpi_node *n, struct canary *canary)
{
	n->canary = canary;
}

void cmpi_node_stop(struct cmpi_node *n)
{
	node_thread_end(n);
}

void cmpi_node_free(struct cmpi_node *n)
{
	struct node_call *c;
	unsigned int i;

	if (!n)
		return;
	cmpi_node_ready(n);
	/* A child of fork() does not have them. */
	for (i = 0; n->seat && i < n->all && n->pid == getpid(); i++)
		node_seat_close(n->seat[i]);
	while ((c = n->calls)) {
		n->calls = c->next;
		free(c);
	}
	pthread_cond_destroy(&n->wake);
	pthread_mutex_destroy(&n->lock);
	free(n->leads);
	free(n->ranks);
	free(n->pids);
	free(n->seat);
	free(n->more);
	free(n);
}
