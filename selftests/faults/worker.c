// SPDX-License-Identifier: BSD-2-Clause
/*
 * One rank of a fault experiment. It does many operations in rounds, and compares each result with
 * a sum that does not come through the network. A round is a communicator: rendezvous, operations,
 * close. It runs in a child process, so that it may be killed. The rank goes on with the next
 * round, as a job does that restarts after a failure.
 *
 * Element i of rank r is a(r) * b(i) + c(r). All three are random. The time to compute the sum of
 * all ranks does not grow with their number: (sum of a) * b(i) + (sum of c).
 *
 *	worker --rank R --members N --root A --bind A [--engine E] ... as `canary allreduce`
 *	--rounds N --operations N --elements N --inflight N --seed N
 *	--vary			random lengths, up to --elements
 *	--same-id		all rounds have the communicator --comm; otherwise --comm + round
 *	--launched		a round begins when struct progress.open is larger than it, and is
 *				killed when progress.halt is: a launcher ends all ranks of a job
 *				before it starts them again
 *	--plan WHO:ROUND:OP:WHAT[:MS]	repeatable; WHO is a rank or "all"; before posting OP it
 *		die		is killed by SIGKILL
 *		slow		computes MS longer
 *		longer		posts a block more
 *		shift		posts a block more, and one less in the next operation
 *		barrier		posts a barrier instead
 *		quit		closes
 *		hold		waits until struct progress.go is as large as ROUND + 1
 *	--progress FILE		struct progress, for others to map
 *	--log FILE		a line of JSON at the end of each round
 *
 * The exit status is 0 if no result was wrong, whatever else happened.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define TICK_MS		10		/* between two updates of the progress */
#define LAUNCH_US	1000		/* between two looks at what the launcher says */
#define OPEN_SECONDS	60		/* until a member can be opened again */

struct flight {
	uint64_t	request;
	uint32_t	*data;
	size_t		n;
	unsigned int	op;
};

/* State of the present round */
static struct {
	struct canary	*comm;
	unsigned int	number;
	const char	*where;		/* what failed */
	int		error;
	double		connected, ended;
	uint64_t	blocks, operations, wrong;
	char		first_wrong[128];
} now;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t draw(uint64_t what, uint64_t op, uint64_t index)
{
	return mix(mix(mix(opt.seed ^ what << 56) ^ (uint64_t)now.number << 32 ^ op) ^ index);
}

static uint32_t factor(unsigned int op, size_t i)
{
	return draw(1, op, i) >> 32;
}

static const struct plan *planned(unsigned int op, enum action action)
{
	unsigned int i;

	for (i = 0; i < opt.nplans; i++)
		if ((opt.plans[i].rank < 0 || opt.plans[i].rank == opt.params.rank) &&
		    opt.plans[i].round == now.number && opt.plans[i].op == op &&
		    opt.plans[i].action == action)
			return &opt.plans[i];
	return NULL;
}

/* Elements of a vector. A plan may make it a block longer or shorter. */
static size_t length(unsigned int op)
{
	size_t n = opt.vary ? draw(2, op, 0) % (opt.elements + 1) : opt.elements;

	if (planned(op, BARRIER))
		return 0;
	if (planned(op, LONGER) || planned(op, SHIFT))
		n += shared->elements;
	if (op && planned(op - 1, SHIFT))
		n -= n < shared->elements ? n : shared->elements;
	return n;
}

static void fill(struct flight *f)
{
	uint64_t own = draw(3, f->op, opt.params.rank);
	uint32_t a = own, c = own >> 32;
	size_t i;

	for (i = 0; i < f->n; i++)
		f->data[i] = a * factor(f->op, i) + c;
}

static void verify(const struct flight *f)
{
	uint64_t own;
	uint32_t a = 0, c = 0, want;
	size_t i, wrong = 0;
	unsigned int r;

	for (r = 0; r < opt.params.members; r++) {
		own = draw(3, f->op, r);
		a += own;
		c += own >> 32;
	}
	for (i = 0; i < f->n; i++) {
		want = a * factor(f->op, i) + c;
		if (f->data[i] == want)
			continue;
		if (!now.wrong && !wrong)
			snprintf(now.first_wrong, sizeof(now.first_wrong),
				 "round %u operation %u element %zu is %u instead of %u",
				 now.number, f->op, i, f->data[i], want);
		wrong++;
	}
	now.wrong += wrong;
	shared->wrong += wrong;
	if (!wrong) {
		uint64_t blocks = (f->n + shared->elements - 1) / shared->elements;

		now.blocks += blocks;
		now.operations++;
		shared->blocks += blocks;
		shared->operations++;
	}
	shared->completed++;
}

