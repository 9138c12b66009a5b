// SPDX-License-Identifier: BSD-2-Clause
/*
 * canary_params_launcher(): what it makes of variables, line by line of a table, and what it does
 * if a launcher answers badly over PMI. Each line runs in a process of its own. launchers.sh runs
 * real launchers.
 */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/tap.h"
#include "own_net.h"
#include "userspace/lib/launcher.h"

#define SLURM(list)	"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NODELIST=" list
#define MPIRUN(r, n)	"OMPI_COMM_WORLD_RANK=" r " OMPI_COMM_WORLD_SIZE=" n
#define OTHER		" RANK=7 WORLD_SIZE=8 MASTER_ADDR=10.9.0.9"
#define TORCH(address)	"RANK=2 WORLD_SIZE=4 MASTER_PORT=29500 MASTER_ADDR=" address
#define ALL		CANARY_LAUNCHER_ALL
#define NO_ROOT		(ALL & ~CANARY_LAUNCHER_ROOT)

/*
 * A line of the table
 *
 * @env:	variables, separated by blanks
 * @want:	what is asked for
 * @ret:	what is returned
 * @rank, @members, @root:	what is then in the parameters. The port is not compared
 * @says:	part of the sentence of an error
 */
struct line {
	const char *env;
	unsigned int want;
	int ret;
	uint16_t rank, members;
	const char *root;
	const char *says;
};

/* What is found, what is not, and what is refused with a sentence */
#define FOUND(env_, want_, rank_, members_, root_) \
	{ .env = (env_), .want = (want_), .ret = 1, .rank = (rank_), .members = (members_), \
	  .root = (root_) }
#define NOTHING(env_)		{ .env = (env_), .want = ALL }
#define BAD(env_, ret_, says_)	{ .env = (env_), .want = ALL, .ret = (ret_), .says = (says_) }
#define BAD_TORCH(r, n, says_)	\
	BAD("RANK=" r " WORLD_SIZE=" n " MASTER_ADDR=10.9.0.1", -EINVAL, says_)

