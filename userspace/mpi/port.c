// SPDX-License-Identifier: BSD-2-Clause
/*
 * The port of a process, which all its communicators share, and members of libcanary at it. A
 * member that is never formed keeps it, as the port has to be known before anything else.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "form.h"
#include "userspace/common/key_check.h"
#include "userspace/common/own_address.h"

#define LINGER		5000		/* ms that others may take to get their last results */

/* The process's port. It lives from the first communicator to cmpi_close_all(). */
static struct {
	pthread_mutex_t	lock;		/* of opening it */
	struct canary	*holder;
	unsigned int	mtu;
	uint8_t		key[16];	/* of settings.key_file; else 0 */
	pid_t		pid;
} port = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Parameters that all members of this process have */
static int fill_params(struct canary_params *p, const struct cmpi_settings *s)
{
	int err;

	canary_params_init(p);
	p->table = 1;
	p->dead_after = s->dead_after;
	p->linger = LINGER;
	err = canary_params_set(p, "engine", s->engine);
	if (!err)
		err = canary_params_set(p, "algorithm", s->algorithm);
	if (!err && s->key_file[0])
		err = canary_params_set(p, "key-file", s->key_file);
	return err;
}

/* The caller holds port.lock. Return: 0, or an error about which canary_errmsg() has a sentence */
static int open_port(const struct cmpi_settings *s, char *why, size_t len)
{
	struct canary_params p;
	int err;

	/* That of the parent before a fork() is the parent's. Its threads are not here. */
	if (port.holder && port.pid != getpid())
		port.holder = NULL;
	if (port.holder)
		return 0;
	err = fill_params(&p, s);
	if (err)
		goto failed;
	err = own_address(s->interfaces, true, &p.bind.addr, &port.mtu);
	if (err) {
		snprintf(why, len, "interfaces: none of '%s' has an IPv4 address", s->interfaces);
		return err;
	}
	p.comm = s->comm_first;
	p.members = 1;
	err = canary_open(&p, &port.holder);
	if (err)
		goto failed;
	memcpy(port.key, p.key, sizeof(port.key));
	port.pid = getpid();
	return 0;
failed:
	snprintf(why, len, "%s", canary_errmsg());
	return err;
}

void cmpi_hello_fill(struct cmpi_hello *h, struct cmpi_comm *c, const struct cmpi_settings *s,
		     uint32_t job)
{
	struct canary_info info;
	int err;

	memset(h, 0, sizeof(*h));
	pthread_mutex_lock(&port.lock);
	err = open_port(s, h->why, sizeof(h->why));
	pthread_mutex_unlock(&port.lock);
	if (err)
		return;
	memset(&info, 0, sizeof(info));
	canary_get_info(port.holder, &info, sizeof(info));
	h->peer = info.local;
	cmpi_node_offer(c, s, port.holder, &h->offer);
	h->mtu = port.mtu < s->mtu ? port.mtu : s->mtu;
	h->comm = s->comm_first + job % (s->comm_last - s->comm_first + 1ULL);
	if (getrandom(&h->epoch, sizeof(h->epoch), 0) != sizeof(h->epoch) ||
	    getrandom(h->salt, sizeof(h->salt), 0) != sizeof(h->salt) ||
	    getrandom(h->key, sizeof(h->key), 0) != sizeof(h->key)) {
		snprintf(h->why, sizeof(h->why), "no random numbers");
		return;
	}
	h->epoch |= !h->epoch;
	h->key_check = key_check(port.key);
	h->willing = 1;
}

static int open_member(struct cmpi_comm *c, const struct cmpi_settings *s,
		       const struct cmpi_hello *all)
{
	static const uint8_t none[16];
	struct canary_params p;
	unsigned int i;
	int err;

	err = fill_params(&p, s);
	if (err)
		return err;
	p.comm = all[0].comm;
	p.rank = c->rank;
	p.members = c->members;
	if (c->node) {
		p.members = cmpi_node_members(c->node, &i);
		p.rank = i;
	}
	p.share = port.holder;
	p.mtu = all[0].mtu;
	for (i = 1; i < c->members; i++)
		if (all[i].mtu < p.mtu)
			p.mtu = all[i].mtu;
	/* A key of the user's is the same at all ranks. */
	memcpy(p.key, memcmp(port.key, none, sizeof(none)) ? port.key : all[0].key, sizeof(p.key));
	err = canary_open(&p, &c->canary);
	if (!err && c->node)
		cmpi_node_carry(c->node, c->canary);
	return err;
}

static int form(struct cmpi_comm *c, const struct cmpi_hello *all)
{
	struct canary_table table = { .epoch = all[0].epoch };
	unsigned int i, own, n = c->node ? cmpi_node_members(c->node, &own) : c->members;
	struct canary_peer *peer = calloc(n, sizeof(*peer));
	int err;

	if (!peer)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		peer[i] = all[c->node ? cmpi_node_rank(c->node, i) : i].peer;
	memcpy(table.salt, all[0].salt, sizeof(table.salt));
	table.peer = peer;
	err = canary_form(c->canary, &table);
	free(peer);
	return err;
}

int cmpi_member_open(struct cmpi_comm *c, const struct cmpi_settings *s,
		     const struct cmpi_hello *all)
{
	c->pid = getpid();
	if (c->node && !cmpi_node_leads(c->node))
		return 0;
	return open_member(c, s, all) ?: form(c, all);
}

void cmpi_close_all(void)
{
	if (port.holder && port.pid == getpid())
		canary_close(port.holder);
	port.holder = NULL;
}
