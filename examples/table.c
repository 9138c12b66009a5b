// SPDX-License-Identifier: BSD-2-Clause
/*
 * Communicators inside of another one, without rendezvous: table RANK MEMBERS ADDRESS-OF-RANK-0
 *
 * All ranks join one communicator. By it they tell each other where they are, and the even ones
 * then form one of their own, at the port that they have. So do the odd ones. Prints the sum of all
 * ranks' ones, tens, hundreds, thousands of the own half.
 */
#include <canary.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MEMBERS_MAX	64

/* What all know of each rank. Whoever adds zeros for others makes an allgather of a sum. */
struct entry {
	struct canary_peer	peer;
	uint32_t		epoch;		/* for what this rank is first in */
	uint8_t			salt[CANARY_SALT];
};

#define WORDS(of)	(sizeof(of) / 4)

static int failed(void)
{
	fprintf(stderr, "%s\n", canary_errmsg());
	return 1;
}

static int gather(struct canary *all, struct entry *entry, unsigned int rank, unsigned int members)
{
	struct canary_info info;
	int err = canary_get_info(all, &info, sizeof(info));

	entry[rank].peer = info.local;
	do {
		if (getrandom(&entry[rank].epoch, 4, 0) != 4 ||
		    getrandom(entry[rank].salt, CANARY_SALT, 0) != CANARY_SALT)
			return 1;
	} while (!entry[rank].epoch);
	return err ? err : canary_allreduce(all, entry, entry, members * WORDS(*entry),
					    CANARY_INT32, CANARY_OP_SUM);
}

/* The half of those ranks that are even, or odd, as ours is */
static struct canary *form_half(struct canary_params params, struct canary *all,
				const struct entry *entry)
{
	struct canary_peer peer[MEMBERS_MAX];
	unsigned int i, first = params.rank % 2;
	struct canary_table table = { .epoch = entry[first].epoch, .peer = peer };
	struct canary *half;

	memcpy(table.salt, entry[first].salt, sizeof(table.salt));
	for (i = first; i < params.members; i += 2)
		peer[i / 2] = entry[i].peer;
	params.members = (params.members + 1 - first) / 2;
	params.rank /= 2;
	params.share = all;
	params.table = 1;
	if (canary_open(&params, &half))
		return NULL;
	if (canary_form(half, &table)) {
		canary_close(half);
		return NULL;
	}
	return half;
}

int main(int argc, char **argv)
{
	struct entry entry[MEMBERS_MAX] = { 0 };
	int32_t vector[4] = { 1, 10, 100, 1000 };
	struct canary_params params;
	struct canary *all, *half;
	int i;

	canary_params_init(&params);
	if (argc != 4 || canary_params_set(&params, "comm", "3") ||
	    canary_params_set(&params, "rank", argv[1]) ||
	    canary_params_set(&params, "members", argv[2]) ||
	    canary_params_set(&params, "root", argv[3]) || params.members > MEMBERS_MAX ||
	    canary_open(&params, &all)) {
		fprintf(stderr, "table RANK MEMBERS ADDRESS-OF-RANK-0: %s\n", canary_errmsg());
		return 2;
	}
	if (canary_connect(all, 30000) || gather(all, entry, params.rank, params.members))
		return failed();
	half = form_half(params, all, entry);
	if (!half || canary_allreduce(half, vector, vector, 4, CANARY_INT32, CANARY_OP_SUM))
		return failed();
	for (i = 0; i < 4; i++)
		printf("%d%c", vector[i], i < 3 ? ' ' : '\n');
	canary_close(half);
	canary_close(all);
	return 0;
}