static const struct line lines[] = {
	NOTHING(""),
	NOTHING("CANARY_LAUNCHER=none " TORCH("10.9.0.1")),
	BAD("CANARY_LAUNCHER=prun", -EINVAL, "none of openmpi, pmi, slurm, torchrun"),

	FOUND(TORCH("10.9.0.1"), ALL, 2, 4, "10.9.0.1"),
	FOUND(TORCH("localhost"), ALL, 2, 4, "127.0.0.1"),
	FOUND(TORCH("10.9.0.1"), CANARY_LAUNCHER_RANK, 2, 1, "0.0.0.0"),
	FOUND(TORCH("10.9.0.1"), CANARY_LAUNCHER_MEMBERS, 0, 4, "0.0.0.0"),
	FOUND(TORCH("nowhere.invalid"), NO_ROOT, 2, 4, "0.0.0.0"),
	BAD(TORCH("nowhere.invalid"), -EADDRNOTAVAIL, "nowhere.invalid"),
	{ .env = TORCH("10.9.0.1"), .want = ALL & ~CANARY_LAUNCHER_RANK, .ret = -EINVAL,
	  .says = "rank 2 of 4, not 0 of 4" },
	{ .env = TORCH("10.9.0.1"), .want = 16, .ret = -EINVAL, .says = "0x10" },
	BAD("RANK=2 WORLD_SIZE=4", -EINVAL, "MASTER_ADDR is not"),
	BAD("RANK=2 MASTER_ADDR=10.9.0.1", -EINVAL, "WORLD_SIZE is not"),
	BAD("WORLD_SIZE=4 MASTER_ADDR=10.9.0.1", -EINVAL, "RANK is not"),
	NOTHING("RANK=2"),
	NOTHING("MASTER_ADDR=10.9.0.1 MASTER_PORT=1"),
	BAD_TORCH("4", "4", "RANK is '4', not a number from 0 to 3"),
	BAD_TORCH("-1", "4", "RANK is '-1'"),
	BAD_TORCH("1x", "4", "RANK is '1x'"),
	BAD_TORCH("", "4", "RANK is ''"),
	BAD_TORCH("0", "0", "WORLD_SIZE is '0'"),
	BAD_TORCH("0", "65536", "WORLD_SIZE is '65536', not a number from 1 to 65535"),

	FOUND(SLURM("10.9.0.2"), ALL, 2, 4, "10.9.0.2"),
	FOUND(SLURM("10.9.0.[3-4,7]"), ALL, 2, 4, "10.9.0.3"),
	FOUND(SLURM("10.9.0.5,10.9.0.6"), ALL, 2, 4, "10.9.0.5"),
	FOUND(SLURM("10.9.0.2") " SLURM_DISTRIBUTION=cyclic", ALL, 2, 4, "10.9.0.2"),
	BAD(SLURM("10.9.0.2") " SLURM_DISTRIBUTION=arbitrary", -EINVAL, "arbitrary"),
	BAD(SLURM("10.9.0.["), -EINVAL, "no list of hosts"),
	BAD(SLURM(""), -EINVAL, "no list of hosts"),
	BAD("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4", -EINVAL, "SLURM_STEP_NODELIST is not"),
	NOTHING("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_NODELIST=n[1-2]"),	/* a batch script */

	FOUND(MPIRUN("3", "5") " PMIX_NAMESPACE=1", NO_ROOT, 3, 5, "0.0.0.0"),
	BAD(MPIRUN("3", "5"), -EINVAL, "PMIX_NAMESPACE"),
	BAD(MPIRUN("5", "5"), -EINVAL, "0 to 4"),
	BAD("OMPI_COMM_WORLD_RANK=3", -EINVAL, "OMPI_COMM_WORLD_SIZE is not"),
	BAD("OMPI_COMM_WORLD_SIZE=3", -EINVAL, "OMPI_COMM_WORLD_RANK is not"),

	FOUND("PMI_RANK=3 PMI_SIZE=5", CANARY_LAUNCHER_RANK, 3, 1, "0.0.0.0"),
	BAD("PMI_RANK=3", -EINVAL, "PMI_SIZE is not"),
	BAD("PMI_RANK=3 PMI_SIZE=5", -EINVAL, "PMI_FD is not set"),
	BAD("PMI_RANK=3 PMI_SIZE=5 PMI_PORT=h:1", -EINVAL, "PMI_PORT is not supported"),
	BAD("PMI_RANK=3 PMI_SIZE=5 PMI_FD=x", -EINVAL, "PMI_FD is 'x'"),
	BAD("PMI_RANK=3 PMI_SIZE=5 PMI_FD=99", -EPIPE, "is gone"),

	/* One launcher inside another one */
	FOUND(SLURM("10.9.0.2") OTHER " TORCHELASTIC_RUN_ID=a", ALL, 7, 8, "10.9.0.9"),
	FOUND(SLURM("10.9.0.2") OTHER, ALL, 2, 4, "10.9.0.2"),
	FOUND(SLURM("10.9.0.2") OTHER " CANARY_LAUNCHER=torchrun", ALL, 7, 8, "10.9.0.9"),
	FOUND(SLURM("10.9.0.2") " " MPIRUN("1", "2") " PMIX_NAMESPACE=1", NO_ROOT, 1, 2, "0.0.0.0"),
};

static void set_variables(const char *env)
{
	char *text = strdup(env), *word, *save, *value;

	clearenv();
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		value = strchr(word, '=');
		*value++ = 0;
		setenv(word, value, 1);
	}
	free(text);
}

/* Run a function in a process of its own. Return: did it exit with 0? */
static bool in_process(int (*run)(const void *arg), const void *arg)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run(arg));
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static int run_line(const void *arg)
{
	const struct line *line = arg;
	const char *root = line->ret > 0 ? line->root : "0.0.0.0";
	uint16_t members = line->ret > 0 ? line->members : 1;
	uint16_t rank = line->ret > 0 ? line->rank : 0;
	struct canary_params p;
	char text[ADDRESS_TEXT];
	int ret;

	set_variables(line->env);
	canary_params_init(&p);
	ret = canary_params_launcher(&p, line->want);
	address_text(&p.root.addr, text);
	if (ret == line->ret && p.rank == rank && p.members == members && !strcmp(text, root) &&
	    (ret >= 0 || (line->says && strstr(canary_errmsg(), line->says))))
		return 0;
	printf("# returned %d, rank %u of %u, root %s: %s\n", ret, p.rank, p.members, text,
	       ret < 0 ? canary_errmsg() : "");
	fflush(stdout);
	return 1;
}

