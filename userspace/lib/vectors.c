// SPDX-License-Identifier: BSD-2-Clause
/* Which vector code the core uses in this process (platform.h) */
#include <stdlib.h>

#include "core/platform.h"

#ifdef CNR_HAS_AVX2
#include <cpuid.h>
#endif

#define VECTORS_VARIABLE	"CANARY_VECTORS"

enum cnr_vectors cnr_vectors_used = CNR_VECTORS_UNKNOWN;

static const char *const names[] = {
	[CNR_VECTORS_NONE] = "none", [CNR_VECTORS_AVX2] = "avx2", [CNR_VECTORS_AVX512] = "avx512",
	[CNR_VECTORS_NEON] = "neon",
};

#ifdef CNR_HAS_AVX2
/* Conversions of float16. clang's __builtin_cpu_supports() does not know them. */
static bool have_f16c(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

bool cnr_vectors_have(enum cnr_vectors which)
{
	switch (which) {
	case CNR_VECTORS_NONE:
		return true;
#ifdef CNR_HAS_AVX2
	case CNR_VECTORS_AVX2:
		return __builtin_cpu_supports("avx2") && have_f16c();
#endif
#ifdef CNR_HAS_AVX512
	case CNR_VECTORS_AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
		       cnr_vectors_have(CNR_VECTORS_AVX2);
#endif
#ifdef CNR_HAS_NEON
	case CNR_VECTORS_NEON:
		return true;
#endif
	default:
		return false;
	}
}

/* What is not there, or has no such name, is none. */
enum cnr_vectors cnr_vectors_find(void)
{
	const char *asked = secure_getenv(VECTORS_VARIABLE);
	enum cnr_vectors which, found = CNR_VECTORS_NONE;

	for (which = CNR_VECTORS_NONE; which < CNR_VECTORS_UNKNOWN; which++)
		if (cnr_vectors_have(which) && (!asked || !strcmp(asked, names[which])))
			found = which;
	__atomic_store_n(&cnr_vectors_used, found, __ATOMIC_RELAXED);
	return found;
}
