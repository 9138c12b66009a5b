// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/canary has one line for each socket (or lingering engine). /proc/net/canary_stats has
 * the counters of the namespace, a name and a value in each line.
 *
 * Everybody may see who is a member and where. With epoch and block numbers, somebody could make
 * packets that get beyond the first checks. So these are only shown to the socket's user and to an
 * administrator of the namespace (CAP_NET_ADMIN). Others see dashes.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include "canary.h"

static const char *canary_proc_state(const struct canary_comm *comm)
{
	static const char * const names[] = {
		[CNR_NEW]	= "new",
		[CNR_JOINING]	= "joining",
		[CNR_CONNECTED]	= "connected",
		[CNR_LINGERING]	= "lingering",
		[CNR_CLOSED]	= "closed",
		[CNR_FAILED]	= "failed",
	};

	return comm->core ? names[cnr_state(comm->core)] : names[CNR_NEW];
}

static void *canary_proc_start(struct seq_file *seq, loff_t *pos)
{
	struct canary_net *cn = canary_net(seq_file_net(seq));

	mutex_lock(&cn->lock);
	return seq_list_start_head(&cn->comms, *pos);
}

static void *canary_proc_next(struct seq_file *seq, void *v, loff_t *pos)
{
	return seq_list_next(v, &canary_net(seq_file_net(seq))->comms, pos);
}

static void canary_proc_stop(struct seq_file *seq, void *v)
{
	mutex_unlock(&canary_net(seq_file_net(seq))->lock);
}

/* The process that opened the file counts, not the one that reads it. */
static bool canary_proc_may_see(struct seq_file *seq, const struct canary_comm *comm)
{
	return uid_eq(seq->file->f_cred->fsuid, comm->uid) ||
	       file_ns_capable(seq->file, seq_file_net(seq)->user_ns, CAP_NET_ADMIN);
}

static void canary_proc_peer(struct seq_file *seq, const char *before,
			     const struct canary_addr *addr, __be16 port)
{
	struct sockaddr_in6 at;

	canary_sockaddr_fill(&at, addr, port);
	seq_printf(seq, "%s%pISpc", before, &at);
}

static void canary_proc_algorithm(struct seq_file *seq, const struct cnr_info *info)
{
	seq_printf(seq, " %s", cnr_algorithm_name(info->algorithm));
	if (info->number)
		seq_printf(seq, ":%u", info->number);
	seq_printf(seq, " %s %s", info->last ? cnr_algorithm_name(info->last) : "-",
		   cnr_why_name(info->why));
}

static int canary_proc_show(struct seq_file *seq, void *v)
{
	struct canary_comm *comm;
	struct cnr_trouble trouble = { };
	struct cnr_info info = { };
	struct canary_peer own, root;
	unsigned long ino = 0;
	const char *state;
	size_t memory;
	u32 troubles = 0, sharing = 0;

	if (v == &canary_net(seq_file_net(seq))->comms) {
		seq_puts(seq, "comm rank members state epoch window una next srtt_us memory inode local root algorithm last why trouble sharing operation switches\n");
		return 0;
	}
	comm = list_entry(v, struct canary_comm, list);
	spin_lock_bh(&comm->lock);
	info.comm = comm->req.id;
	info.rank = comm->req.rank;
	info.members = comm->req.members;
	if (comm->core) {
		cnr_info(comm->core, &info);
		troubles = cnr_troubles(comm->core, &trouble, 1);
	}
	state = canary_proc_state(comm);
	own.addr = comm->addr;
	own.port = comm->port;
	root.addr = comm->root;
	root.port = comm->root_port;
	memory = comm->charged + comm->core_size + canary_table_bytes(comm);
	if (comm->ep)
		sharing = READ_ONCE(comm->ep->engines);
	if (comm->sk)
		ino = sock_i_ino(comm->sk);
	spin_unlock_bh(&comm->lock);
	seq_printf(seq, "%u %u %u %s", info.comm, info.rank, info.members, state);
	if (canary_proc_may_see(seq, comm))
		seq_printf(seq, " %u %u %u %u", info.epoch, info.window, info.una, info.next);
	else
		seq_printf(seq, " - %u - -", info.window);
	seq_printf(seq, " %llu %zu %lu", div_u64(info.srtt, NSEC_PER_USEC), memory, ino);
	canary_proc_peer(seq, " ", &own.addr, own.port);
	canary_proc_peer(seq, " ", &root.addr, root.port);
	canary_proc_algorithm(seq, &info);
	if (troubles)
		seq_printf(seq, " %s", cnr_trouble_name(trouble.kind));
	else
		seq_puts(seq, " -");
	if (troubles)
		canary_proc_peer(seq, "@", &trouble.addr, trouble.port);
	seq_printf(seq, " %u", sharing);
	if (info.op)
		seq_printf(seq, " %s:%s %s\n", cnr_operator_name(info.op),
			   cnr_dtype_name(info.dtype), info.switches ? "combine" : "pass");
	else
		seq_puts(seq, " - -\n");
	return 0;
}

