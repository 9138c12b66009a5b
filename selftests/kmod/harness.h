/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's tests on kselftest_harness.h. Each test has a process and a network namespace of its
 * own, with the loopback device up. Fixtures: `net` has nothing else, `sock` a new socket, `ranks`
 * two connected ranks, `machine` restores limits of the machine. A program includes this file once
 * and ends with TEST_HARNESS_MAIN.
 *
 * ASSERT_*() is for set-up. What a test is about is checked by ok() or ok_errno(): an EXPECT_*()
 * with a description. These are counted, and a test without any fails. Processes that a test forks
 * must neither check nor print. They report by their exit status.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include "kselftest_harness.h"
#include "api.h"

/* The guest is slow, and slower with a debug kernel. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300	/* seconds */

/* Without a fixture checks would not be counted. */
#undef TEST
#undef TEST_SIGNAL

static unsigned int checks, wrong;

/* Check that @good holds. @what describes it. */
#define ok(what, good) do { \
	checks++; \
	EXPECT_TRUE(good) { \
		wrong++; \
		TH_LOG("%s", what); \
	} \
} while (0)

/* Check a call that returned @ret: it failed with @want, or succeeded if @want is 0. */
#define ok_errno(what, ret, want) do { \
	int want_errno = (want), got_errno = (ret) < 0 ? errno : 0; \
	checks++; \
	EXPECT_EQ(want_errno, got_errno) { \
		wrong++; \
		TH_LOG("%s: got %s, expected %s", what, \
		       got_errno ? strerror(got_errno) : "success", \
		       want_errno ? strerror(want_errno) : "success"); \
	} \
} while (0)

/*
 * Without the module, skip the whole program before the first test. A SKIP() in a set-up is not
 * enough: the harness of 6.1 runs the test nevertheless, and its exit status does not say that all
 * was skipped.
 */
static void __attribute__((constructor)) need_module(void)
{
	family = module_family();
	if (family >= 0)
		return;
	ksft_print_header();
	ksft_exit_skip("the module canary is not loaded\n");
}

static inline void set_up_net(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_TRUE(loopback(true));
	handle(SIGPIPE, SA_RESTART);
}

/* Every teardown ends with this. */
static inline void count_checks(struct __test_metadata *_metadata)
{
	EXPECT_NE(0, checks)
		TH_LOG("nothing was checked");
	TH_LOG("%u checks", checks);
}

FIXTURE(net) {
};

FIXTURE_SETUP(net)
{
	set_up_net(_metadata);
}

FIXTURE_TEARDOWN(net)
{
	count_checks(_metadata);
}

FIXTURE(sock) {
	int fd;
};

FIXTURE_SETUP(sock)
{
	set_up_net(_metadata);
	self->fd = new_socket();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(sock)
{
	close(self->fd);
	count_checks(_metadata);
}

FIXTURE(ranks) {
	int x, y;	/* rank 0 and rank 1 */
};

FIXTURE_SETUP(ranks)
{
	set_up_net(_metadata);
	ASSERT_TRUE(pair(&self->x, &self->y));
}

FIXTURE_TEARDOWN(ranks)
{
	unpair(self->x, self->y);
	count_checks(_metadata);
}

static const char *const machine_sysctls[] = {
	SYSCTL "wmem_default", SYSCTL "mem_max", SYSCTL "members_max", WMEM_DEFAULT,
};

/* Settings of the whole machine are restored, however the test ends. */
FIXTURE(machine) {
	long memory_max, sysctl[ARRAY_SIZE(machine_sysctls)];
};

FIXTURE_SETUP(machine)
{
	unsigned int i;

	set_up_net(_metadata);
	self->memory_max = memory_max(-1);
	ASSERT_LE(0, self->memory_max);
	for (i = 0; i < ARRAY_SIZE(machine_sysctls); i++) {
		self->sysctl[i] = machine_sysctl(machine_sysctls[i], -1);
		ASSERT_LE(0, self->sysctl[i])
			TH_LOG("%s", machine_sysctls[i]);
	}
}

FIXTURE_TEARDOWN(machine)
{
	unsigned int i;

	EXPECT_LE(0, memory_max(self->memory_max));
	for (i = 0; i < ARRAY_SIZE(machine_sysctls); i++)
		EXPECT_LE(0, machine_sysctl(machine_sysctls[i], self->sysctl[i]));
	count_checks(_metadata);
}

#endif /* HARNESS_H */
