// SPDX-License-Identifier: BSD-2-Clause
/*
 * canary_params_launcher(): rank, members, communicator and rank 0's address from the variables of
 * what started this process.
 *
 * Launchers are tried in the order of the table below, as one may run inside another one: the
 * variables of the outer one are still there. In a job of Slurm, mpirun or torchrun is the inner.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "launcher.h"
#include "userspace/common/parse.h"

#define VARIABLES	3

/**
 * struct source - a launcher, and the variables that it sets
 *
 * @mark:	has to be set; NULL: nothing has to
 * @variable:	rank, number of ranks, host of rank 0 if it says that. All of them have to be set
 * @least:	so many of them are no accident; with less, it was another launcher
 * @id:		what distinguishes a job, together. The last one is NULL
 * @fill:	work out what is special. Return: 0, or a negative errno with a sentence
 */
struct source {
	const char	*name;
	const char	*mark;
	const char	*variable[VARIABLES];
	int		least;
	const char	*id[5];
	int		(*fill)(struct launched *l);
};

static bool is_number(const char *variable, u32 number)
{
	const char *text = getenv(variable);
	u32 value;

	return text && parse_number(text, 0, UINT32_MAX, &value) && value == number;
}

static int fill_torchrun(struct launched *l)
{
	l->host = getenv("MASTER_ADDR");
	l->one_host = is_number("LOCAL_WORLD_SIZE", l->members);
	return 0;
}

static int fill_openmpi(struct launched *l)
{
	l->one_host = is_number("OMPI_COMM_WORLD_LOCAL_SIZE", l->members);
	return 0;
}

static int fill_pmi(struct launched *l)
{
	l->one_host = is_number("MPI_LOCALNRANKS", l->members);
	return 0;
}

/* With PMIx, ranks can exchange addresses. Otherwise rank 0 is on the first host of the step. */
static int fill_slurm(struct launched *l)
{
	static __thread char host[256];
	const char *order = getenv("SLURM_DISTRIBUTION");

	l->one_host = is_number("SLURM_STEP_NUM_NODES", 1);
	if (getenv("PMIX_NAMESPACE"))
		return 0;
	if (order && strstr(order, "arbitrary"))
		return lib_error(-EINVAL, "slurm: SLURM_DISTRIBUTION is %s, so rank 0 may be on any host: give its address, or use srun --mpi=pmi2",
				 order);
	if (!launcher_first_host(getenv("SLURM_STEP_NODELIST"), host, sizeof(host)))
		return lib_error(-EINVAL, "slurm: SLURM_STEP_NODELIST: '%s' is no list of hosts",
				 getenv("SLURM_STEP_NODELIST"));
	l->host = host;
	return 0;
}

#define TORCHRUN	{ "RANK", "WORLD_SIZE", "MASTER_ADDR" }
/* Each host counts restarts by itself, so TORCHELASTIC_RESTART_COUNT is not the same at all. */
#define TORCHRUN_ID	{ "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT" }

