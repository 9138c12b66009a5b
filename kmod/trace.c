// SPDX-License-Identifier: GPL-2.0
/* This file defines the tracepoints that trace.h declares. */

#include "canary.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
