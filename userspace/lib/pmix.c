// SPDX-License-Identifier: BSD-2-Clause
/*
 * The exchange of PMIx, which Open MPI's mpirun and srun --mpi=pmix offer. The library comes with
 * the launcher, so it is loaded when it is needed, and libcanary does not depend on it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "launcher.h"

#if __has_include(<pmix.h>)
#include <pmix.h>

#define LIBRARY	"libpmix.so.2"
#define KEY	"canary.root"

/* The functions of the library, and this process in it */
struct pmix {
	pmix_status_t	(*init)(pmix_proc_t *proc, pmix_info_t *info, size_t ninfo);
	pmix_status_t	(*put)(pmix_scope_t scope, const char *key, pmix_value_t *value);
	pmix_status_t	(*commit)(void);
	pmix_status_t	(*fence)(const pmix_proc_t *procs, size_t nprocs, const pmix_info_t *info,
				 size_t ninfo);
	pmix_status_t	(*get)(const pmix_proc_t *proc, const char *key, const pmix_info_t *info,
			       size_t ninfo, pmix_value_t **value);
	pmix_status_t	(*finalize)(const pmix_info_t *info, size_t ninfo);
	const char	*(*text)(pmix_status_t status);
	pmix_proc_t	self;
};

static int load(struct pmix *p)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "PMIx_Init", &p->init }, { "PMIx_Put", &p->put }, { "PMIx_Commit", &p->commit },
		{ "PMIx_Fence", &p->fence }, { "PMIx_Get", &p->get },
		{ "PMIx_Finalize", &p->finalize }, { "PMIx_Error_string", &p->text },
	};
	void *library = dlopen(LIBRARY, RTLD_NOW), *function;
	size_t i;

	if (!library)
		return lib_error(-ENOENT, "pmix: %s: give the address of rank 0", dlerror());
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			return lib_error(-ENOENT, "pmix: " LIBRARY " has no %s", functions[i].name);
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return 0;
}

static int failed(const struct pmix *p, const char *what, pmix_status_t status)
{
	return lib_error(-EPROTO, "pmix: %s: %s", what, p->text(status));
}

static int get_root(const struct pmix *p, char *text)
{
	pmix_value_t *value = NULL;
	pmix_proc_t root = p->self;
	pmix_status_t status;
	int err = 0;

	root.rank = 0;
	status = p->get(&root, KEY, NULL, 0, &value);
	if (status != PMIX_SUCCESS)
		return failed(p, "PMIx_Get", status);
	if (value->type == PMIX_STRING && strlen(value->data.string) < ADDRESS_TEXT)
		strcpy(text, value->data.string);
	else
		err = lib_error(-EPROTO, "pmix: PMIx_Get: not an address");
	if (value->type == PMIX_STRING)
		free(value->data.string);
	free(value);
	return err;
}

static int talk(const struct pmix *p, u32 rank, char *text)
{
	pmix_value_t value = { .type = PMIX_STRING, .data.string = text };
	pmix_status_t status = PMIX_SUCCESS;

	if (!rank)
		status = p->put(PMIX_GLOBAL, KEY, &value);
	if (status == PMIX_SUCCESS)
		status = p->commit();
	if (status != PMIX_SUCCESS)
		return failed(p, "PMIx_Put", status);
	status = p->fence(NULL, 0, NULL, 0);
	if (status != PMIX_SUCCESS)
		return failed(p, "PMIx_Fence", status);
	return rank ? get_root(p, text) : 0;
}

static bool mpi_says(const char *name)
{
	int (*function)(int *flag) = (int (*)(int *))dlsym(RTLD_DEFAULT, name);
	int flag = 0;

	return function && !function(&flag) && flag;
}

/* MPI_Init() fails where a session of PMIx has ended. During MPI's own, ours is a part of it. */
static int check_mpi(void)
{
	if (!dlsym(RTLD_DEFAULT, "MPI_Init") ||
	    (mpi_says("MPI_Initialized") && !mpi_says("MPI_Finalized")))
		return 0;
	return lib_error(-EBUSY, "pmix: a process of MPI has to call MPI_Init() before, and MPI_Finalize() later");
}

int pmix_exchange(struct launched *l, char *text)
{
	pmix_status_t status;
	struct pmix p;
	int err;

	err = check_mpi() ?: load(&p);
	if (err)
		return err;
	status = p.init(&p.self, NULL, 0);
	if (status != PMIX_SUCCESS)
		return failed(&p, "PMIx_Init", status);
	if (p.self.rank == l->rank)
		err = talk(&p, l->rank, text);
	else
		err = lib_error(-EINVAL, "pmix: this is rank %u, but for %s rank %u", p.self.rank,
				l->name, l->rank);
	if (!err && !l->id[0])
		snprintf(l->id, sizeof(l->id), "%s", p.self.nspace);
	p.finalize(NULL, 0);
	return err;
}

#else

int pmix_exchange(struct launched *l, char *text)
{
	return lib_error(-ENOSYS, "pmix: libcanary was built without pmix.h: give the address of rank 0");
}

#endif
