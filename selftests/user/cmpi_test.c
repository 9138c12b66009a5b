// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is common to MPI libraries (userspace/mpi/), without one: settings, decisions, addresses,
 * and forming communicators with the user engine and, where the module is loaded, AF_CANARY. Ranks
 * are processes in a network namespace of their own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/platform.h"
#include "cmpi_ranks.h"
#include "own_net.h"
#include "selftests/tap.h"
#include "userspace/common/own_address.h"
#include "userspace/mpi/cmpi.h"

/* ---- settings ---- */

static void test_environment(void)
{
	struct cmpi_settings s;
	char why[200];

	setenv("CANARY_MIN_BYTES", "77", 1);
	setenv("CANARY_COMM", "5-6", 1);
	setenv("CANARY_SPIN", "", 1);
	tap(!cmpi_settings_take(&s, NULL, NULL, why, sizeof(why)) && s.min_bytes == 77 &&
	    !strcmp(s.comm, "5-6") && s.comm_last == 6 && s.spin == 20, "settings of the environment");
	setenv("CANARY_MIN_BYTES", "much", 1);
	setenv("CANARY_TABLE", "2", 1);
	tap(cmpi_settings_take(&s, NULL, NULL, why, sizeof(why)) == -EINVAL && !s.min_bytes &&
	    s.table == 2 && strstr(why, "CANARY_MIN_BYTES: 'much' is not a number of bytes"),
	    "one that is no number");
	unsetenv("CANARY_MIN_BYTES");
	unsetenv("CANARY_COMM");
	unsetenv("CANARY_SPIN");
	unsetenv("CANARY_TABLE");
}

#define LONG "0123456789012345678901234567890123456789"

/* Take a value of one setting, and the defaults of all others. Return: what is said, "" if nothing */
static const char *take(struct cmpi_settings *s, const char *name, const char *value)
{
	const char *texts[CMPI_SETTINGS] = { NULL };
	static char why[200];
	int i, err;

	for (i = 0; strcmp(cmpi_setting_table[i].name, name); i++)
		;
	texts[i] = value;
	err = cmpi_settings_take(s, texts, "x_", why, sizeof(why));
	return err == (why[0] ? -EINVAL : 0) ? why : "another error";
}

static void test_values(void)
{
	static const struct {
		const char *name, *value, *said;
	} wrong[] = {
		{ "comm", "9-3", "x_comm: '9-3' is no number or range FIRST-LAST, 0 to 4294967295" },
		{ "engine", "steam", "x_engine: 'steam' " },
		{ "floats", "saturate", "x_floats: 'saturate' is none of exact" },
		{ "floats", "soft", "x_floats: 'soft' is none of exact" },
		{ "mtu", "575", "x_mtu: '575' is not a number of bytes, as 8192 or 8K, from 576 to 9000" },
		{ "dead_after", "99", "x_dead_after: '99' is not a time in ms, as 100 or 5s, from 100 " },
		{ "dead_after", "5us", "x_dead_after: '5us'" },
		{ "enable", "maybe", "x_enable: 'maybe' is none of 1, 0, yes" },
		{ "enable", "2", "x_enable: '2'" },
		{ "table", "all", "x_table: 'all' is not a number from 0 to 2" },
		{ "min_members", "3K", "x_min_members: '3K' is not a number" },
		{ "min_bytes", "4G", "x_min_bytes: '4G'" },
		{ "min_bytes", "-1", "x_min_bytes: '-1'" },
		{ "spin", "soon", "x_spin: 'soon' is not a time in us" },
		{ "comm", "1\n-\xff", "x_comm: '1?-?' is no number" },
		{ "min_bytes", LONG LONG, "x_min_bytes: '" LONG },
	};
	struct cmpi_settings s;
	bool good = true;
	int i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const char *said = take(&s, wrong[i].name, wrong[i].value);

		if (strncmp(said, wrong[i].said, strlen(wrong[i].said))) {
			printf("# %s, not %s\n", said, wrong[i].said);
			good = false;
		}
	}
	tap(good, "settings that are wrong are named");
	tap(!*take(&s, "min_bytes", "8K") && s.min_bytes == 8192, "a size with a unit");
	tap(!*take(&s, "table", "on") && s.table == 1 && !*take(&s, "table", "2") && s.table == 2,
	    "a word for the first of two numbers");
	tap(!*take(&s, "trial", "2s") && s.trial == 2000, "a time with a unit");
	tap(!*take(&s, "enable", "Yes") && s.enable == 1 && !*take(&s, "reduce", "off") && !s.reduce,
	    "words for on and off");
	tap(*take(&s, "enable", "maybe") && s.enable && *take(&s, "mtu", "1") && !s.enable,
	    "a wrong word wants Canary, another wrong value does not");
	tap(!*take(&s, "floats", NULL) && !s.how && !strcmp(s.key_file, "") &&
	    !*take(&s, "comm", "") && s.comm_last == 99, "no text is the default");
	tap(!*take(&s, "floats", "exact,narrow") &&
	    s.how == (CANARY_HOW_EXACT | CANARY_HOW_NARROW), "words of floats");
}

