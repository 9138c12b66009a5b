// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who has this component, with the same fingerprint. Each process puts its fingerprint into the
 * exchange that the launcher makes for all of a job when they start (modex). So does one whose own
 * settings are wrong, for others to know why they have to do without it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "ompi/mca/rte/rte.h"
#include "ompi/proc/proc.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/mca/pmix/pmix.h"

#define KEY	"canary.coll"

enum peer {
	PEER_UNKNOWN,	/* not asked for yet */
	PEER_ALIKE,
	PEER_OTHER,	/* another version, or other settings, or wrong ones */
	PEER_NONE,	/* no component, or it is not enabled */
};

/* With another priority, other components may take the calls at some ranks. */
struct told {
	struct cmpi_fingerprint	fingerprint;
	int32_t			priority;
};

/* By number in the job. It is made at the first question, and lives until the component closes. */
static struct {
	pthread_mutex_t	lock;		/* of all below */
	unsigned char	*peer;
	unsigned int	peers;
	struct told	mine;
	bool		said;		/* that somebody is different */
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

int coll_peers_tell(const char *wrong)
{
	int err;

	if (!opal_pmix.put)
		return OMPI_ERR_NOT_SUPPORTED;
	cmpi_fingerprint_fill(&known.mine.fingerprint, &coll_settings, wrong);
	known.mine.priority = coll_priority;
	OPAL_MODEX_SEND_STRING(err, OPAL_PMIX_GLOBAL, KEY, &known.mine, sizeof(known.mine));
	return err;
}

static bool alike(const struct told *other)
{
	return cmpi_fingerprint_alike(&known.mine.fingerprint, &other->fingerprint) &&
	       known.mine.priority == other->priority;
}

/* @other: receives what the process has told, all zeros if that has another form */
static enum peer ask(opal_process_name_t name, struct told *other)
{
	enum peer found = PEER_NONE;
	opal_value_t *value = NULL;
	opal_value_t immediate;
	opal_list_t info;

	/* Do not wait for a process that has none. */
	OBJ_CONSTRUCT(&info, opal_list_t);
	OBJ_CONSTRUCT(&immediate, opal_value_t);
	immediate.key = strdup(OPAL_PMIX_IMMEDIATE);
	immediate.type = OPAL_BOOL;
	immediate.data.flag = true;
	opal_list_append(&info, &immediate.super);
	memset(other, 0, sizeof(*other));
	if (opal_pmix.get(&name, KEY, &info, &value) == OPAL_SUCCESS && value) {
		if (value->type == OPAL_BYTE_OBJECT && value->data.bo.bytes &&
		    value->data.bo.size == sizeof(*other))
			memcpy(other, value->data.bo.bytes, sizeof(*other));
		found = alike(other) ? PEER_ALIKE : PEER_OTHER;
		OBJ_RELEASE(value);
	}
	opal_list_remove_item(&info, &immediate.super);
	OBJ_DESTRUCT(&immediate);
	OBJ_DESTRUCT(&info);
	return found;
}

static enum peer look_up(unsigned int vpid, struct told *other)
{
	opal_process_name_t name = { .jobid = OMPI_PROC_MY_NAME->jobid, .vpid = vpid };

	return ask(name, other);
}

static const char *differs(const struct told *other, char text[CMPI_DIFFERS])
{
	if (!other->fingerprint.version[0])
		return "has another version of Canary";
	if (cmpi_fingerprint_alike(&known.mine.fingerprint, &other->fingerprint))
		return "has another value of " COLL_PREFIX "priority";
	return cmpi_fingerprint_differs(&known.mine.fingerprint, &other->fingerprint, COLL_PREFIX,
					text);
}

/* One line for a job: the first process that has the component, of any version, says it. */
static void say(unsigned int vpid, enum peer found, const struct told *other)
{
	char text[CMPI_DIFFERS];
	struct told ignored;
	unsigned int i;

	if (known.said)
		return;
	known.said = true;
	for (i = 0; i < OMPI_PROC_MY_NAME->vpid; i++)
		if (look_up(i, &ignored) != PEER_NONE)
			return;
	fprintf(stderr, "canary: process %u %s; communicators with it do without\n", vpid,
		found == PEER_OTHER ? differs(other, text) :
		"has no component coll/canary, or it is not enabled there");
}

static enum peer peer(opal_process_name_t name)
{
	struct told other;
	enum peer found;

	if (name.jobid != OMPI_PROC_MY_NAME->jobid)
		return PEER_NONE;
	pthread_mutex_lock(&known.lock);
	if (!known.peer) {
		known.peers = ompi_process_info.num_procs;
		known.peer = calloc(known.peers, 1);
	}
	if (!known.peer || name.vpid >= known.peers) {
		found = PEER_NONE;
	} else {
		if (known.peer[name.vpid] == PEER_UNKNOWN) {
			known.peer[name.vpid] = look_up(name.vpid, &other);
			if (known.peer[name.vpid] != PEER_ALIKE)
				say(name.vpid, known.peer[name.vpid], &other);
		}
		found = known.peer[name.vpid];
	}
	pthread_mutex_unlock(&known.lock);
	return found;
}

bool coll_peers_alike(struct ompi_communicator_t *comm)
{
	int i;

	for (i = 0; i < ompi_comm_size(comm); i++)
		if (peer(ompi_group_get_proc_name(comm->c_local_group, i)) != PEER_ALIKE)
			return false;
	return true;
}

bool coll_peers_one_host(struct ompi_communicator_t *comm)
{
	int i;

	for (i = 0; i < ompi_comm_size(comm); i++) {
		struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, i);

		if (i != ompi_comm_rank(comm) && !OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags))
			return false;
	}
	return true;
}

void coll_peers_forget(void)
{
	free(known.peer);
	known.peer = NULL;
}
