// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who has this library, with the same version and settings. MPI cannot ask a process without it,
 * which would not answer. So each process tells the launcher before MPICH starts. MPICH's own
 * exchange has a barrier, after which all can ask.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"
#include "userspace/common/parse.h"
#include "userspace/common/pmi1.h"

#define KEY		"canary-%u"
#define GREETING	(2 * sizeof(struct cmpi_greeting) + 1)	/* as hexadecimal digits */

enum peer {
	PEER_ALIKE,
	PEER_OTHER,	/* another version, or other settings, or wrong ones */
	PEER_NONE,	/* no library, or it is switched off */
};

/* By rank in MPI_COMM_WORLD. Written by MPI_Init only */
static struct {
	unsigned int		members;
	enum peer		*peer;
	struct cmpi_greeting	*greeting;
} known;

static struct pmi1 pmi;

static void to_text(const struct cmpi_greeting *g, char text[GREETING])
{
	const unsigned char *byte = (const unsigned char *)g;
	size_t i;

	for (i = 0; i < sizeof(*g); i++)
		sprintf(text + 2 * i, "%02x", byte[i]);
}

/* Another version may have another length. */
static bool from_text(const char *text, struct cmpi_greeting *g)
{
	unsigned char *byte = (unsigned char *)g;
	unsigned int value;
	size_t i;

	if (strlen(text) != 2 * sizeof(*g))
		return false;
	for (i = 0; i < sizeof(*g); i++) {
		if (!isxdigit((unsigned char)text[2 * i]) ||
		    sscanf(text + 2 * i, "%2x", &value) != 1)
			return false;
		byte[i] = value;
	}
	return true;
}

bool preload_peers_tell(const char *wrong)
{
	const char *text_of_rank = getenv("PMI_RANK");
	struct cmpi_greeting mine;
	uint32_t rank;
	char key[32], text[GREETING];

	/* A program that nobody launched is alone. */
	if (!text_of_rank)
		return true;
	if (!parse_number(text_of_rank, 0, INT32_MAX, &rank))
		return false;
	cmpi_greeting_fill(&mine, &preload_settings, wrong);
	to_text(&mine, text);
	snprintf(key, sizeof(key), KEY, rank);
	return !pmi1_begin(&pmi) && !pmi1_put(&pmi, key, text);
}

static enum peer ask(unsigned int process, struct cmpi_greeting *g)
{
	char key[32], text[PMI1_LINE];

	snprintf(key, sizeof(key), KEY, process);
	if (pmi1_get(&pmi, key, text, sizeof(text)))
		return PEER_NONE;
	if (from_text(text, g))
		return PEER_ALIKE;
	memset(g, 0, sizeof(*g));
	return PEER_OTHER;
}

static const char *differs(const struct cmpi_greeting *mine, const struct cmpi_greeting *other,
			   char text[CMPI_DIFFERS])
{
	if (!other->fingerprint.version[0])
		return "has another version of Canary";
	return cmpi_fingerprint_differs(&mine->fingerprint, &other->fingerprint, NULL, text);
}

/* One line for a job: the first process that has the library, of any version, says it. */
static void say(unsigned int rank)
{
	char text[CMPI_DIFFERS];
	unsigned int i;

	for (i = 0; i < rank; i++)
		if (known.peer[i] != PEER_NONE)
			return;
	for (i = 0; i < known.members && known.peer[i] == PEER_ALIKE; i++)
		;
	if (i < known.members)
		fprintf(stderr, "canary: process %u %s; communicators with it do without\n", i,
			known.peer[i] == PEER_OTHER ?
			differs(&known.greeting[rank], &known.greeting[i], text) :
			"has no libcanary-mpich.so, or it is switched off there");
}

void preload_peers_ask(unsigned int rank, unsigned int members)
{
	unsigned int i;

	preload_job = cmpi_hash(pmi.name, strlen(pmi.name));
	known.peer = calloc(members, sizeof(*known.peer));
	known.greeting = calloc(members, sizeof(*known.greeting));
	if (!known.peer || !known.greeting || members < 2)
		return;
	for (i = 0; i < members; i++)
		known.peer[i] = ask(i, &known.greeting[i]);
	for (i = 0; i < members; i++)
		if (known.peer[i] == PEER_ALIKE &&
		    !cmpi_greeting_alike(&known.greeting[i], &known.greeting[rank]))
			known.peer[i] = PEER_OTHER;
	known.members = members;
	say(rank);
}

bool preload_peer_alike(int process)
{
	return process >= 0 && process < known.members && known.peer[process] == PEER_ALIKE;
}

bool preload_peers_one_host(int a, int b)
{
	return preload_peer_alike(a) && preload_peer_alike(b) &&
	       cmpi_greeting_one_host(&known.greeting[a], &known.greeting[b]);
}
