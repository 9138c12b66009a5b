/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* All of the core, for tests that look inside. Drivers see core.h only. */
#ifndef CANARY_CORE_INSIDE_H
#define CANARY_CORE_INSIDE_H

#include "message.h"
#include "outbox.h"
#include "session.h"
#include "blocks.h"
#include "tree.h"
#include "ring.h"
#include "plan.h"

#endif /* CANARY_CORE_INSIDE_H */