static uint64_t counter(const char *name)
{
	struct canary_stat stats[512];
	int n = canary_stats(now.comm, stats, 512), i;

	for (i = 0; i < n && i < 512; i++)
		if (!strcmp(stats[i].name, name) && !stats[i].drop)
			return stats[i].value;
	return 0;
}

static void key(FILE *f, const char *name)
{
	putc('"', f);
	for (; *name; name++)
		putc(*name == '-' ? '_' : *name, f);
	fputs("\":", f);
}

static void log_stats(FILE *f)
{
	struct canary_stat stats[512];
	int n = now.comm ? canary_stats(now.comm, stats, 512) : 0, i, drop;

	for (drop = 0; drop < 2; drop++) {
		const char *comma = "";

		fprintf(f, ",\"%s\":{", drop ? "drops" : "stats");
		for (i = 0; i < n && i < 512; i++) {
			if (!!stats[i].drop != drop || !stats[i].value)
				continue;
			fputs(comma, f);
			key(f, stats[i].name);
			fprintf(f, "%llu", (unsigned long long)stats[i].value);
			comma = ",";
		}
		putc('}', f);
	}
}

static void log_ranks(FILE *f)
{
	uint16_t ranks[64];
	unsigned int n = 0, i;

	if (now.comm && now.error)
		n = canary_missing(now.comm, ranks, 64);
	fputs(",\"named\":[", f);
	for (i = 0; i < n && i < 64; i++)
		fprintf(f, i ? ",%u" : "%u", ranks[i]);
	putc(']', f);
}

/* Write each line at once, so that readers see whole lines. */
static void log_round(const char *outcome, bool full)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die_errno("log");
	fprintf(f, "{\"rank\":%u,\"round\":%u,\"outcome\":\"%s\"", opt.params.rank, now.number, outcome);
	if (full) {
		fprintf(f, ",\"error\":\"%s\",\"where\":\"%s\",\"operations\":%llu,\"blocks\":%llu"
			",\"wrong\":%llu,\"first_wrong\":\"%s\",\"seconds\":%.6f",
			now.error ? strerrorname_np(-now.error) : "", now.where,
			(unsigned long long)now.operations, (unsigned long long)now.blocks,
			(unsigned long long)now.wrong, now.first_wrong,
			now.connected ? now.ended - now.connected : 0);
		log_ranks(f);
		log_stats(f);
	}
	fputs("}\n", f);
	fclose(f);
	if (opt.log >= 0 && write(opt.log, text, size) != (ssize_t)size)
		die_errno("log");
	free(text);
}

static bool fails(const char *where, int error)
{
	if (error >= 0)
		return false;
	now.where = where;
	now.error = error;
	return true;
}

/*
 * May the error go away? An engine of the last round may still have the port, or the host's link
 * may be down.
 */
static bool may_pass(int err)
{
	return err == -EADDRINUSE || err == -EEXIST || err == -ENETUNREACH || err == -EHOSTUNREACH;
}

static bool open_comm(void)
{
	struct canary_params p = opt.params;
	double until = seconds() + OPEN_SECONDS;
	int err;

	if (!opt.same_id)
		p.comm += now.number;
	for (;;) {
		err = canary_open(&p, &now.comm);
		if (!may_pass(err) || seconds() > until)
			break;
		usleep(20000);
	}
	if (err)
		now.comm = NULL;
	return !fails("open", err);
}

static bool connect_comm(void)
{
	struct canary_info info;
	int err;

	do {
		err = canary_connect(now.comm, 1000);
	} while (err == -ETIMEDOUT);
	if (fails("connect", err))
		return false;
	if (canary_get_info(now.comm, &info, sizeof(info)) || !info.elements)
		info.elements = opt.params.members > 1 ? 1 : CANARY_ELEMENTS_MAX;
	shared->elements = info.elements;
	shared->connected = 1;
	now.connected = seconds();
	return true;
}