static const struct source sources[] = {
	{ "torchrun", "TORCHELASTIC_RUN_ID", TORCHRUN, 2, TORCHRUN_ID, fill_torchrun },
	{ "openmpi", NULL, { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, 1,
	  { "PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports" }, fill_openmpi },
	{ "pmi", NULL, { "PMI_RANK", "PMI_SIZE" }, 1, { NULL }, fill_pmi },
	{ "slurm", NULL, { "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST" }, 2,
	  { "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID" }, fill_slurm },
	{ "torchrun", NULL, TORCHRUN, 2, TORCHRUN_ID, fill_torchrun },
};

/* Is it this launcher? */
static bool is_source(const struct source *s)
{
	const char *only = getenv("CANARY_LAUNCHER");
	int i, n = 0;

	if (only && *only && strcmp(only, s->name))
		return false;
	if (s->mark && !getenv(s->mark))
		return false;
	for (i = 0; i < VARIABLES; i++)
		n += s->variable[i] && getenv(s->variable[i]);
	return n >= s->least;
}

static const struct source *find_source(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (is_source(&sources[i]))
			return &sources[i];
	return NULL;
}

/* Is CANARY_LAUNCHER a name of the table, or "none"? */
static int check_choice(void)
{
	const char *only = getenv("CANARY_LAUNCHER");
	u32 i;

	if (!only || !*only || !strcmp(only, "none"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (!strcmp(only, sources[i].name))
			return 0;
	return lib_error(-EINVAL, "CANARY_LAUNCHER: '%s' is none of openmpi, pmi, slurm, torchrun, none",
			 only);
}

static int take_variable(const struct source *s, int i, u32 min, u32 max, u32 *number)
{
	const char *text = getenv(s->variable[i]);

	if (parse_number(text, min, max, number))
		return 0;
	return lib_error(-EINVAL, "%s: %s is '%s', not a number from %u to %u", s->name,
			 s->variable[i], text, min, max);
}

static int read_source(const struct source *s, struct launched *l)
{
	const char *text;
	size_t at = 0;
	int err, i;

	memset(l, 0, sizeof(*l));
	l->name = s->name;
	for (i = 0; i < VARIABLES; i++)
		if (s->variable[i] && !getenv(s->variable[i]))
			return lib_error(-EINVAL, "%s: %s is set, but %s is not", s->name,
					 s->variable[i ? 0 : 1], s->variable[i]);
	err = take_variable(s, 1, 1, CANARY_MEMBERS_MAX, &l->members) ?:
	      take_variable(s, 0, 0, l->members - 1, &l->rank);
	if (err)
		return err;
	for (i = 0; s->id[i]; i++) {
		text = getenv(s->id[i]);
		if (text)
			at += snprintf(l->id + at, sizeof(l->id) - at, "%s=%s ", s->id[i], text);
		if (at >= sizeof(l->id))
			return lib_error(-EINVAL, "%s: %s is too long", s->name, s->id[i]);
	}
	return s->fill(l);
}

/* A number of the job that is the same at all of its ranks, and most likely no other job's */
static u64 hash_id(const struct launched *l)
{
	static const u8 key[16];

	return cnr_siphash(key, l->id, strlen(l->id));
}

/* CANARY_COMM is the number of the communicator, or a range to take one from. */
static int take_comm(const struct launched *l, u32 *comm)
{
	const char *range = getenv("CANARY_COMM");
	u32 first = 0, last = UINT32_MAX;

	if (range && *range && (!parse_range(range, &first, &last) || first > last))
		return lib_error(-EINVAL, "CANARY_COMM: '%s' is not FIRST[-LAST], numbers from 0 to %u",
				 range, UINT32_MAX);
	*comm = first + hash_id(l) % ((u64)last - first + 1);
	return 0;
}

/*
 * The launcher's exchange is used once in a process, as PMI has no second one. The rest of this
 * struct is what it gave.
 */
static struct {
	pthread_mutex_t		lock;
	bool			done;
	char			text[ADDRESS_TEXT];
	char			id[LAUNCHER_ID];
} exchanged = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What rank 0 tells in place of an address. So the others do not wait for one. */
#define NO_ADDRESS	"none"

/* Rank 0 chooses the address, unless @p has it. */
static int choose(const struct launched *l, const struct canary_params *p, char *text)
{
	struct canary_peer own = canary_addr_is_any(&p->root.addr) ? p->bind : p->root;
	int err = launcher_own_address(&own, l->one_host);

	if (err)
		strcpy(text, NO_ADDRESS);
	else
		address_port_text(&own.addr, own.port, text);
	return err;
}

/* Tell all ranks where rank 0 is. */
static int exchange_locked(struct launched *l, const struct canary_params *p)
{
	char why[256] = "", *text = exchanged.text;
	int err = 0, refused = 0;

	if (!l->rank)
		refused = choose(l, p, text);
	if (refused)
		snprintf(why, sizeof(why), "%s", canary_errmsg());
	if (!strcmp(l->name, "pmi"))
		err = pmi_exchange(l, text);
	else if (getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK"))
		err = pmix_exchange(l, text);
	else
		err = lib_error(-EINVAL, "%s: PMIX_NAMESPACE and PMIX_RANK are not set: give the address of rank 0",
				l->name);
	if (refused)
		return lib_error(refused, "%s", why);
	if (!err && !strcmp(text, NO_ADDRESS))
		err = lib_error(-EADDRNOTAVAIL, "%s: rank 0 has no address, or no port, that it can tell",
				l->name);
	return err;
}

static int exchange(struct launched *l, struct canary_params *p)
{
	int err = 0;

	pthread_mutex_lock(&exchanged.lock);
	if (!exchanged.done)
		err = exchange_locked(l, p);
	if (!err && !exchanged.done) {
		exchanged.done = true;
		memcpy(exchanged.id, l->id, sizeof(exchanged.id));
	}
	memcpy(l->id, exchanged.id, sizeof(l->id));
	if (!err && canary_addr_is_any(&p->root.addr))
		err = canary_params_set(p, "root", exchanged.text);
	pthread_mutex_unlock(&exchanged.lock);
	return err;
}

/* Rank 0 is on a host that is known. Its port comes from the job's number, as nobody can ask. */
static int take_host(struct launched *l, struct canary_params *p)
{
	int err = launcher_host_address(l, &p->root.addr);

	if (!err && !p->root.port)
		p->root.port = htons(CANARY_PORT_BASE + (hash_id(l) >> 32) % CANARY_PORTS);
	return err;
}

static int take_root(struct launched *l, struct canary_params *p)
{
	if (p->rank != l->rank || p->members != l->members)
		return lib_error(-EINVAL, "%s: this is rank %u of %u, not %u of %u: give the address of rank 0",
				 l->name, l->rank, l->members, p->rank, p->members);
	return l->host ? take_host(l, p) : exchange(l, p);
}

static int take(const struct source *s, struct canary_params *p, unsigned int what)
{
	bool root = what & CANARY_LAUNCHER_ROOT && canary_addr_is_any(&p->root.addr);
	struct launched l;
	int err;

	err = read_source(s, &l);
	if (err)
		return err;
	if (what & CANARY_LAUNCHER_RANK)
		p->rank = l.rank;
	if (what & CANARY_LAUNCHER_MEMBERS)
		p->members = l.members;
	if (root)
		err = take_root(&l, p);
	else if (what & CANARY_LAUNCHER_COMM && !l.id[0])
		err = exchange(&l, p);
	if (!err && what & CANARY_LAUNCHER_COMM)
		err = take_comm(&l, &p->comm);
	return err ?: 1;
}

CANARY_EXPORT int canary_params_launcher(struct canary_params *params, unsigned int what)
{
	struct canary_params p;
	const struct source *s;
	int ret;

	ret = lib_params_size(params);
	if (ret)
		return ret;
	if (what & ~CANARY_LAUNCHER_ALL)
		return lib_error(-EINVAL, "launcher: there is nothing like %#x", what);
	ret = check_choice();
	s = find_source();
	if (ret || !s)
		return ret;
	p = *params;
	ret = take(s, &p, what);
	if (ret > 0)
		*params = p;
	return ret;
}

CANARY_EXPORT const char *canary_launcher_name(void)
{
	const struct source *s = find_source();

	return s ? s->name : NULL;
}
