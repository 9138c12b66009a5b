// SPDX-License-Identifier: BSD-2-Clause
/* The component as Open MPI sees it: parameters, opening, closing, the table at the end. */
#include <stdio.h>

#include "component.h"
#include "ompi/mca/rte/rte.h"

static int coll_register(void);
static int coll_open(void);
static int coll_close(void);
static int coll_init_query(bool progress_threads, bool threads);

static const char *registered[CMPI_SETTINGS];	/* texts that belong to Open MPI */
static bool opened;

mca_coll_base_component_t mca_coll_canary_component = {
	.collm_version = {
		MCA_COLL_BASE_VERSION_2_0_0,
		.mca_component_name = "canary",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
				      OMPI_RELEASE_VERSION),
		.mca_open_component = coll_open,
		.mca_close_component = coll_close,
		.mca_register_component_params = coll_register,
	},
	.collm_data = { .param_field = MCA_BASE_METADATA_PARAM_NONE },
	.collm_init_query = coll_init_query,
	.collm_comm_query = coll_comm_query,
};

/*
 * All are texts for Open MPI, which takes a word for the number 0. Here it is read as the variables
 * of the environment are.
 */
static void register_setting(unsigned int i)
{
	const struct cmpi_setting *row = &cmpi_setting_table[i];

	registered[i] = cmpi_setting_value(row);
	mca_base_component_var_register(&mca_coll_canary_component.collm_version, row->name,
					row->help, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
					OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
					&registered[i]);
}

static int coll_register(void)
{
	unsigned int i;

	for (i = 0; i < CMPI_SETTINGS; i++)
		register_setting(i);
	mca_base_component_var_register(&mca_coll_canary_component.collm_version, "priority",
					"the component with the highest priority is asked first",
					MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_9,
					MCA_BASE_VAR_SCOPE_READONLY, &coll_priority);
	return OMPI_SUCCESS;
}

/* With settings that are wrong, the component is there, to say so and to count. */
static int coll_open(void)
{
	char wrong[200];
	int err;

	opened = false;
	err = cmpi_settings_take(&coll_settings, registered, COLL_PREFIX, wrong, sizeof(wrong));
	if (!coll_settings.enable)
		return OMPI_SUCCESS;
	opened = coll_peers_tell(wrong) == OMPI_SUCCESS;
	if (!opened)
		fprintf(stderr, "canary: off, as %s\n", err ? wrong :
			"the launcher does not exchange data between processes");
	return OMPI_SUCCESS;
}

static int coll_init_query(bool progress_threads, bool threads)
{
	if (!opened)
		return OMPI_ERR_NOT_AVAILABLE;
	coll_requests_init();
	return OMPI_SUCCESS;
}

static int coll_close(void)
{
	if (!opened)
		return OMPI_SUCCESS;
	opened = false;
	coll_requests_fini();
	if (coll_settings.table > 1 || (coll_settings.table && !OMPI_PROC_MY_NAME->vpid))
		cmpi_print_table(OMPI_PROC_MY_NAME->vpid);
	cmpi_close_all();
	coll_peers_forget();
	return OMPI_SUCCESS;
}