/* Each setting that decides changes the fingerprint, and no other does. */
static void test_fingerprint(void)
{
	struct cmpi_fingerprint first, other;
	char text[CMPI_DIFFERS], want[CMPI_DIFFERS];
	struct cmpi_settings s;
	int wrong = 0, i;

	defaults(&s);
	cmpi_fingerprint_fill(&first, &s, "");
	for (i = 0; i < CMPI_SETTINGS; i++) {
		const struct cmpi_setting *row = &cmpi_setting_table[i];
		void *value = (char *)&s + row->offset;

		defaults(&s);
		if (row->kind == CMPI_TEXT)
			*(const char **)value = "another one";
		else
			++*(unsigned int *)value;
		cmpi_fingerprint_fill(&other, &s, "");
		snprintf(want, sizeof(want), "has another value of x_%s", row->name);
		cmpi_fingerprint_differs(&first, &other, "x_", text);
		wrong += row->decides == cmpi_fingerprint_alike(&first, &other) ||
			 (row->decides && strcmp(text, want));
	}
	tap(!wrong, "fingerprints of %d settings", i);
	defaults(&s);
	s.min_bytes++;
	s.comm = "7";
	cmpi_fingerprint_fill(&other, &s, "");
	tap(!strcmp(cmpi_fingerprint_differs(&first, &other, NULL, text),
		    "has another value of CANARY_MIN_BYTES, CANARY_COMM"), "two that differ");
	defaults(&s);
	setenv("CANARY_TEST_VERSION", "9.9.9", 1);
	cmpi_fingerprint_fill(&other, &s, "");
	tap(!cmpi_fingerprint_alike(&first, &other) &&
	    !strcmp(cmpi_fingerprint_differs(&first, &other, NULL, text),
		    "has another version of Canary, 9.9.9"), "the fingerprint of another version");
	unsetenv("CANARY_TEST_VERSION");
	cmpi_fingerprint_fill(&other, &s, "no luck");
	tap(!cmpi_fingerprint_alike(&other, &other) &&
	    !strcmp(cmpi_fingerprint_differs(&first, &other, NULL, text),
		    "cannot use Canary: no luck"), "that of a process with wrong settings");
}

/* ---- decisions ---- */

static bool decides(const struct cmpi_settings *s, struct cmpi_comm c, struct cmpi_args a,
		    enum cmpi_why want)
{
	enum cmpi_why got = cmpi_decide(s, &c, &a);

	if (got != want)
		printf("# %s, not %s\n", cmpi_why_name(got), cmpi_why_name(want));
	return got == want;
}

static void test_greeting(void)
{
	struct cmpi_greeting a, b;
	struct cmpi_settings s;

	defaults(&s);
	cmpi_greeting_fill(&a, &s, "");
	s.table = 1;
	cmpi_greeting_fill(&b, &s, "");
	tap(cmpi_greeting_alike(&a, &b) && cmpi_greeting_one_host(&a, &b), "greetings are alike");
	s.one_host = 0;
	cmpi_greeting_fill(&b, &s, "");
	b.addr.word[3] ^= 1;
	tap(!cmpi_greeting_alike(&a, &b) && !cmpi_greeting_one_host(&a, &b),
	    "of other settings and from another host they are not");
	s.interfaces = "nosuch0";
	cmpi_greeting_fill(&a, &s, "");
	tap(cmpi_greeting_alike(&a, &a) && !cmpi_greeting_one_host(&a, &a),
	    "processes without an address are not on one host");
}

