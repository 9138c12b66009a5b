/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that all commands have that join a communicator, and what they all do with one. */
#ifndef CANARY_COMM_OPTIONS_H
#define CANARY_COMM_OPTIONS_H

#include <canary.h>
#include <getopt.h>
#include <stdbool.h>

struct comm_options {
	struct canary_params	params;
	const char		*members_file;
	int			timeout_ms;	/* of the rendezvous */
	bool			have_comm, have_rank, have_members;
};

#define COMM_OPT_PARAM		1000
#define COMM_OPT_MEMBERS_FILE	1001
#define COMM_OPT_TIMEOUT	1003

/* Entries of getopt_long()'s table; the first ones have names of canary_params_set(). */
#define COMM_OPTIONS							\
	{ "comm",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "rank",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "members",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "root",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "bind",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "engine",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "key",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "window",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "mtu",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "dead-after",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "linger",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "rto-min",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "max-vector",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "algorithm",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "zerocopy",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "aggregates",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "members-file", required_argument, NULL, COMM_OPT_MEMBERS_FILE }, \
	{ "key-file",	required_argument, NULL, COMM_OPT_PARAM },	\
	{ "timeout",	required_argument, NULL, COMM_OPT_TIMEOUT }

#define COMM_USAGE							\
	"Communicator:\n"						\
	"  --comm ID            the same number at all members\n"	\
	"  --rank R             own rank, 0 to N - 1\n"			\
	"  --members N          how many members there are, 1 to 65535\n" \
	"  --root ADDR[:PORT]   rank 0 (port 22600 to 22663, default 22600)\n" \
	"  --bind ADDR[:PORT]   own address (default: of the route to rank 0, a free port)\n" \
	"  --members-file FILE  'RANK ADDR[:PORT]' a line, instead of the three above\n" \
	"  --engine auto|kernel|user  (auto: kernel if the module is there)\n" \
	"  --key HEX32          pre-shared key, 32 hexadecimal digits\n" \
	"  --key-file FILE      the same from a file, where ps does not show it\n" \
	"  --timeout TIME       patience for the rendezvous, as 500ms or 30s (default 30s)\n" \
	"  --window W           most blocks in flight, a power of two, 1 to 1024 (256)\n" \
	"  --mtu M              largest IP packet, 576 to 9000 (of the route)\n" \
	"  --dead-after TIME    silence that makes a rank dead, 100ms to 3600s (5s)\n" \
	"  --linger TIME        how long to serve others at the end, 0s to 3600s (60s)\n" \
	"  --rto-min TIME       shortest patience for a result, 100us to 1s (5ms)\n" \
	"  --max-vector BYTES   longest vector, for the kernel engine, up to 256M (16M)\n" \
	"  --algorithm auto|tree|ring|static:T  what rank 0 is told holds for all (auto);\n" \
	"                              static: T trees, 1 to 32, switches choose nothing\n" \
	"  --zerocopy auto|on|off  kernel engine on buffers in place (auto: from 1M on)\n" \
	"  --aggregates any|PREFIX[,PREFIX...]  where switches are, as 10.255.0.0/16: what\n" \
	"                              others claim to have added up is not taken (any)\n"

void comm_options_init(struct comm_options *o);

/*
 * comm_option() - take one of COMM_OPTIONS
 * @opt: what getopt_long() returned; @name: of the option
 * Return: 0, or -1 after having said what is wrong.
 */
int comm_option(struct comm_options *o, int opt, const char *name, const char *value);

/* comm_options_end() - all options are there: check that they are enough. 0 or -1. */
int comm_options_end(struct comm_options *o);

/* comm_join() - open and connect. NULL: canary_errmsg() tells; @err is the errno. */
struct canary *comm_join(const struct comm_options *o, struct canary **failed, int *err);

#endif /* CANARY_COMM_OPTIONS_H */
