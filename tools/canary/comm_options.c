// SPDX-License-Identifier: BSD-2-Clause
/* Options of all commands that join a communicator. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "comm_options.h"
#include "kmod/core/platform.h"
#include "reference_float.h"
#include "userspace/common/complain.h"

#define VECTOR_MAX_BYTES	(256U << 20)	/* upper bound of CANARY_MAX_VECTOR */

/* Options without OPTION_AT are parameters of canary_params_set(), which knows their ranges. */
const struct option_row comm_option_rows[] = {
	{ OPTION("comm", 0, "ID",
		 "the same number at all members. Under mpirun, srun or\n"
		 "torchrun, this and the next three need not be given") },
	{ OPTION("rank", 0, "R", "own rank, 0 to N - 1") },
	{ OPTION("members", 0, "N", "how many members there are, 1 to 65535") },
	{ OPTION("root", 0, "ADDR[:PORT]",
		 "rank 0 (port 22600 to 22663, default 22600)") },
	{ OPTION("bind", 0, "ADDR[:PORT]",
		 "own address (default: of the route to rank 0, a free port)") },
	{ OPTION("members-file", 0, "FILE",
		 "'RANK ADDR[:PORT]' a line, instead of the three above"),
	  OPTION_AT(struct comm_options, members_file) },
	{ OPTION("epoch", 0, "E",
		 "no rendezvous, that file says all: a number that is\n"
		 "used once, the same at all members"),
	  OPTION_AT(struct comm_options, epoch), .units = parse_counts, .min = 1,
	  .max = UINT32_MAX },
	{ OPTION("salt", 0, "HEX32",
		 "drawn at random with that number, the same at all\n"
		 "members; needed where there is a key") },
	{ OPTION("engine", 0, "auto|kernel|user",
		 "(auto: kernel if the module is there)") },
	{ OPTION("key", 0, "HEX32", "pre-shared key, 32 hexadecimal digits") },
	{ OPTION("key-file", 0, "FILE",
		 "the same from a file, where ps does not show it") },
	{ OPTION("timeout", 0, "TIME",
		 "patience for the rendezvous, as 500ms or 30s (default {default});\n"
		 "with --epoch for who starts later (60s)"),
	  OPTION_AT(struct comm_options, timeout_ms), .units = PARSE_MS, .max = 3600000,
	  .standard = 30000 },
	{ OPTION("window", 0, "W",
		 "most blocks in flight, a power of two, 1 to 1024 (256)") },
	{ OPTION("mtu", 0, "M", "largest IP packet, 576 to 9000 (of the route)") },
	{ OPTION("dead-after", 0, "TIME",
		 "silence that makes a rank dead, 100ms to 3600s (5s)") },
	{ OPTION("linger", 0, "TIME",
		 "how long to serve others at the end, 0s to 3600s (60s)") },
	{ OPTION("rto-min", 0, "TIME",
		 "shortest patience for a result, 100us to 1s (5ms)") },
	{ OPTION("spin", 0, "TIME",
		 "poll so long for a result before sleeping, 0us to 1s,\n"
		 "or auto: 50us for up to 4 KiB (auto)") },
	{ OPTION("max-vector", 0, "BYTES",
		 "longest vector, for the kernel engine, up to 256M (16M)") },
	{ OPTION("algorithm", 0, "auto|tree|tree:R|ring|static:T",
		 "what rank 0 is told holds for all (auto);\n"
		 "tree:R: trees, a member leads R blocks in a row, 1 to 16,\n"
		 "which is faster where processors are the limit;\n"
		 "static: T trees, 1 to 32, switches choose nothing") },
	{ OPTION("zerocopy", 0, "auto|on|off",
		 "kernel engine on buffers in place (auto: from 1M on)") },
	{ OPTION("aggregates", 0, "any|PREFIX[,PREFIX...]",
		 "where switches are, as 10.255.0.0/16: what\n"
		 "others claim to have added up is not taken (any)") },
};

const size_t comm_option_count = sizeof(comm_option_rows) / sizeof(comm_option_rows[0]);

void comm_options_init(struct comm_options *o)
{
	size_t i;

	memset(o, 0, sizeof(*o));
	canary_params_init(&o->params);
	for (i = 0; i < comm_option_count; i++)
		option_set(&comm_option_rows[i], o, comm_option_rows[i].standard);
}

void comm_options_help(FILE *to)
{
	const struct option_group groups[] = {
		{ COMM_OPTION_ROWS, .title = "Communicator:" }, { 0 }
	};

	options_help(to, groups, COMM_OPTION_COLUMN);
}

#define bad(text)	complain("canary", "%s", text)

/* canary_params_set() takes longer vectors than the kernel does. */
static bool is_wrong_length(const struct comm_options *o, const char *name, int err)
{
	return !strcmp(name, "max-vector") &&
	       (err == -ERANGE || (!err && (o->params.max_vector > VECTOR_MAX_BYTES ||
					    o->params.max_vector % 4)));
}

/* It is written as a key is. */
static int take_salt(struct comm_options *o, const char *value)
{
	struct canary_params p;

	canary_params_init(&p);
	if (canary_params_set(&p, "key", value))
		return bad("salt: has to be 32 hexadecimal digits");
	memcpy(o->salt, p.key, sizeof(o->salt));
	o->have_salt = true;
	return 0;
}