/* What is measured again takes no more room. */
static void test_decide(void)
{
	const struct cmpi_comm c = { .members = 8, .peers = true };
	const struct cmpi_args a = { CMPI_ALLREDUCE, CANARY_FLOAT64, CANARY_OP_SUM, 2048 };
	struct cmpi_settings s;
	struct cmpi_comm other;
	struct cmpi_args args;
	bool good;

	defaults(&s);
	s.one_host = 0;
	good = decides(&s, c, a, CMPI_CANARY);
	args = a;
	args.count = 2047;
	good &= decides(&s, c, args, CMPI_SHORT);
	args.count = 0;
	good &= decides(&s, c, args, CMPI_SHORT);
	args.count = (1 << 27) + 1;
	good &= decides(&s, c, args, CMPI_LONG);
	s.max_bytes = UINT32_MAX;
	args.count = (size_t)UINT32_MAX;
	good &= decides(&s, c, args, CMPI_LONG);
	s.min_bytes = 0;
	args.count = CMPI_LEAST_BYTES / 8;
	good &= decides(&s, c, args, CMPI_CANARY);
	args.count--;
	good &= decides(&s, c, args, CMPI_SHORT);
	other = c;
	other.state = CMPI_FORMED;
	other.min_bytes = 800;
	args.count = 100;
	good &= decides(&s, other, args, CMPI_CANARY);
	args.count = 99;
	good &= decides(&s, other, args, CMPI_SHORT);
	other.min_bytes = CMPI_NEVER;
	args.count = CANARY_BYTES_MAX / 8;
	good &= decides(&s, other, args, CMPI_SHORT);
	tap(good, "decisions by length");
	args = a;
	args.dtype = 0;
	good = decides(&s, c, args, CMPI_TYPE);
	args = a;
	args.op = 0;
	good &= decides(&s, c, args, CMPI_OPERATOR);
	args.op = CANARY_OP_XOR;
	good &= decides(&s, c, args, CMPI_OPERATOR);
	args = (struct cmpi_args){ .call = CMPI_BARRIER };
	good &= decides(&s, c, args, CMPI_OFF);
	s.barrier = 1;
	good &= decides(&s, c, args, CMPI_CANARY);
	args = a;
	args.call = CMPI_REDUCE;
	good &= decides(&s, c, args, CMPI_CANARY);
	s.reduce = 0;
	good &= decides(&s, c, args, CMPI_OFF);
	tap(good, "by function, type and operator");
	other = c;
	other.members = 2;
	good = decides(&s, other, a, CMPI_MEMBERS);
	other = c;
	other.one_host = true;
	good &= decides(&s, other, a, CMPI_ONE_HOST);
	other = c;
	other.peers = false;
	good &= decides(&s, other, a, CMPI_PEERS) && !cmpi_usable(&s, &other);
	other = c;
	other.state = CMPI_FAILED;
	good &= decides(&s, other, a, CMPI_REFUSED);
	tap(good, "by communicator");
}

/* ---- addresses ---- */

static bool own(const char *interfaces, const char *want)
{
	struct canary_addr addr;
	unsigned int mtu = 0;
	int err = own_address(interfaces, true, &addr, &mtu);

	return err ? !want : want && mtu && canary_addr_ip4(&addr) == inet_addr(want);
}

/* Names that there are not, and b0 behind them */
static const char *long_list(void)
{
	static char list[2000];
	size_t at = 0;

	while (at < sizeof(list) - 20)
		at += snprintf(list + at, sizeof(list) - at, "nosuch0,");
	snprintf(list + at, sizeof(list) - at, "b0");
	return list;
}

static void test_addresses(void)
{
	struct canary_addr addr;
	unsigned int mtu;
	bool good;

	tap(own("", "127.0.0.1"), "where there is no other, the loopback's address");
	tap(own_address("", false, &addr, &mtu) == -EADDRNOTAVAIL, "or none, if that will not do");
	if (system("ip link add a0 type veth peer name b0 && "
		   "ip addr add 10.5.0.1/24 dev a0 && ip addr add 10.6.0.1/24 dev b0 && "
		   "ip link set b0 up mtu 1400")) {
		tap_skip("several interfaces", "no veth can be made");
		return;
	}
	good = own("", "10.6.0.1") && own("a0", NULL);
	good &= !system("ip link set a0 up");
	good &= own("a0", "10.5.0.1") && own("10.6.0.0/16", "10.6.0.1") && own("lo", "127.0.0.1");
	good &= own("nosuch0,b0,a0", "10.6.0.1") && own("10.7.0.0/16", NULL) && own("c0", NULL);
	tap(good, "of several interfaces, the one that is asked for and up");
	tap(own(long_list(), "10.6.0.1"), "at the end of a long list");
	if (system("ip link del a0"))
		tap(false, "they are removed");
}

/* ---- communicators ---- */

