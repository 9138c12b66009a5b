// SPDX-License-Identifier: BSD-2-Clause
/* The process: what happens around MPI_Init and MPI_Finalize */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

static bool told;	/* the other processes of the job may know of this one */
static int rank;	/* in MPI_COMM_WORLD */

static int is_openmpi(struct dl_phdr_info *info, size_t size, void *arg)
{
	return !!strstr(info->dlpi_name, "/libopen-pal.so");
}

/* Handles of another MPI library look different, so this one cannot even pass calls on. */
static void refuse_others(void)
{
	if (!dl_iterate_phdr(is_openmpi, NULL))
		return;
	fprintf(stderr, "canary: %s is for MPICH, and this is a program of Open MPI: %s\n",
		"libcanary-mpich.so", "take it out of LD_PRELOAD");
	exit(2);
}

/*
 * Loading this library says that it is wanted. CANARY_ENABLE=0 is for who cannot unload it. With
 * settings that are wrong, the library is there, to say so and to count.
 */
void preload_before_init(void)
{
	int started = 0, err;
	char wrong[200];

	refuse_others();
	PMPI_Initialized(&started);
	if (started)
		return;
	err = cmpi_settings_take(&preload_settings, NULL, NULL, wrong, sizeof(wrong));
	if (!preload_settings.enable && cmpi_setting_given("CANARY_ENABLE"))
		return;
	told = preload_peers_tell(wrong);
	if (!told)
		fprintf(stderr, "canary: off, as %s\n", err ? wrong :
			"the launcher does not exchange data between processes");
}

void preload_after_init(void)
{
	struct preload_comm *world;
	int members;

	if (!told || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) ||
	    PMPI_Comm_size(MPI_COMM_WORLD, &members))
		return;
	preload_peers_ask(rank, members);
	preload_on = preload_comms_init();
	if (!preload_on || !preload_settings.early)
		return;
	world = preload_comm_find(MPI_COMM_WORLD);
	if (world && cmpi_usable(&preload_settings, &world->c))
		preload_comm_form(world);
}

void preload_before_finalize(void)
{
	if (!preload_on)
		return;
	preload_on = false;
	if (preload_settings.table > 1 || (preload_settings.table && !rank))
		cmpi_print_table(rank);
	if (preload_comms_end())
		cmpi_close_all();
}
