// SPDX-License-Identifier: BSD-2-Clause
/* canary COMMAND ...: one tool with a table of commands. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmds.h"
#include "userspace/common/complain.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command commands[] = {
	{ "allreduce", cmd_allreduce, "reduce a vector over all members of a communicator" },
	{ "perf", cmd_perf, "measure collectives, in the columns of nccl-tests" },
	{ "comm", cmd_comm, "show communicators of this machine" },
	{ "stats", cmd_stats, "show counters of this machine's engines" },
	{ "switch", cmd_switch, "run a switch, show running ones" },
	{ "fault", cmd_fault, "inject faults on a link" },
	{ "help", cmd_help, "this list; help COMMAND: what a command can do" },
	{ "version", cmd_version, "version of the tool" },
};

static void usage(FILE *out)
{
	size_t i;

	fprintf(out, "usage: canary COMMAND [ARGUMENTS]\n\n");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].run)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\ncanary COMMAND --help tells more.\n");
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	complain("canary", "unknown command '%s'", name);
	usage(stderr);
	return 2;
}

/* `canary help COMMAND` is `canary COMMAND --help`. */
static int cmd_help(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find(argv[1]) : NULL;
	char *args[] = { argc > 1 ? argv[1] : NULL, (char *)"--help", NULL };

	if (argc > 1 && !command)
		return unknown(argv[1]);
	if (command && command->run && command->run != cmd_help && command->run != cmd_version)
		return command->run(2, args);
	usage(stdout);
	return 0;
}

static int cmd_version(int argc, char **argv)
{
	printf("canary %s\n", CANARY_VERSION_STRING);
	return 0;
}

/*
 * Open /dev/null in place of standard streams that are closed. Otherwise a socket could get the
 * number of such a stream, and be sent what is meant for people. The mode is the wrong one, so that
 * using the stream fails.
 */
static void keep_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(2);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command;

	keep_streams();
	if (!strcmp(name, "-h") || !strcmp(name, "--help"))
		name = "help";
	if (!strcmp(name, "-V") || !strcmp(name, "--version"))
		name = "version";
	command = find(name);
	if (command && command->run)
		return command->run(argc - 1, argv + 1);
	if (command) {
		complain("canary", "%s is not part of this build", name);
		return 2;
	}
	if (*name)
		return unknown(name);
	usage(stderr);
	return 2;
}