static void before(unsigned int op)
{
	volatile uint64_t *go = &shared->go;
	const struct plan *p;

	while (planned(op, HOLD) && *go <= now.number)
		usleep(TICK_MS * 1000);
	if (planned(op, DIE))
		kill(getpid(), SIGKILL);
	p = planned(op, SLOW);
	if (p)
		usleep(p->ms * 1000);
}

static bool post(struct flight *f, unsigned int op)
{
	int err;

	f->op = op;
	f->n = length(op);
	f->data = malloc(f->n * 4 + 4);
	if (!f->data)
		die_errno("vector");
	fill(f);
	for (;;) {
		err = canary_post(now.comm, f->data, f->data, f->n, CANARY_INT32, CANARY_OP_SUM,
				  &f->request);
		if (err != -EAGAIN)
			break;
		err = canary_room(now.comm, TICK_MS);
		if (err && err != -ETIMEDOUT)
			break;
	}
	shared->posted++;
	return !fails("post", err);
}

static bool complete(struct flight *f)
{
	int err;

	for (;;) {
		err = canary_wait(now.comm, f->request, TICK_MS);
		shared->round_blocks = counter("blocks-done");
		if (err != -ETIMEDOUT)
			break;
	}
	if (fails("wait", err))
		return false;
	now.ended = seconds();
	verify(f);
	free(f->data);
	f->data = NULL;
	return true;
}

/*
 * Ranks of the last round may still exist. They refuse a second process of their rank, and their
 * packets may spoil the rendezvous. So a job that restarts tries again.
 */
static bool join(void)
{
	double until = seconds() + OPEN_SECONDS;

	while (open_comm() && !connect_comm()) {
		if (!opt.same_id || seconds() > until)
			return false;
		canary_close(now.comm);
		now.error = 0;
		now.where = "";
		usleep(20000);
	}
	return !now.error;
}

static void operations(void)
{
	struct flight flights[INFLIGHT_MAX] = { 0 };
	unsigned int posted = 0, done = 0;

	while (done < opt.operations) {
		while (posted < opt.operations && posted - done < opt.inflight) {
			before(posted);
			if (planned(posted, QUIT) || !post(&flights[posted % INFLIGHT_MAX], posted))
				return;
			posted++;
		}
		if (!complete(&flights[done++ % INFLIGHT_MAX]))
			return;
	}
}

static int run_round(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	now.where = "";
	shared->connected = 0;
	shared->posted = 0;
	shared->completed = 0;
	shared->round_blocks = 0;
	if (join())
		operations();
	if (!now.ended || now.error)
		now.ended = seconds();
	if (now.error)
		shared->failed++;
	log_round(now.wrong ? "wrong" : now.error ? "failed" : "done", true);
	canary_close(now.comm);
	return now.wrong ? 1 : 0;
}

/* Wait until the round in process PID is over, or end it. */
static int await_round(pid_t pid)
{
	volatile uint64_t *halt = &shared->halt;
	int status;
	pid_t got;

	for (;;) {
		got = waitpid(pid, &status, opt.launched ? WNOHANG : 0);
		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			die_errno("waitpid");
		if (opt.launched && *halt > now.number)
			kill(pid, SIGKILL);
		if (opt.launched)
			usleep(LAUNCH_US);
	}
}

/* Return: was a result wrong, or did the round end in an unplanned way? */
static bool supervise(unsigned int round)
{
	volatile uint64_t *may_open = &shared->open;
	int status;
	pid_t pid;

	now.number = round;
	shared->round = round;
	while (opt.launched && *may_open <= round)
		usleep(LAUNCH_US);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die_errno("fork");
	if (!pid)
		_exit(run_round());
	status = await_round(pid);
	if (WIFEXITED(status))
		return WEXITSTATUS(status) != 0;
	log_round(WTERMSIG(status) == SIGKILL ? "killed" : "crashed", false);
	return WTERMSIG(status) != SIGKILL;
}

int main(int argc, char **argv)
{
	unsigned int round;
	bool bad = false;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	worker_options(argc, argv);
	shared->elements = 1;
	for (round = 0; round < opt.rounds; round++)
		bad |= supervise(round);
	shared->ended = 1;
	return bad ? 1 : 0;
}
