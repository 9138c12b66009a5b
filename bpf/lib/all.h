/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All of the switch logic, in order. The includer has its platform in scope: maps.h in BPF,
 * ctx/native.h elsewhere. Entry points: csw_ingress(), csw_flush(), csw_tc().
 */
#ifndef CANARY_BPF_LIB_ALL_H
#define CANARY_BPF_LIB_ALL_H

#include "lock.h"
#include "parse.h"
#include "checksum.h"
#include "data.h"
#include "combine.h"
#include "descriptor.h"
#include "timeout.h"
#include "queue.h"
#include "fan_in.h"
#include "nexthop.h"
#include "cookie.h"
#include "emit.h"
#include "contribution.h"
#include "admit.h"
#include "spread.h"
#include "replicate.h"
#include "ingress.h"

#endif /* CANARY_BPF_LIB_ALL_H */
