// SPDX-License-Identifier: GPL-2.0
/* Tracepoints: what trace.h declares is defined here. */

#include "canary.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
