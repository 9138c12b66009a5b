// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library that is loaded before a program of XGBoost 1.7 (LD_PRELOAD). It takes the place of two
 * functions that libxgboost calls: rabit's allreduce, and rabit's end. Calls inside libxgboost go
 * through its table of dynamic symbols, so nothing of it is changed.
 *
 * Python loads libxgboost without showing its symbols to others. So the functions that were there
 * are looked up in the library that calls.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rabit.h"

#define EXPORT	__attribute__((visibility("default")))

/*
 * rabit::engine::Allreduce_(void *, size_t, size_t, void (*)(const void *, void *, int, const
 * MPI::Datatype &), mpi::DataType, mpi::OpType, void (*)(void *), void *)
 */
#define SUM	"_ZN5rabit6engine10Allreduce_EPvmmPFvPKvS1_iRKN3MPI8DatatypeEE" \
		"NS0_3mpi8DataTypeENSA_6OpTypeEPFvS1_ES1_"
#define FINALIZE	"_ZN5rabit6engine8FinalizeEv"		/* rabit::engine::Finalize() */
#define ERROR		"_ZN5rabit5utils5ErrorEPKcz"		/* rabit::utils::Error() */

void preload_sum(void *data, size_t size, size_t count, rabit_reduce *reduce, int type, int op,
		 rabit_prepare *prepare, void *arg) __asm__(SUM);
void preload_finalize(void) __asm__(FINALIZE);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of looking it up */
static struct rabit found;

static void find(void *library)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ SUM, &found.sum }, { FINALIZE, &found.finalize }, { ERROR, &found.error },
		{ "RabitAllreduce", &found.allreduce }, { "RabitGetRank", &found.rank },
		{ "RabitGetWorldSize", &found.members },
	};
	void *function;
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function = dlsym(library, functions[i].name);
		if (!function) {
			fprintf(stderr, "canary: this libxgboost has no %s\n", functions[i].name);
			abort();
		}
		memcpy(functions[i].to, &function, sizeof(function));
	}
}

/* Rabit's functions in the library that has the address @caller */
static const struct rabit *rabit(const void *caller)
{
	void *library = NULL;
	Dl_info info;

	pthread_mutex_lock(&lock);
	if (!found.sum) {
		if (dladdr(caller, &info))
			library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (!library) {
			fprintf(stderr, "canary: cannot find the libxgboost that calls\n");
			abort();
		}
		find(library);
	}
	pthread_mutex_unlock(&lock);
	return &found;
}

EXPORT void preload_sum(void *data, size_t size, size_t count, rabit_reduce *reduce, int type,
			int op, rabit_prepare *prepare, void *arg)
{
	const struct rabit *r = rabit(__builtin_return_address(0));
	const struct rabit_sum sum = { data, size, count, reduce, type, op, prepare, arg };

	if (!worker_sum(r, &sum))
		r->sum(data, size, count, reduce, type, op, prepare, arg);
}

EXPORT void preload_finalize(void)
{
	const struct rabit *r = rabit(__builtin_return_address(0));

	worker_end();
	r->finalize();
}
