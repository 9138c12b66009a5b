// SPDX-License-Identifier: GPL-2.0
/*
 * Every system call on a socket of AF_CANARY, right and wrong, against what af_canary.c and
 * canary(7) promise. In a network namespace of its own, over its loopback device. Prints TAP.
 */
#include "api.h"

static const struct api_test *const lists[] = {
	call_tests, connect_tests, operation_tests, end_tests, packet_tests, forged_tests,
	owner_tests, endpoint_tests, memory_tests,
};

int main(int argc, char **argv)
{
	const struct api_test *test;
	unsigned int i;

	start();
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		for (test = lists[i]; test->name; test++) {
			if (argc > 1 && strcmp(argv[1], test->name))
				continue;
			pipes = 0;
			alarms = 0;
			test->run();
		}
	}
	return end("kmod/api");
}
