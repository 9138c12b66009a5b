// SPDX-License-Identifier: BSD-2-Clause
/*
 * From which length on canary is faster, by the number of members: what was measured in this
 * process. Each rank may know other numbers, so ranks agree whether all know one.
 */
#include <pthread.h>
#include <stdio.h>

#include "cmpi.h"

#define KEPT	16	/* sizes of communicators */

static struct {
	pthread_mutex_t	lock;
	unsigned int	members[KEPT];	/* of a communicator, each number once */
	int		min_bytes[KEPT];
	unsigned int	n;
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Return: the entry, known.n if there is none. The caller holds the lock. */
static unsigned int find(unsigned int members)
{
	unsigned int i;

	for (i = 0; i < known.n && known.members[i] != members; i++)
		;
	return i;
}

int cmpi_threshold(unsigned int members)
{
	unsigned int i;
	int found;

	pthread_mutex_lock(&known.lock);
	i = find(members);
	found = i < known.n ? known.min_bytes[i] : 0;
	pthread_mutex_unlock(&known.lock);
	return found;
}

void cmpi_threshold_keep(unsigned int members, int min_bytes)
{
	unsigned int i;

	pthread_mutex_lock(&known.lock);
	i = find(members);
	if (i < KEPT) {
		known.members[i] = members;
		known.min_bytes[i] = min_bytes;
		known.n += i == known.n;
	}
	pthread_mutex_unlock(&known.lock);
}

void cmpi_thresholds_print(void)
{
	char what[48];
	unsigned int i;

	pthread_mutex_lock(&known.lock);
	for (i = 0; i < known.n; i++) {
		snprintf(what, sizeof(what), "faster from %d bytes on", known.min_bytes[i]);
		if (known.min_bytes[i] == CMPI_NEVER)
			snprintf(what, sizeof(what), "it is not faster");
		/* One call for a line, as other ranks may print theirs. */
		fprintf(stderr, "canary:   %u processes: measured, %s\n", known.members[i], what);
	}
	pthread_mutex_unlock(&known.lock);
}
