/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A number by which processes see whether they have the same key, without telling it. Who knows the
 * number can only try keys.
 */
#ifndef CANARY_COMMON_KEY_CHECK_H
#define CANARY_COMMON_KEY_CHECK_H

#include <linux/types.h>
#include <stdint.h>
#include <string.h>

#include "siphash.h"

/* Return: the number; 0: no key, that is, all zeros */
static inline uint64_t key_check(const uint8_t key[16])
{
	struct sip_state s;
	uint64_t half[2];

	memcpy(half, key, sizeof(half));
	if (!half[0] && !half[1])
		return 0;
	sip_start(&s, half[0], half[1]);
	return sip_end(&s) | 1;
}

#endif /* CANARY_COMMON_KEY_CHECK_H */
