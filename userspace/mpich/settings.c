// SPDX-License-Identifier: BSD-2-Clause
/* What MPI_Init sets, and what does not change until MPI_Finalize */
#include "preload.h"

struct cmpi_settings preload_settings;
bool preload_on;
uint32_t preload_job;
