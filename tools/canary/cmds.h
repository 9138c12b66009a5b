/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands of canary, one file each. */
#ifndef CANARY_CMDS_H
#define CANARY_CMDS_H

/*
 * argv[0] is the name of the subcommand. Return: the exit status: 0, 1 for a failure, 2 for a usage
 * error. main.c reports a command that is not linked in.
 */
int cmd_allreduce(int argc, char **argv) __attribute__((weak));
int cmd_perf(int argc, char **argv) __attribute__((weak));
int cmd_comm(int argc, char **argv) __attribute__((weak));
int cmd_comm_rules(int argc, char **argv);
int cmd_stats(int argc, char **argv) __attribute__((weak));
int cmd_switch(int argc, char **argv) __attribute__((weak));
int cmd_fault(int argc, char **argv) __attribute__((weak));

#endif /* CANARY_CMDS_H */
