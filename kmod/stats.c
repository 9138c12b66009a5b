// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: those of living cores, those of engines that have ended, and drops that happen where
 * there is no core.
 */

#include "canary.h"

static void canary_stats_add(struct cnr_stats *to, const struct cnr_stats *from)
{
	u32 i;

	for (i = 0; i < CNR_COUNTER_COUNT; i++)
		to->counter[i] += from->counter[i];
	for (i = 0; i < CANARY_DROPS; i++)
		to->drop[i] += from->drop[i];
}

/* Add @stats to @values, which are in the order of CANARY_STATS. */
static void canary_stats_sum(u64 *values, const struct cnr_stats *stats)
{
	u32 i;

	for (i = 0; i < CNR_COUNTER_COUNT; i++)
		values[i] += stats->counter[i];
	for (i = 0; i < CANARY_DROPS; i++)
		values[CNR_COUNTER_COUNT + i] += stats->drop[i];
}

/*
 * Count drops without a core for the namespace, such as a packet that is for no engine of its port.
 */
void canary_count_stray(const struct net *net, enum canary_drop why, u32 n)
{
	struct canary_net *cn = canary_net(net);

	spin_lock_bh(&cn->stats_lock);
	cn->ended.drop[why] += n;
	spin_unlock_bh(&cn->stats_lock);
}

/* Count packets that the module dropped, not the core. Context: canary_comm.lock is held. */
void canary_count_drop(struct canary_comm *comm, enum canary_drop why, u32 n)
{
	lockdep_assert_held(&comm->lock);
	if (comm->core)
		cnr_stats(comm->core)->drop[why] += n;
	else
		canary_count_stray(comm->net, why, n);
}

/* Keep the counters of a core that goes away. */
void canary_stats_fold(struct canary_comm *comm, const struct cnr_stats *stats)
{
	struct canary_net *cn = canary_net(comm->net);

	spin_lock_bh(&cn->stats_lock);
	canary_stats_add(&cn->ended, stats);
	spin_unlock_bh(&cn->stats_lock);
}

/* Add the counters of one engine to CANARY_STATS_COUNT @values. */
void canary_stats_read(struct canary_comm *comm, u64 *values)
{
	spin_lock_bh(&comm->lock);
	if (comm->core)
		canary_stats_sum(values, cnr_stats(comm->core));
	spin_unlock_bh(&comm->lock);
}

/* Add up the counters of a namespace. Context: process; takes canary_net.lock. */
void canary_stats_net(struct canary_net *cn, u64 *values)
{
	struct canary_comm *comm;

	mutex_lock(&cn->lock);
	list_for_each_entry(comm, &cn->comms, list)
		canary_stats_read(comm, values);
	spin_lock_bh(&cn->stats_lock);
	canary_stats_sum(values, &cn->ended);
	spin_unlock_bh(&cn->stats_lock);
	mutex_unlock(&cn->lock);
}

/* Return: the name of value @index; *@prefix is "drop-" for drop reasons, else empty */
const char *canary_stats_name(u32 index, const char **prefix)
{
	if (index < CNR_COUNTER_COUNT) {
		*prefix = "";
		return cnr_counter_name(index);
	}
	*prefix = "drop-";
	return cnr_drop_name(index - CNR_COUNTER_COUNT);
}
