// SPDX-License-Identifier: BSD-2-Clause
/* Where rank 0 is, by PMI-1, which mpiexec of MPICH and srun --mpi=pmi2 offer */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "launcher.h"
#include "userspace/common/pmi1.h"

#define KEY	"canary-root"

static int talk(struct pmi1 *p, struct launched *l, char *text)
{
	int err = pmi1_begin(p);

	if (!err && !l->rank)
		err = pmi1_put(p, KEY, text);
	err = err ?: pmi1_barrier(p);
	if (!err && l->rank)
		err = pmi1_get(p, KEY, text, ADDRESS_TEXT);
	if (!err && !l->id[0])
		snprintf(l->id, sizeof(l->id), "%s", p->name);
	return err ?: pmi1_end(p);
}

int pmi_exchange(struct launched *l, char *text)
{
	struct pmi1 p;
	int err = pmi1_check(&p);

	if (err)
		return lib_error(err, "%s%s", p.why, getenv("PMI_FD") ? "" :
				 ": give the number of the communicator and the address of rank 0");
	if (dlsym(RTLD_DEFAULT, "MPI_Init"))
		return lib_error(-EBUSY, "pmi: PMI_FD belongs to the MPI library of this process: broadcast the address of rank 0 by MPI");
	err = talk(&p, l, text);
	return err ? lib_error(err, "%s", p.why) : 0;
}