/* What a job's number becomes, and rank 0's port. 0: an error, which is printed */
static uint64_t number_of(const char *env)
{
	struct canary_params p;

	set_variables(env);
	canary_params_init(&p);
	if (canary_params_launcher(&p, ALL) == 1)
		return (uint64_t)ntohs(p.root.port) << 32 | p.comm;
	printf("# %s: %s\n", env, canary_errmsg());
	return 0;
}

#define JOB(rank, id)	"SLURM_CLUSTER_NAME=c SLURM_JOB_ID=" id " SLURM_STEP_ID=0" \
			" SLURM_PROCID=" rank " SLURM_STEP_NUM_TASKS=4" \
			" SLURM_STEP_NODELIST=10.9.0.2"

static void test_numbers(void)
{
	uint64_t one = number_of(JOB("0", "17")), port = one >> 32, comm;
	bool within = true, differ = false;
	char env[256];
	int i;

	tap(one && one == number_of(JOB("3", "17")), "number: the same at all ranks of a job");
	tap(port >= CANARY_PORT_BASE && port < CANARY_PORT_BASE + CANARY_PORTS,
	    "number: the port is one of Canary's");
	tap((uint32_t)one != (uint32_t)number_of(JOB("0", "18")),
	    "number: another one in another job");
	tap((uint32_t)number_of(JOB("0", "17") " CANARY_COMM=7") == 7, "number: CANARY_COMM");
	for (i = 0; i < 100; i++) {
		snprintf(env, sizeof(env), JOB("1", "%d") " CANARY_COMM=100-103", i);
		comm = (uint32_t)number_of(env);
		within &= comm >= 100 && comm <= 103;
		differ |= comm != (uint32_t)number_of(JOB("1", "0") " CANARY_COMM=100-103");
	}
	tap(within && differ, "number: within the range of CANARY_COMM, and not always the same");
	tap(!number_of(JOB("0", "17") " CANARY_COMM=9-7") &&
	    strstr(canary_errmsg(), "FIRST[-LAST]"), "number: CANARY_COMM is no range");
}

#define ELASTIC(restarts)	TORCH("10.9.0.1") " TORCHELASTIC_RUN_ID=a" \
				" TORCHELASTIC_RESTART_COUNT=" restarts

/* After a failure at one host, its agent counts a restart. The other agents do not. */
static void test_restarts(void)
{
	uint64_t one = number_of(ELASTIC("1"));

	tap(one && one == number_of(ELASTIC("0")), "number: whatever restarts a host counts");
	tap(one != number_of(ELASTIC("0") " MASTER_PORT=29501"), "number: of another port");
}

/* What a program opened in place of the launcher's descriptor is not written to. */
static int run_stale(const void *arg)
{
	char file[] = "/tmp/launcher_test.XXXXXX", env[64];
	struct canary_params p;
	int fd = mkstemp(file), ret;

	if (fd < 0 || unlink(file))
		return 2;
	snprintf(env, sizeof(env), "PMI_RANK=1 PMI_SIZE=3 PMI_FD=%d", fd);
	set_variables(env);
	canary_params_init(&p);
	ret = canary_params_launcher(&p, ALL);
	return ret != -ENOTSOCK || !strstr(canary_errmsg(), "no socket") || lseek(fd, 0, SEEK_END);
}

static void test_lists(void)
{
	static const struct {
		const char *list, *first;
	} lists[] = {
		{ "a", "a" }, { "a,b", "a" }, { "node[03-05,7],login", "node03" },
		{ "n[7,3]", "n7" }, { "rack[1-2]n[0-3]x", "rack1n0x" }, { "[5-9]", "5" },
		{ "", NULL }, { ",a", NULL },
		{ "a[", NULL }, { "a]", NULL }, { "a[[1]]", NULL },
		{ "a-name-that-is-longer-than-the-room", NULL },
	};
	bool good = true, found;
	char name[16];
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		found = launcher_first_host(lists[i].list, name, sizeof(name));
		if (found == !!lists[i].first && (!found || !strcmp(name, lists[i].first)))
			continue;
		printf("# '%s' begins with '%s'\n", lists[i].list, found ? name : "nothing");
		good = false;
	}
	tap(good, "the first host of lists as Slurm writes them");
}