static const struct seq_operations canary_proc_ops = {
	.start	= canary_proc_start,
	.next	= canary_proc_next,
	.stop	= canary_proc_stop,
	.show	= canary_proc_show,
};

/* States, which are no counters, come last. CANARY_STATS does not have them. */
static void canary_proc_gauges(struct seq_file *seq, struct canary_net *cn)
{
	u32 sockets = 0, lingering = 0, rules;
	u64 vectors = 0, spares = 0, cores = 0, refused;
	struct canary_comm *comm;

	mutex_lock(&cn->lock);
	list_for_each_entry(comm, &cn->comms, list) {
		spin_lock_bh(&comm->lock);
		if (comm->sk)
			sockets++;
		else
			lingering++;
		vectors += comm->charged;
		spares += comm->spared;
		cores += comm->core_size + canary_table_bytes(comm);
		spin_unlock_bh(&comm->lock);
	}
	mutex_unlock(&cn->lock);
	mutex_lock(&cn->rules_lock);
	rules = cn->rule_count;
	refused = cn->rules_refused;
	mutex_unlock(&cn->rules_lock);
	seq_printf(seq, "sockets %u\nlingering %u\nvector-bytes %llu\nspare-bytes %llu\n", sockets,
		   lingering, vectors, spares);
	seq_printf(seq, "core-bytes %llu\n", cores);
	seq_printf(seq, "rules %u\nrules-refused %llu\n", rules, refused);
}

static int canary_proc_stats_show(struct seq_file *seq, void *v)
{
	struct canary_net *cn = canary_net(seq_file_single_net(seq));
	const char *prefix, *name;
	u64 *values;
	u32 i;

	values = kcalloc(CANARY_STATS_COUNT, sizeof(*values), GFP_KERNEL);
	if (!values)
		return -ENOMEM;
	canary_stats_net(cn, values);
	for (i = 0; i < CANARY_STATS_COUNT; i++) {
		name = canary_stats_name(i, &prefix);
		seq_printf(seq, "%s%s %llu\n", prefix, name, values[i]);
	}
	kfree(values);
	canary_proc_gauges(seq, cn);
	return 0;
}

int canary_proc_net_init(struct net *net)
{
	if (!proc_create_net("canary", 0444, net->proc_net, &canary_proc_ops,
			     sizeof(struct seq_net_private)))
		return -ENOMEM;
	if (!proc_create_net_single("canary_stats", 0444, net->proc_net, canary_proc_stats_show,
				    NULL)) {
		remove_proc_entry("canary", net->proc_net);
		return -ENOMEM;
	}
	return 0;
}

void canary_proc_net_exit(struct net *net)
{
	remove_proc_entry("canary_stats", net->proc_net);
	remove_proc_entry("canary", net->proc_net);
}
