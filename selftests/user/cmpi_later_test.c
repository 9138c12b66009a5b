// SPDX-License-Identifier: BSD-2-Clause
/*
 * Forming a communicator without waiting (userspace/mpi/forming.c), without an MPI library:
 * requests that come meanwhile, calls that end it, ranks where it fails. Ranks are processes in a
 * network namespace of their own. Their host functions are made of shared memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_net.h"
#include "selftests/tap.h"
#include "userspace/mpi/cmpi.h"

#define RANKS	3
#define ROOM	512	/* bytes of a rank in an exchange */
#define WAITING	12	/* requests that come while the communicator is formed */
#define MOST	64	/* likewise: for so many operations, canary has room */
#define LENGTH	4096	/* elements, 16 KiB */
#define LONGER	(256 * LENGTH)

/*
 * What ranks share. @told, @agreeing: how many have begun; @value, @least: of each rank, in the
 * agreement, and in calls that wait
 */
static struct {
	pthread_barrier_t	barrier;
	unsigned int		told, agreeing;
	char			hello[RANKS][ROOM];
	int			value[RANKS], least[RANKS];
} *shared;

/*
 * A communicator of a rank. @broken: the host function, counted from 1, that fails. @waiting
 * requests have their vectors in @v, one behind the other. The first one has @first elements
 */
static struct {
	struct cmpi_comm	c;
	struct cmpi_queue	q;
	struct cmpi_request	r[MOST];
	int32_t			*v;
	size_t			first;
	int			waiting;
	int			taken, wrong;	/* requests that ended, and that did so wrongly */
	bool			agreement;
	void			*all;
	size_t			bytes;
	int			*value;
	int			by_host;	/* calls of by_host() */
	int			broken;
} my;

static const struct cmpi_args request = { CMPI_IALLREDUCE, CANARY_INT32, CANARY_OP_SUM, LENGTH };

