// SPDX-License-Identifier: BSD-2-Clause
/* Names of the values of enumerations, in their order */
#include "setting.h"

const char *const mode_words[] = { "fast", "shaped", NULL };
const char *const fan_in_words[] = { "off", "learn", NULL };
const char *const clock_words[] = { "sleep", "poll", NULL };
const char *const forward_words[] = { "fast", "stack", NULL };
const char *const choice_words[] = {
#define X(name, text, help) text,
	CSW_CHOICES(X)
#undef X
	NULL
};
