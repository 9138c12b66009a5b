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

/* A number for a file that all processes of a system see alike */
static uint64_t what_is(const char *path)
{
	struct stat s;
	char text[64] = "";
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s))
		memset(&s, 0, sizeof(s));
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)s.st_ino);
	if (fd >= 0)
		close(fd);
	return cmpi_hash(text, sizeof(text));
}

/*
 * Containers may have the same address on different hosts, or numbers of processes of their own on
 * the same one. Where /proc is missing, opening the memory fails later on.
 */
uint64_t cmpi_node_host(const struct canary_addr *addr)
{
	struct stat s = { .st_ino = 0 };
	uint64_t is[] = { cmpi_hash(addr, sizeof(*addr)),
			  what_is("/proc/sys/kernel/random/boot_id"), 0, 0 };

	if (!stat("/proc/self/ns/pid", &s))
		is[2] = s.st_ino;
	is[3] = geteuid();
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
	if (n->leads && n->ranks)
		return n;
	cmpi_node_free(n);
	return NULL;
}

/* Return: which host this is among those before */
static unsigned int find_host(const struct cmpi_node *n, const uint64_t *host, uint64_t which)
{
	unsigned int i;

	for (i = 0; i < n->nodes && host[n->leads[i]] != which; i++)
		;
	return i;
}

int cmpi_node_plan(struct cmpi_comm *c, const uint64_t *host)
{
	struct cmpi_node *n = node_new(c->members);
	unsigned int i, at;

	if (!n)
		return -ENOMEM;
	for (i = 0; i < c->members; i++) {
		at = find_host(n, host, host[i]);
		if (at == n->nodes)
			n->leads[n->nodes++] = i;
		if (i == c->rank)
			n->node = at;
		if (host[i] != host[c->rank])
			continue;
		if (i == c->rank)
			n->own = n->local;
		n->ranks[n->local++] = i;
	}
	if (n->nodes < 2 || n->nodes == c->members)
		cmpi_node_free(n);
	else
		c->node = n;
	return 0;
}

void cmpi_node_offer(struct cmpi_comm *c, struct cmpi_offer *offer)
{
	struct cmpi_node *n = c->node;

	memset(offer, 0, sizeof(*offer));
	offer->ok = 1;
	if (n->own || n->local == 1)
		return;
	if (getrandom(&offer->token, sizeof(offer->token), 0) != sizeof(offer->token)) {
		snprintf(offer->why, sizeof(offer->why), "no random numbers");
		offer->ok = 0;
		return;
	}
	offer->ok = !node_memory_make(n, offer->token, offer->why);
	offer->pid = n->pid;
	offer->fd = n->fd;
}

int cmpi_node_accept(struct cmpi_comm *c, const struct cmpi_offer *all, char why[CMPI_NODE_WHY])
{
	struct cmpi_node *n = c->node;
	const struct cmpi_offer *lead = &all[n->ranks[0]];

	if (!lead->ok) {
		snprintf(why, CMPI_NODE_WHY, "%.*s", CMPI_NODE_WHY - 1, lead->why);
		return -ENOMEM;
	}
	return n->own ? node_memory_attach(n, lead, why) : 0;
}

void cmpi_node_ready(struct cmpi_node *n)
{
	if (n->fd >= 0)
		close(n->fd);
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

	if (!n)
		return;
	node_memory_free(n);
	while ((c = n->calls)) {
		n->calls = c->next;
		free(c);
	}
	pthread_cond_destroy(&n->wake);
	pthread_mutex_destroy(&n->lock);
	free(n->leads);
	free(n->ranks);
	free(n);
}
