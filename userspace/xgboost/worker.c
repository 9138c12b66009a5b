// SPDX-License-Identifier: BSD-2-Clause
/*
 * A worker of XGBoost: which of its sums Canary carries out, and the communicator for them.
 *
 * Rabit's own allreduce tells workers of each other, once, at their first sum. So all workers have
 * to have this library.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rabit.h"
#include "userspace/mpi/cmpi.h"

/*
 * A worker. Rabit has one for each thread.
 * @greeted:	@c is filled in
 * @inside:	this library uses rabit itself, whose sums then are not for Canary
 */
struct worker {
	const struct rabit	*rabit;
	struct cmpi_comm	c;
	bool			greeted;
	bool			inside;
};

static __thread struct worker worker;

/* Of the process; written once */
static struct cmpi_settings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static int table_rank = -1;	/* the latest rank of this process, for the table at its end */

/*
 * XGBoost merges its sketches of the data by sums in which all workers but one give 0. Neighbours
 * are weights and values there, so they must not share an exponent: cuts would move.
 */
#define FLOATS		"elementwise"

/* Nobody but the other workers notices that one has died. */
#define DEAD_AFTER	30000	/* ms */

/* If it were measured, the last bits of a model would depend on that. */
#define MIN_BYTES	16384

/* Loading this library says that it is wanted. CANARY_ENABLE=0 is for who cannot unload it. */
static void take_settings(void)
{
	char why[200];

	int err = cmpi_settings_take(&settings, NULL, NULL, why, sizeof(why));

	if (!cmpi_setting_given("CANARY_ENABLE"))
		settings.enable = 1;
	if (err && settings.enable) {
		fprintf(stderr, "canary: %s\n", why);
		exit(2);
	}
	if (!cmpi_setting_given("CANARY_FLOATS")) {
		settings.floats = FLOATS;
		canary_how_parse(FLOATS, &settings.how);
	}
	if (!cmpi_setting_given("CANARY_MIN_BYTES"))
		settings.min_bytes = MIN_BYTES;
	if (!cmpi_setting_given("CANARY_DEAD_AFTER"))
		settings.dead_after = DEAD_AFTER;
	settings.node_leaders = 0;	/* a worker that died would leave its host without a member */
}

static uint32_t dtype_of(const struct rabit_sum *sum)
{
	static const uint32_t dtype[RABIT_TYPES] = {
		[RABIT_CHAR] = CANARY_INT8, [RABIT_UCHAR] = CANARY_UINT8,
		[RABIT_INT] = CANARY_INT32, [RABIT_UINT] = CANARY_UINT32,
		[RABIT_LONG] = CANARY_INT64, [RABIT_ULONG] = CANARY_UINT64,
		[RABIT_LONG_LONG] = CANARY_INT64, [RABIT_ULONG_LONG] = CANARY_UINT64,
		[RABIT_FLOAT] = CANARY_FLOAT32, [RABIT_DOUBLE] = CANARY_FLOAT64,
	};
	uint32_t found = sum->type >= 0 && sum->type < RABIT_TYPES ? dtype[sum->type] : 0;

	return canary_dtype_size(found) == sum->size ? found : 0;
}

static uint32_t operator_of(const struct rabit_sum *sum)
{
	static const uint32_t op[RABIT_OPERATORS] = {
		[RABIT_MAX] = CANARY_OP_MAX, [RABIT_MIN] = CANARY_OP_MIN,
		[RABIT_SUM] = CANARY_OP_SUM, [RABIT_OR] = CANARY_OP_OR,
	};

	return sum->op >= 0 && sum->op < RABIT_OPERATORS ? op[sum->op] : 0;
}

/* ---- the functions of rabit that cmpi_form() uses ---- */

static int host_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
	const struct worker *w = arg;

	memset(all, 0, w->c.members * bytes);
	memcpy((char *)all + w->c.rank * bytes, mine, bytes);
	return w->rabit->allreduce(all, w->c.members * bytes, RABIT_UCHAR, RABIT_OR, NULL, NULL);
}

static int host_least(void *arg, int *value)
{
	const struct worker *w = arg;

	return w->rabit->allreduce(value, 1, RABIT_INT, RABIT_MIN, NULL, NULL);
}

static int host_sum(void *arg, double *v, size_t count)
{
	const struct worker *w = arg;

	return w->rabit->allreduce(v, count, RABIT_DOUBLE, RABIT_SUM, NULL, NULL);
}

/* Throws an exception, as rabit does if it fails. */
static __attribute__((noreturn)) void fail(const struct worker *w, const char *why)
{
	w->rabit->error("canary: worker %u of %u: %s", w->c.rank, w->c.members, why);
	abort();
}

/* ---- the greeting ---- */

/* Says so if others keep this worker waiting. Its owner ends it. */
struct reminder {
	pthread_t	thread;
	pthread_mutex_t	lock;
	pthread_cond_t	ended;
	bool		over;
	unsigned int	rank, members;
};

