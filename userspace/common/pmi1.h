/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exchange of PMI-1, which mpiexec of MPICH and srun --mpi=pmi2 offer: lines of text over a
 * descriptor that the process inherits. There is no library for it in Debian that both have.
 *
 *	cmd=put kvsname=NAME key=KEY value=VALUE	cmd=put_result rc=0
 *	cmd=barrier_in					cmd=barrier_out, when all ranks sent it
 *
 * Values have no blanks. What was put before a barrier is there for all after it.
 */
#ifndef CANARY_COMMON_PMI1_H
#define CANARY_COMMON_PMI1_H

#include <stdbool.h>
#include <stddef.h>

#define PMI1_LINE	1024	/* the longest line */
#define PMI1_NAME	512	/* room for the name of a job's values */

/**
 * struct pmi1 - a conversation. It belongs to the caller.
 * @fd:		of the launcher
 * @name:	of the job's values, which distinguishes the job
 * @why:	a sentence after an error
 */
struct pmi1 {
	int	fd;
	char	name[PMI1_NAME];
	char	why[256];
};

/**
 * pmi1_begin() - find the launcher, and say hello. A process may do so several times.
 * Return: 0; -EINVAL: PMI_FD is not set, or no number; -ENOTSOCK: it is something else;
 * -EPIPE: the launcher is gone; -EPROTO: it says something else
 */
int pmi1_begin(struct pmi1 *p);

/* pmi1_put() - tell the others. Return: 0, -EPIPE or -EPROTO, as all below */
int pmi1_put(struct pmi1 *p, const char *key, const char *value);

/* pmi1_get() - what another rank told. @value has @size bytes */
int pmi1_get(struct pmi1 *p, const char *key, char *value, size_t size);

/* pmi1_barrier() - wait until all ranks have called it */
int pmi1_barrier(struct pmi1 *p);

/* pmi1_end() - say goodbye. Whoever ends without it, after pmi1_begin(), counts as crashed. */
int pmi1_end(struct pmi1 *p);

/* pmi1_check() - is the descriptor there? Return: as pmi1_begin() */
int pmi1_check(struct pmi1 *p);

#endif /* CANARY_COMMON_PMI1_H */