/* ---- PMI-1: a launcher that sends what the test has prepared ---- */

#define INIT	"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define NAME	"cmd=my_kvsname kvsname=kvs_1\n"
#define PUT	"cmd=put_result rc=0 msg=success\n"
#define BARRIER	"cmd=barrier_out\n"
#define GET(v)	"cmd=get_result rc=0 msg=success value=" v "\n"
#define END	"cmd=finalize_ack\n"
#define LONG	"1111111111222222222233333333334444444444555555555566666666667777777777"

static const struct talk {
	const char *what, *rank, *sent;
	int ret;
	const char *root, *says;
} talks[] = {
	{ "an address", "1", INIT NAME BARRIER GET("10.9.0.1:22605") END, 1,
	  .root = "10.9.0.1:22605" },
	{ "rank 0: the own address", "0", INIT NAME PUT BARRIER END, 1, .root = "127.0.0.1:" },
	{ "rank 0 has none", "1", INIT NAME BARRIER GET("none") END, -EADDRNOTAVAIL,
	  .says = "rank 0 has no address" },
	{ "no address", "1", INIT NAME BARRIER GET("x") END, -EINVAL, .says = "'x'" },
	{ "no value", "1", INIT NAME BARRIER "cmd=get_result rc=0\n" END, -EPROTO,
	  .says = "get_result" },
	{ "no such key", "1", INIT NAME BARRIER "cmd=get_result rc=-1\n" END, -EPROTO,
	  .says = "rc=-1" },
	{ "a value that is too long", "1", INIT NAME BARRIER GET(LONG) END, -EPROTO,
	  .says = "get_result" },
	{ "another answer", "1", "cmd=oops\n", -EPROTO, .says = "'cmd=oops'" },
	{ "no answer", "1", INIT "cmd=my_kv", -EPIPE, .says = "is gone" },
	{ "no name", "1", INIT "cmd=my_kvsname\n", -EPROTO, .says = "my_kvsname" },
};

static int run_talk(const void *arg)
{
	const struct talk *talk = arg;
	struct canary_params p, again;
	char env[64], text[ADDRESS_TEXT];
	int fd[2], ret;
	ssize_t len = strlen(talk->sent);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) || write(fd[1], talk->sent, len) != len ||
	    shutdown(fd[1], SHUT_WR))
		return 2;
	snprintf(env, sizeof(env), "PMI_RANK=%s PMI_SIZE=3 MPI_LOCALNRANKS=3 PMI_FD=%d",
		 talk->rank, fd[0]);
	set_variables(env);
	canary_params_init(&p);
	ret = canary_params_launcher(&p, ALL);
	address_port_text(&p.root.addr, p.root.port, text);
	if (ret != talk->ret || (ret < 0 && !strstr(canary_errmsg(), talk->says)) ||
	    (ret > 0 && strncmp(text, talk->root, strlen(talk->root)))) {
		printf("# returned %d, root %s: %s\n", ret, text, ret < 0 ? canary_errmsg() : "");
		fflush(stdout);
		return 1;
	}
	canary_params_init(&again);
	if (ret > 0 &&
	    (canary_params_launcher(&again, ALL) != 1 || memcmp(&p, &again, sizeof(p)))) {
		printf("# the second call: %s\n", canary_errmsg());
		fflush(stdout);
		return 1;
	}
	return 0;
}

int main(void)
{
	size_t i;

	if (!own_net()) {
		tap_skip("everything", "no network namespace");
		return tap_done("user-launcher");
	}
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		tap(in_process(run_line, &lines[i]), "variables: %s",
		    *lines[i].env ? lines[i].env : "none");
	test_lists();
	test_numbers();
	test_restarts();
	tap(in_process(run_stale, NULL), "PMI: a descriptor that is a file");
	for (i = 0; i < sizeof(talks) / sizeof(talks[0]); i++)
		tap(in_process(run_talk, &talks[i]), "PMI: %s", talks[i].what);
	return tap_done("user-launcher");
}