static int sum(struct cmpi_comm *c, int turn)
{
	int32_t v[5000];
	uint64_t request;
	int i, wrong = 0;

	for (i = 0; i < 5000; i++)
		v[i] = i + rank + turn;
	if (canary_post(c->canary, v, v, 5000, CANARY_INT32, CANARY_OP_SUM, &request) ||
	    cmpi_wait(c, request, NULL, 10))
		return 1;
	for (i = 0; i < 5000; i++)
		wrong += v[i] != RANKS * (i + turn) + RANKS * (RANKS - 1) / 2;
	return wrong;
}

/* Several communicators; a child that closes and exits takes none of them away. */
static int works(struct cmpi_settings *s)
{
	struct cmpi_comm c[4];
	int i, wrong = 0;
	pid_t child;

	for (i = 0; i < 4; i++) {
		c[i] = (struct cmpi_comm){ .members = RANKS, .rank = rank, .peers = true };
		wrong += cmpi_form(&c[i], s, &host, 12345) || c[i].state != CMPI_FORMED;
	}
	for (i = 0; i < 4 && !wrong; i++)
		wrong += sum(&c[i], i);
	child = fork();
	if (!child) {
		for (i = 0; i < 4; i++)
			cmpi_close(&c[i]);
		cmpi_close_all();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (i = 3; i >= 0 && !wrong; i--) {
		wrong += sum(&c[i], 10 * i);
		pthread_barrier_wait(&shared->barrier);
		cmpi_close(&c[i]);
	}
	cmpi_close_all();
	return wrong;
}

static int fails(struct cmpi_settings *s)
{
	struct cmpi_comm c = { .members = RANKS, .rank = rank, .peers = true };
	int wrong = cmpi_form(&c, s, &host, 12345) || c.state != CMPI_FAILED || c.canary;

	cmpi_close_all();
	return wrong;
}

/* No call may go on to wait for ranks that did not get so far. */
static int host_errors(struct cmpi_settings *s)
{
	const struct cmpi_args a = { CMPI_ALLREDUCE, CANARY_FLOAT64, CANARY_OP_SUM, 2048 };
	int wrong = 0;

	s->min_bytes = 0;
	for (broken = 1; broken <= 3; broken++) {
		struct cmpi_comm c = { .members = RANKS, .rank = rank, .peers = true };

		wrong += cmpi_form(&c, s, &host, 12345) != -1 || c.canary ||
			 cmpi_decide(s, &c, &a) != CMPI_REFUSED;
	}
	cmpi_close_all();
	return wrong;
}

/* A child forms communicators of its own. It does not end one that its parent still has. */
static int child_later(struct cmpi_settings *s)
{
	struct cmpi_comm c = { .members = RANKS, .rank = rank, .peers = true }, kept = c;
	int wrong, status = -1;
	pid_t child;

	wrong = cmpi_form(&c, s, &host, 12345) || c.state != CMPI_FORMED || sum(&c, 1);
	pthread_barrier_wait(&shared->barrier);
	cmpi_close(&c);
	wrong += cmpi_form(&kept, s, &host, 12345) || kept.state != CMPI_FORMED;
	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(60);
		wrong += cmpi_form(&c, s, &host, 12345) || sum(&c, 2);
		cmpi_close(&kept);
		pthread_barrier_wait(&shared->barrier);
		cmpi_close(&c);
		_exit(wrong || works(s));
	}
	wrong += waitpid(child, &status, 0) != child || status || sum(&kept, 3);
	pthread_barrier_wait(&shared->barrier);
	cmpi_close(&kept);
	cmpi_close_all();
	return wrong;
}

static int without_port(struct cmpi_settings *s)
{
	if (rank == 2)
		s->interfaces = "nosuch0";
	return fails(s);
}

static int other_key(struct cmpi_settings *s)
{
	char file[] = "/tmp/cmpi_test.XXXXXX";
	int wrong, fd;

	if (rank == 1) {
		fd = mkstemp(file);
		if (fd < 0 || write(fd, "00112233445566778899aabbccddeeff", 32) != 32)
			return 1;
		close(fd);
		s->key_file = file;
	}
	s->trial = 3600000;	/* nobody waits for it */
	wrong = fails(s);
	if (rank == 1)
		unlink(file);
	return wrong;
}

/* The least MTU of all ranks is used. */
static int small_packets(struct cmpi_settings *s)
{
	if (rank == 1)
		s->mtu = 600;
	return works(s);
}

static bool always(size_t bytes)
{
	return true;
}

/* Other lengths are those of threshold_test.c. */
static int measured(struct cmpi_settings *s)
{
	struct cmpi_comm c = { .members = RANKS, .rank = rank, .peers = true };
	int wrong;

	s->min_bytes = 0;
	is_slow = always;
	wrong = cmpi_form(&c, s, &host, 12345) || c.min_bytes != CMPI_LEAST_BYTES;
	cmpi_close(&c);
	cmpi_close_all();
	return wrong;
}