static int exchange(void *arg, const void *mine, void *all, size_t bytes, int *value)
{
	if (bytes > ROOM || my.broken == 1)
		return -1;
	memcpy(shared->hello[my.c.rank], mine, bytes);
	my.all = all;
	my.bytes = bytes;
	my.value = value;
	__atomic_fetch_add(&shared->told, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int agree(void *arg)
{
	if (my.broken == 2)
		return -1;
	my.agreement = true;
	shared->value[my.c.rank] = *my.value;
	__atomic_fetch_add(&shared->agreeing, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int ended(void *arg, bool *ended)
{
	unsigned int *begun = my.agreement ? &shared->agreeing : &shared->told;
	int i;

	*ended = __atomic_load_n(begun, __ATOMIC_SEQ_CST) == RANKS;
	for (i = 0; *ended && i < RANKS; i++) {
		if (!my.agreement)
			memcpy((char *)my.all + i * my.bytes, shared->hello[i], my.bytes);
		else if (shared->value[i] < *my.value)
			*my.value = shared->value[i];
	}
	return my.broken == 3 ? -1 : 0;
}

static bool by_host(struct cmpi_request *r)
{
	my.by_host++;
	return true;
}

static int least(void *arg, int *value)
{
	int i;

	shared->least[my.c.rank] = *value;
	pthread_barrier_wait(&shared->barrier);
	for (i = 0; i < RANKS; i++)
		if (shared->least[i] < *value)
			*value = shared->least[i];
	pthread_barrier_wait(&shared->barrier);
	return 0;
}

/* A rank may run an operation that others do not, which ends the communicator. */
static int sum(void *arg, double *v, size_t count)
{
	static uint8_t bit;
	uint64_t id;

	pthread_barrier_wait(&shared->barrier);
	if (my.broken == 5 && my.c.rank == 1 && my.c.canary)
		canary_post(my.c.canary, &bit, &bit, 1, CANARY_UINT8, CANARY_OP_XOR, &id);
	return my.broken == 4 ? -1 : 0;
}

/* As Open MPI's progress does */
static void progress(void)
{
	struct cmpi_request *r;

	if (my.c.forming)
		cmpi_forming_free(cmpi_forming_advance(&my.c));
	for (r = cmpi_queue_take(&my.q); r; r = r->next)
		my.wrong += r != &my.r[my.taken++] || r->err;
}

static const struct cmpi_later later = { exchange, agree, ended };
static const struct cmpi_host host = {
	.least = least, .sum = sum, .progress = progress, .later = &later, .queue = &my.q,
};

static int use(const struct cmpi_settings *s, const struct cmpi_args *args, enum cmpi_why want)
{
	enum cmpi_why why;

	return cmpi_use(&my.c, s, &host, 12345, args, &why) || why != want;
}

static size_t length(int k)
{
	return k ? LENGTH : my.first;
}

/* Element @i of request @k */
static int32_t *at(int k, size_t i)
{
	return my.v + (k ? my.first + (k - 1) * LENGTH : 0) + i;
}

/* The first request begins, and others come before it can go on. */
static int begin(const struct cmpi_settings *s)
{
	struct cmpi_args args = request;
	struct canary_call call;
	int i, k, wrong;

	my.v = malloc((my.first + my.waiting * LENGTH) * sizeof(*my.v));
	wrong = !my.v || use(s, &args, CMPI_NOT_FORMED) || my.c.state != CMPI_FORMING;
	for (k = 0; !wrong && k < my.waiting; k++) {
		args.count = length(k);
		for (i = 0; i < args.count; i++)
			*at(k, i) = i + my.c.rank + k;
		wrong += use(s, &args, CMPI_CANARY);
		call = cmpi_describe(s, &args, at(k, 0), at(k, 0));
		wrong += cmpi_queue_add(&my.q, &my.r[k], &call) != -EAGAIN;
	}
	return wrong + !!cmpi_queue_take(&my.q);
}

static int take(void)
{
	while (my.taken < my.waiting)
		progress();
	return my.wrong;
}

static int sums(void)
{
	int i, k, wrong = 0;

	for (k = 0; k < my.waiting; k++)
		for (i = 0; i < length(k); i++)
			wrong += *at(k, i) != RANKS * (i + k) + RANKS * (RANKS - 1) / 2;
	return wrong;
}

static int leave(int wrong)
{
	pthread_barrier_wait(&shared->barrier);
	cmpi_close(&my.c);
	cmpi_close_all();
	return wrong;
}

static int works(struct cmpi_settings *s)
{
	int wrong = begin(s) + take() + sums();

	return leave(wrong + (my.c.state != CMPI_FORMED) + my.by_host);
}

/* One that waits comes. A shorter one would not. */
static int call_waits(struct cmpi_settings *s)
{
	struct cmpi_args call = request;
	int wrong;

	call.call = CMPI_ALLREDUCE;
	call.count = 10;
	wrong = begin(s) + use(s, &call, CMPI_SHORT) + (my.c.state != CMPI_FORMING);
	call.count = LENGTH;
	wrong += use(s, &call, CMPI_CANARY) + (my.c.state != CMPI_FORMED);
	return leave(wrong + take() + sums());
}

/*
 * Ranks learn at different times that it is formed. So lengths from where it begins must not
 * change.
 */
static int threshold(struct cmpi_settings *s)
{
	struct cmpi_args shorter = request;
	int wrong;

	s->min_bytes = 0;
	shorter.count = CMPI_UNMEASURED / 4 - 1;
	wrong = begin(s) + use(s, &shorter, CMPI_SHORT) + take() + use(s, &shorter, CMPI_SHORT);
	return leave(wrong + use(s, &request, CMPI_CANARY) + sums());
}

/*
 * The first call that waits measures. Requests have all the room then, so that a sum may have none
 * at some ranks only.
 */
static int measures(struct cmpi_settings *s)
{
	struct cmpi_args call = request;
	enum cmpi_why why;
	int wrong;

	call.call = CMPI_ALLREDUCE;
	s->min_bytes = 0;
	my.waiting = MOST;
	my.first = LONGER;
	wrong = begin(s) + !!cmpi_use(&my.c, s, &host, 12345, &call, &why) + !my.c.measured;
	return leave(wrong + take() + sums() + !my.c.canary);
}

/* An error of the MPI library ends that. Requests that were under way fail. */
static int measures_in_vain(struct cmpi_settings *s)
{
	struct cmpi_args call = request;
	enum cmpi_why why;
	int wrong;

	call.call = CMPI_ALLREDUCE;
	s->min_bytes = 0;
	my.first = LONGER;
	my.broken = 4;
	wrong = begin(s) + (cmpi_use(&my.c, s, &host, 12345, &call, &why) != -1);
	take();
	return leave(wrong + my.by_host + use(s, &request, CMPI_REFUSED));
}

/* Memory that a process does not get is no reason to end it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/*
 * One rank has no memory for a call. Its next one, of the same length, must not take part in the
 * place of that. The others hear of it.
 */
static int without_memory(struct cmpi_settings *s)
{
	struct cmpi_args args = request;
	struct rlimit limit, low;
	struct canary_call call;
	static int32_t v[LONGER];
	int k, wrong;

	args.call = CMPI_ALLREDUCE;
	args.count = LONGER;
	wrong = begin(s) + use(s, &args, CMPI_CANARY) + take();
	getrlimit(RLIMIT_AS, &limit);
	low = limit;
	low.rlim_cur = 1 << 20;
	if (my.c.rank == 1)
		setrlimit(RLIMIT_AS, &low);
	call = cmpi_describe(s, &args, v, v);
	for (k = 0; k < 2; k++) {
		wrong += !cmpi_run(&my.q, s, &args, &call, true, progress);
		setrlimit(RLIMIT_AS, &limit);
	}
	return leave(wrong);
}

/* Canary does not work any more. All ranks find that, and nothing was measured. */
static int measures_what_breaks(struct cmpi_settings *s)
{
	struct cmpi_args call = request;
	int wrong;

	call.call = CMPI_ALLREDUCE;
	s->min_bytes = 0;
	my.waiting = 0;
	my.broken = 5;
	wrong = begin(s) + use(s, &call, CMPI_REFUSED) + !!cmpi_threshold(RANKS);
	my.broken = 0;
	return leave(wrong + use(s, &request, CMPI_REFUSED));
}

/* Requests go to the host functions, and so do those that come later. */
static int fails(struct cmpi_settings *s)
{
	int wrong = begin(s) + take() + (my.by_host != my.waiting) + (my.c.state != CMPI_FAILED);

	return leave(wrong + use(s, &request, CMPI_REFUSED) + !!my.c.canary);
}

static int without_port(struct cmpi_settings *s)
{
	if (my.c.rank == 2)
		s->interfaces = "nosuch0";
	return fails(s);
}

static int other_key(struct cmpi_settings *s)
{
	char file[] = "/tmp/cmpi_later.XXXXXX";
	int wrong, fd;

	s->trial = 3600000;	/* nobody waits for it */
	if (my.c.rank != 1)
		return fails(s);
	fd = mkstemp(file);
	if (fd < 0 || write(fd, "00112233445566778899aabbccddeeff", 32) != 32)
		return 1;
	close(fd);
	s->key_file = file;
	wrong = fails(s);
	unlink(file);
	return wrong;
}

/* No call may go on to wait for ranks that did not get so far. */
static int host_error(struct cmpi_settings *s)
{
	enum cmpi_why why;

	my.broken = 1;
	return leave(cmpi_use(&my.c, s, &host, 12345, &request, &why) != -1 ||
		     use(s, &request, CMPI_REFUSED));
}

static int late_error(struct cmpi_settings *s)
{
	s->trial = 1000;
	my.broken = 2 + my.c.rank % 2;
	return fails(s);
}

static void run(int (*what)(struct cmpi_settings *s), const char *name)
{
	int i, status, wrong = 0;
	pid_t pid[RANKS];

	fflush(stdout);
	shared->told = 0;
	shared->agreeing = 0;
	for (i = 0; i < RANKS; i++) {
		struct cmpi_settings s;
		char why[200];

		pid[i] = fork();
		if (pid[i])
			continue;
		alarm(100);
		cmpi_settings_take(&s, NULL, NULL, why, sizeof(why));
		s.engine = "user";
		s.one_host = 1;
		s.min_bytes = 16384;
		my.c = (struct cmpi_comm){ .members = RANKS, .rank = i, .peers = true };
		cmpi_queue_init(&my.q, &my.c);
		my.q.by_host = by_host;
		my.waiting = WAITING;
		my.first = LENGTH;
		_exit(!!what(&s));
	}
	for (i = 0; i < RANKS; i++)
		wrong += waitpid(pid[i], &status, 0) != pid[i] || status;
	tap(!wrong, "%s", name);
}

int main(void)
{
	pthread_barrierattr_t attr;

	if (!own_net()) {
		tap_skip("forming without waiting", "no network namespace of its own");
		return tap_done("user/cmpi_later");
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, RANKS);
	run(works, "requests wait until the communicator is formed");
	run(call_waits, "a call that waits ends that, a short one does not");
	run(threshold, "the threshold does not change meanwhile");
	run(measures, "lengths are measured while requests have all the room");
	run(measures_in_vain, "and an error of the MPI library then");
	run(measures_what_breaks, "and an error of canary");
	run(without_memory, "a rank without memory for a call");
	run(without_port, "a rank without an address: the host functions carry them out");
	run(other_key, "a rank with another key: likewise");
	run(host_error, "an error of the MPI library at once");
	run(late_error, "and later");
	return tap_done("user/cmpi_later");
}
