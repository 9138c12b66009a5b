/* SPDX-License-Identifier: BSD-2-Clause */
/* Options and progress of a rank in a fault experiment, see worker.c */
#ifndef FAULTS_WORKER_H
#define FAULTS_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <canary.h>

#define PLANS_MAX	16
#define INFLIGHT_MAX	64

/* Progress while the rank runs; little-endian u64, see canary_topo/trial.py */
struct progress {
	uint64_t	round;
	uint64_t	connected;	/* in this round */
	uint64_t	posted;		/* operations of this round */
	uint64_t	completed;	/* likewise */
	uint64_t	round_blocks;	/* blocks that the engine has counted in this round */
	uint64_t	blocks;		/* of completed and verified operations, in all rounds */
	uint64_t	operations;	/* of completed and verified operations, in all rounds */
	uint64_t	wrong;		/* wrong elements */
	uint64_t	failed;		/* rounds that ended with an error */
	uint64_t	ended;		/* 1: the worker has ended */
	uint64_t	elements;	/* of a block */
	uint64_t	go;		/* written by others: holds of these rounds are over */
	uint64_t	open;		/* written by others: these rounds may begin */
	uint64_t	halt;		/* written by others: these rounds have to end */
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

/* worker_options.c: fill in @opt and map @shared. An error ends the process. */
void worker_options(int argc, char **argv);

/* Messages begin with the rank. */
#define DIE_STATUS	3
#define DIE_WHO		"worker: rank %u", opt.params.rank
#include "selftests/die.h"

#endif /* FAULTS_WORKER_H */
