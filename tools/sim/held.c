// SPDX-License-Identifier: BSD-2-Clause
/*
 * Vectors that hosts hold, of any type. What they have to become is computed by the reference of
 * canary perf, which shares nothing with the core. vector.c has those that nobody holds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "tools/canary/reference_float.h"
#include "tools/values/values.h"
#include "util.h"

/*
 * struct held - the operations of a job whose hosts hold vectors
 * @sim:	the simulation
 * @count:	elements of a vector
 * @bytes:	of it
 * @member:	by rank: whose elements it has
 * @want:	by operation: the result; NULL: not computed yet
 * @method:	enum canary_method, of the last operation
 * @hash:	by rank: of all results so far
 */
struct held {
	const struct sim *sim;
	size_t count;
	size_t bytes;
	uint32_t *member;
	void **want;
	uint8_t method;
	uint64_t *hash;
};

static uint64_t give(const struct reference *r, uint32_t rank, size_t index)
{
	const struct held *held = r->giver;
	struct reference perf = *r;

	rank = held->member[rank];
	if (held->sim->cfg.values >= DATA_SETS)
		return values_one(held->sim->cfg.values - DATA_SETS, r->dtype, r->seed, rank,
				  index);
	perf.give = NULL;
	return reference_given(&perf, rank, index);
}

/* The reference of operation @seq of @j */
static struct reference reference(const struct job *j, uint32_t seq)
{
	const struct scenario *cfg = &j->held->sim->cfg;

	return (struct reference){
		.dtype = scenario_dtype(cfg),
		.op = scenario_operator(cfg),
		.how = scenario_how(cfg),
		.members = j->members,
		.seed = seq + 1,
		.give = give,
		.giver = j->held,
	};
}

void held_job(struct sim *s, struct job *j, uint32_t number)
{
	uint64_t random = random_stream(s->cfg.seed, 12, number);
	struct held *held = sim_zalloc(1, sizeof(*held));
	uint32_t i;

	held->sim = s;
	held->bytes = s->cfg.bytes;
	held->count = held->bytes / cnr_element(scenario_operator(&s->cfg),
						scenario_dtype(&s->cfg));
	held->member = sim_zalloc(j->members, sizeof(*held->member));
	held->want = sim_zalloc(s->cfg.operations, sizeof(*held->want));
	held->hash = sim_zalloc(j->members, sizeof(*held->hash));
	for (i = 0; i < j->members; i++)
		held->member[i] = i;
	if (s->cfg.dealt == DEALT_RANDOM)
		random_order(&random, held->member, j->members);
	j->held = held;
}

void held_free(struct job *j)
{
	uint32_t i;

	if (!j->held)
		return;
	for (i = 0; i < j->held->sim->cfg.operations; i++)
		free(j->held->want[i]);
	free(j->held->want);
	free(j->held->member);
	free(j->held->hash);
	free(j->held);
}

/* Write the vector of @h for operation @seq to @to, which has room for held_bytes(). */
void held_fill(const struct sim_host *h, uint32_t seq, void *to)
{
	struct reference r = reference(h->job, seq);

	reference_fill(&r, h->rank, to, h->job->held->count);
}

/* What comes out of operation @seq of @j. It is computed once. */
static const void *wanted(const struct job *j, uint32_t seq)
{
	struct held *held = j->held;
	struct reference r = reference(j, seq);

	if (held->want[seq])
		return held->want[seq];
	held->want[seq] = sim_zalloc(1, held->bytes);
	reference_result(&r, held->want[seq], held->count);
	return held->want[seq];
}

/* Operation @seq of @h is complete. Compare the result at @data bit for bit. */
void held_check(struct sim *s, struct sim_host *h, uint32_t seq, const void *data, uint8_t method)
{
	struct held *held = h->job->held;

	s->checked += held->count;
	if (memcmp(data, wanted(h->job, seq), held->bytes))
		s->wrong++;
	held->method = method;
	held->hash[h->rank] = values_hash(held->hash[h->rank], data, held->bytes);
}

/* Return: how many members of @j have results that differ from those of all ranks before them */
uint32_t held_distinct(const struct job *j)
{
	uint32_t i, k, distinct = 0;

	for (i = 0; i < j->members; i++) {
		for (k = 0; k < i && j->held->hash[k] != j->held->hash[i]; k++)
			;
		distinct += k == i;
	}
	return distinct;
}

uint64_t held_hash(const struct job *j)
{
	return j->held->hash[0];
}

uint8_t held_method(const struct job *j)
{
	return j->held->method;
}

/* Write @bytes to the file @name of @folder. Return: false after an error message */
static bool write_file(const char *folder, const char *name, const void *data, size_t bytes)
{
	char path[4096];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	good = file && fwrite(data, 1, bytes, file) == bytes;
	if (file)
		good &= !fclose(file);
	if (!good)
		perror(path);
	return good;
}

bool held_write(struct sim *s, const char *folder)
{
	const struct job *j = &s->job[0];
	char name[32], *vector;
	bool good = true;
	uint32_t i;

	if (!j->held) {
		fputs("canary-sim: --vectors: hosts hold none, without values=perf\n", stderr);
		return false;
	}
	vector = sim_alloc(s->cfg.bytes);
	for (i = 0; good && i < j->members; i++) {
		held_fill(&s->host[j->host[i]], 0, vector);
		snprintf(name, sizeof(name), "rank%u", i);
		good = write_file(folder, name, vector, s->cfg.bytes);
	}
	free(vector);
	return good && write_file(folder, "result", wanted(j, 0), s->cfg.bytes);
}
