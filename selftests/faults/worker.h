/* SPDX-License-Identifier: BSD-2-Clause */
/* What a rank of a fault experiment is to do, and what it tells while it does; see worker.c */
#ifndef FAULTS_WORKER_H
#define FAULTS_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <canary.h>

#define PLANS_MAX	16
#define INFLIGHT_MAX	64

/* What is known while it runs; little-endian u64, see canary_topo/trial.py */
struct progress {
	uint64_t	round;
	uint64_t	connected;	/* in this round */
	uint64_t	posted;		/* operations of this round */
	uint64_t	completed;	/* likewise */
	uint64_t	round_blocks;	/* blocks done in this round, as counted by the engine */
	uint64_t	blocks;		/* of completed and verified operations, all rounds */
	uint64_t	operations;	/* likewise */
	uint64_t	wrong;		/* elements */
	uint64_t	failed;		/* rounds that ended with an error */
	uint64_t	ended;		/* nothing more to come */
	uint64_t	elements;	/* of a block */
	uint64_t	go;		/* written by others: rounds whose holds are over */
	uint64_t	open;		/* likewise: rounds that may begin */
	uint64_t	halt;		/* likewise: rounds that are to end */
};

enum action { DIE, SLOW, LONGER, SHIFT, BARRIER, QUIT, HOLD };

struct plan {
	int		rank;		/* -1: all */
	unsigned int	round, op;
	enum action	action;
	unsigned int	ms;
};

struct worker_options {
	struct canary_params params;
	unsigned int	rounds, operations, elements, inflight;
	uint64_t	seed;
	bool		vary, same_id, launched;
	struct plan	plans[PLANS_MAX];
	unsigned int	nplans;
	int		log;
};

extern struct worker_options opt;
extern struct progress *shared;

/* worker_options.c: fill in @opt, map @shared; what is wrong ends the process */
void worker_options(int argc, char **argv);

/* What ends the process says which rank it was */
#define DIE_STATUS	3
#define DIE_WHO		"worker: rank %u", opt.params.rank
#include "selftests/die.h"

#endif /* FAULTS_WORKER_H */