int comm_option_take(void *options, const struct option_row *row, const char *value)
{
	struct comm_options *o = options;
	const char *name = row->name;
	int err;

	if (row->size && option_store(row, o, value))
		return bad(strcmp(name, "epoch") ? "timeout: has to be 0ms to 3600s, with ms or s" :
			   "epoch: has to be a number from 1 to 4294967295");
	o->have_timeout |= !strcmp(name, "timeout");
	if (row->size)
		return 0;
	if (!strcmp(name, "salt"))
		return take_salt(o, value);
	err = canary_params_set(&o->params, name, value);
	if (is_wrong_length(o, name, err)) {
		return complain("canary", "max-vector: %s is not a multiple of 4 from 4 to %u (256M)",
				value, VECTOR_MAX_BYTES);
	}
	if (err)
		return bad(canary_errmsg());
	o->have_comm |= !strcmp(name, "comm");
	o->have_rank |= !strcmp(name, "rank");
	o->have_members |= !strcmp(name, "members");
	o->have_root |= !strcmp(name, "root");
	return 0;
}

/* Addresses of all members, by rank */
static struct canary_peer member[CANARY_MEMBERS_MAX];

/* Read the file of members, and what --epoch wants besides. */
static int take_members(struct comm_options *o)
{
	int n;

	if (canary_params_members(&o->params, o->members_file))
		return bad(canary_errmsg());
	if (!o->epoch)
		return 0;
	n = canary_table_members(o->members_file, member, CANARY_MEMBERS_MAX);
	if (n < 0)
		return bad(canary_errmsg());
	if (n != o->params.members)
		return complain("canary", "%s: has been changed meanwhile", o->members_file);
	o->params.table = 1;
	return 0;
}

/* Whatever was not given may come from what started this process. */
static int take_launched(struct comm_options *o)
{
	unsigned int what = 0;
	int found;

	if (!o->have_comm)
		what |= CANARY_LAUNCHER_COMM;
	if (!o->have_rank)
		what |= CANARY_LAUNCHER_RANK;
	if (!o->have_members && !o->members_file)
		what |= CANARY_LAUNCHER_MEMBERS;
	if (!o->have_root && !o->members_file && (!o->have_members || o->params.members > 1))
		what |= CANARY_LAUNCHER_ROOT;
	found = what ? canary_params_launcher(&o->params, what) : 0;
	if (found < 0)
		return bad(canary_errmsg());
	if (found)
		o->have_comm = o->have_rank = o->have_members = true;
	return 0;
}

int comm_options_end(struct comm_options *o)
{
	if (take_launched(o))
		return -1;
	if (!o->have_comm || !o->have_rank)
		return bad(o->have_rank ? "--comm is needed: the number of the communicator" :
			   o->have_comm ? "--rank is needed: the own one" :
			   "--comm and --rank are needed, or a launcher that tells them");
	if (o->have_salt && !o->epoch)
		return bad("--salt wants --epoch");
	if (o->members_file)
		return take_members(o);
	if (o->epoch)
		return bad("--epoch wants --members-file, which is the table");
	if (!o->have_members)
		return bad("--members and --root, or --members-file, are needed");
	if (canary_addr_is_any(&o->params.root.addr) && o->params.members > 1)
		return bad("--root is needed: the address of rank 0");
	if (o->params.rank >= o->params.members) {
		return complain("canary", "rank: %u is out of range, 0 to %u", o->params.rank,
				o->params.members - 1);
	}
	return 0;
}

/* Append @name to the names in @list, of @size bytes. */
static void add_name(char *list, size_t size, const char *name)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? ", " : "", name);
}

int comm_operation_check(enum canary_dtype dtype, enum canary_operator op, uint32_t how)
{
	uint32_t i, can = canary_how_supported(dtype, op);
	char list[160] = "";

	if (!canary_supports(dtype, op)) {
		for (i = 1; canary_operator_name(i); i++)
			if (canary_supports(dtype, i))
				add_name(list, sizeof(list), canary_operator_name(i));
		return complain("canary", "operator: there is no %s of %s, but %s",
				canary_operator_name(op), canary_dtype_name(dtype), list);
	}
	how &= ~can;
	if (!how)
		return 0;
	for (i = 1; canary_how_name(i); i <<= 1)
		if (can & i)
			add_name(list, sizeof(list), canary_how_name(i));
	return complain("canary", "how: %s is not for %s of %s, which has %s",
			canary_how_name(how & -how), canary_operator_name(op),
			canary_dtype_name(dtype), *list ? list : "none");
}

/* Without rendezvous */
static int form(const struct comm_options *o, struct canary *c)
{
	struct canary_table table = { .epoch = o->epoch, .peer = member };

	memcpy(table.salt, o->salt, sizeof(table.salt));
	if (o->have_timeout)
		table.start_within = o->timeout_ms ? o->timeout_ms : 1;
	return canary_form(c, &table);
}

struct canary *comm_join(const struct comm_options *o, struct canary **failed, int *err)
{
	struct canary *c;

	*failed = NULL;
	*err = canary_open(&o->params, &c);
	if (*err)
		return NULL;
	*err = o->epoch ? form(o, c) : canary_connect(c, o->timeout_ms);
	if (!*err)
		return c;
	*failed = c;
	return NULL;
}
