// SPDX-License-Identifier: BSD-2-Clause
/* Counters of a process: which calls went through canary, and why others did not. */
#include <stdio.h>

#include "cmpi.h"

static struct {
	uint64_t	calls[CMPI_CALLS][CMPI_WHY_COUNT];
	uint64_t	bytes;		/* of vectors that went through canary */
	uint64_t	formed[2];
	uint64_t	nodes;		/* of these, with node leaders */
} counts;	/* changed by atomic additions only */

static void add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void cmpi_count(enum cmpi_call call, enum cmpi_why why, size_t bytes)
{
	add(&counts.calls[call][why], 1);
	if (why == CMPI_CANARY)
		add(&counts.bytes, bytes);
}

void cmpi_count_formed(bool formed, bool node)
{
	add(&counts.formed[formed], 1);
	add(&counts.nodes, formed && node);
}

void cmpi_print_table(unsigned int rank)
{
	static const char *const name[] = {
		[CMPI_ALLREDUCE] = "allreduce", [CMPI_IALLREDUCE] = "iallreduce",
		[CMPI_REDUCE] = "reduce", [CMPI_BARRIER] = "barrier",
	};
	unsigned int call, why;
	char text[2048];
	int at;

	/* It is printed by one call, as other ranks may print theirs. */
	at = snprintf(text, sizeof(text), "canary: rank %-5u %-35s", rank, "calls");
	for (call = 0; call < CMPI_CALLS; call++)
		at += snprintf(text + at, sizeof(text) - at, " %11s", name[call]);
	for (why = 0; why < CMPI_WHY_COUNT; why++) {
		uint64_t any = 0;

		for (call = 0; call < CMPI_CALLS; call++)
			any += counts.calls[call][why];
		if (!any && why != CMPI_CANARY)
			continue;
		at += snprintf(text + at, sizeof(text) - at, "\ncanary:   %-11s %-34s",
			       cmpi_why_name(why), cmpi_why_text(why));
		for (call = 0; call < CMPI_CALLS; call++)
			at += snprintf(text + at, sizeof(text) - at, " %11llu",
				       (unsigned long long)counts.calls[call][why]);
	}
	fprintf(stderr, "%s\ncanary:   %llu communicators formed, %llu not; %llu bytes", text,
		(unsigned long long)counts.formed[true], (unsigned long long)counts.formed[false],
		(unsigned long long)counts.bytes);
	if (counts.nodes)
		fprintf(stderr, "; %llu by node leaders", (unsigned long long)counts.nodes);
	fprintf(stderr, "\n");
	cmpi_thresholds_print();
}