/* A request must not form the communicator. Then some, and a call behind them */
#define QUEUED	300
#define LENGTH	4096	/* elements, 16 KiB */

static void progress(void)
{
}

static void fill_queue(struct cmpi_queue *q, const struct cmpi_settings *s, struct cmpi_request *r,
		       int32_t *v)
{
	const struct cmpi_args a = { CMPI_IALLREDUCE, CANARY_INT32, CANARY_OP_SUM, LENGTH };
	struct canary_call call;
	int i, k;

	pthread_mutex_lock(&q->lock);
	for (k = 0; k < QUEUED; k++, v += LENGTH) {
		for (i = 0; i < LENGTH; i++)
			v[i] = i + rank + k;
		call = cmpi_describe(s, &a, v, v);
		cmpi_queue_add(q, &r[k], &call);
	}
	pthread_mutex_unlock(&q->lock);
}

/* Requests have to end in the order in which they were added. */
static int take_queue(struct cmpi_queue *q, struct cmpi_request *r)
{
	struct cmpi_request *ended;
	int n = 0, wrong = 0;

	while (n < QUEUED) {
		pthread_mutex_lock(&q->lock);
		ended = cmpi_queue_take(q);
		pthread_mutex_unlock(&q->lock);
		for (; ended; ended = ended->next)
			wrong += ended != &r[n++] || ended->err;
	}
	return wrong || q->first || q->last;
}

static int queued(struct cmpi_settings *s)
{
	const struct cmpi_args later = { CMPI_IALLREDUCE, CANARY_INT32, CANARY_OP_SUM, LENGTH };
	const struct cmpi_args reduce = { CMPI_REDUCE, CANARY_INT32, CANARY_OP_SUM, LENGTH };
	struct cmpi_comm c = { .members = RANKS, .rank = rank, .peers = true };
	struct cmpi_request *r = calloc(QUEUED, sizeof(*r));
	int32_t *v = calloc(QUEUED + 1, LENGTH * sizeof(*v)), *last = v + QUEUED * LENGTH;
	struct canary_call call;
	struct cmpi_queue q;
	enum cmpi_why why;
	int i, wrong;

	wrong = cmpi_use(&c, s, &host, 12345, &later, &why) || why != CMPI_NOT_FORMED ||
		cmpi_use(&c, s, &host, 12345, &reduce, &why) || why != CMPI_CANARY;
	cmpi_queue_init(&q, &c);
	fill_queue(&q, s, r, v);
	for (i = 0; i < LENGTH; i++)
		last[i] = i + rank;
	call = cmpi_describe(s, &reduce, last, last);
	/* Who does not want the result keeps the buffer. */
	wrong += cmpi_run(&q, s, &reduce, &call, !rank, progress) || take_queue(&q, r);
	for (i = 0; i < QUEUED * LENGTH; i++)
		wrong += v[i] != RANKS * (i % LENGTH + i / LENGTH) + RANKS * (RANKS - 1) / 2;
	for (i = 0; i < LENGTH; i++)
		wrong += last[i] != (rank ? i + rank : RANKS * i + RANKS * (RANKS - 1) / 2);
	pthread_barrier_wait(&shared->barrier);
	cmpi_queue_destroy(&q);
	cmpi_close(&c);
	cmpi_close_all();
	free(r);
	free(v);
	return wrong;
}

static void test_communicators(void)
{
	run(works, "communicators are formed, sum up, and end");
	run(small_packets, "with the least MTU of all");
	run(measured, "the threshold is measured");
	run(queued, "many requests, in their order, and a call behind them");
	run(host_errors, "an error of the MPI library: none has one");
	run(child_later, "a child forms others later");
	run(without_port, "a rank without an address: none has one");
	run(other_key, "a rank with another key: none has one");
}

int main(void)
{
	int fd;

	test_environment();
	test_values();
	test_fingerprint();
	test_greeting();
	test_decide();
	if (!own_net()) {
		tap_skip("addresses, communicators", "no network namespace of its own");
		return tap_done("user/cmpi");
	}
	test_addresses();
	share();
	test_communicators();
	fd = socket(AF_CANARY, SOCK_SEQPACKET, 0);
	if (fd < 0) {
		tap_skip("the same by AF_CANARY", "module canary is not loaded");
	} else {
		close(fd);
		engine = "kernel";
		test_communicators();
	}
	return tap_done("user/cmpi");
}