static void *remind(void *arg)
{
	struct reminder *r = arg;
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += settings.trial / 1000;
	pthread_mutex_lock(&r->lock);
	while (!r->over && !err)
		err = pthread_cond_timedwait(&r->ended, &r->lock, &until);
	if (!r->over)
		fprintf(stderr,
			"canary: worker %u of %u waits for the others. Have all this library?\n",
			r->rank, r->members);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void reminder_end(struct reminder *r)
{
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_cond_signal(&r->ended);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
}

/* Is this true of the first worker and each other one? */
static bool all(bool (*same)(const struct cmpi_greeting *, const struct cmpi_greeting *),
		const struct cmpi_greeting *of, unsigned int members)
{
	unsigned int i;

	for (i = 1; i < members; i++)
		if (!same(&of[0], &of[i]))
			return false;
	return true;
}

static void say_who_differs(const struct cmpi_greeting *of, unsigned int members)
{
	char text[CMPI_DIFFERS];
	unsigned int i;

	for (i = 1; i < members && cmpi_greeting_alike(&of[0], &of[i]); i++)
		;
	if (i < members)
		fprintf(stderr, "canary: %u workers do without: worker %u %s\n", members, i,
			cmpi_fingerprint_differs(&of[0].fingerprint, &of[i].fingerprint, NULL,
						 text));
}

static void greet(struct worker *w)
{
	struct reminder reminder = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER,
		.rank = w->c.rank, .members = w->c.members,
	};
	struct cmpi_greeting mine, *of = calloc(w->c.members, sizeof(*of));
	int err;

	if (!of)
		fail(w, "out of memory");
	cmpi_greeting_fill(&mine, &settings, "");
	err = pthread_create(&reminder.thread, NULL, remind, &reminder);
	if (err) {
		free(of);
		fail(w, "no thread");
	}
	err = host_allgather(w, &mine, of, sizeof(mine));
	reminder_end(&reminder);
	w->c.peers = !err && all(cmpi_greeting_alike, of, w->c.members);
	w->c.one_host = !err && all(cmpi_greeting_one_host, of, w->c.members);
	if (!err && !w->c.peers && !w->c.rank)
		say_who_differs(of, w->c.members);
	free(of);
	if (err)
		fail(w, "rabit could not exchange addresses");
	w->greeted = true;
}

static void form(struct worker *w)
{
	const struct cmpi_host host = {
		.allgather = host_allgather, .least = host_least, .sum = host_sum, .arg = w,
	};

	if (cmpi_form(&w->c, &settings, &host, getpid()))
		fail(w, "rabit could not exchange addresses");
}

/* ---- sums ---- */

static enum cmpi_why decide(struct worker *w, const struct cmpi_args *args)
{
	enum cmpi_why why;

	w->inside = true;
	if (!w->greeted)
		greet(w);
	why = cmpi_decide(&settings, &w->c, args);
	if (why == CMPI_CANARY && w->c.state == CMPI_NEW) {
		form(w);
		why = cmpi_decide(&settings, &w->c, args);
	}
	w->inside = false;
	return why;
}

static void run(struct worker *w, const struct rabit_sum *sum, const struct cmpi_args *args)
{
	const struct canary_call call = {
		.sendbuf = sum->data, .recvbuf = sum->data, .count = sum->count,
		.dtype = args->dtype, .op = args->op,
		.how = settings.how & canary_how_supported(args->dtype, args->op),
	};
	struct canary_outcome outcome;

	if (sum->prepare)
		sum->prepare(sum->arg);
	if (canary_allreduce_call(w->c.canary, &call, sizeof(call), &outcome, sizeof(outcome)))
		fail(w, canary_errmsg());
}

bool worker_sum(const struct rabit *rabit, const struct rabit_sum *sum)
{
	const struct cmpi_args args = {
		CMPI_ALLREDUCE, dtype_of(sum), operator_of(sum), sum->count
	};
	struct worker *w = &worker;
	enum cmpi_why why;

	pthread_once(&settings_once, take_settings);
	if (w->inside || !settings.enable)
		return false;
	if (!w->greeted) {
		w->rabit = rabit;
		w->c.members = rabit->members();
		w->c.rank = rabit->rank();
		if (w->c.members < 2)
			return false;
		table_rank = w->c.rank;
	}
	why = decide(w, &args);
	cmpi_count(CMPI_ALLREDUCE, why, sum->count * sum->size);
	if (why != CMPI_CANARY)
		return false;
	run(w, sum, &args);
	return true;
}

void worker_end(void)
{
	cmpi_close(&worker.c);
	memset(&worker, 0, sizeof(worker));
}

static __attribute__((destructor)) void process_end(void)
{
	if (!table_rank ? settings.table : table_rank > 0 && settings.table > 1)
		cmpi_print_table(table_rank);
	cmpi_close_all();
}
