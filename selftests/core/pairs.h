/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kind of lists, for tests: pairs of index and value, which are added. Its lines of the tables
 * are compiled in by -include. So what the core and switches do with lists is tested before an
 * application can ask for it.
 */
#ifndef SELFTESTS_CORE_PAIRS_H
#define SELFTESTS_CORE_PAIRS_H

#include <stdbool.h>
#include <linux/types.h>

#define PAIRS_DTYPE	200	/* beside enum canary_dtype */

#define CANARY_TEST_KINDS(X, ...)							\
	X(PAIRS32, CANARY_ADD, CANARY_LANES_PAIR, 0, CANARY_CHECK_SUM,			\
	  CANARY_K_SHARDS | CANARY_K_SWITCHES, ##__VA_ARGS__)

#define CANARY_TEST_LISTS(X)	X(PAIRS32, pairs_fit, pairs_scatter, pairs_merge)

#define CNR_TEST_ENCODINGS								\
	{										\
		.op = CANARY_OP_SUM,							\
		.dtype = PAIRS_DTYPE,							\
		.element = sizeof(u32),							\
		.blocks = pairs_blocks,							\
		.part = pairs_part,							\
		.encode = pairs_encode,							\
		.shard = pairs_shard,							\
		.store = pairs_store,							\
		.serve = pairs_serve,							\
	},

static inline int pairs_fit(const __u32 *list, __u32 length, __u32 words)
{
	__u32 i;

	for (i = 0; i < length / 4; i += 2)
		if (list[i] >= words)
			return 0;
	return 1;
}

static inline void pairs_scatter(__u32 *block, const __u32 *list, __u32 length)
{
	__u32 i;

	for (i = 0; i < length / 4; i += 2)
		block[list[i]] += list[i + 1];
}

static inline __u32 pairs_find(const __u32 *list, __u32 n, __u32 index)
{
	__u32 i;

	for (i = 0; i < n && list[i] != index; i += 2)
		;
	return i;
}

static inline int pairs_merge(__u32 *list, __u32 *length, __u32 room, const __u32 *more,
			      __u32 more_length)
{
	__u32 n = *length / 4, added = 0, i, at;

	for (i = 0; i < more_length / 4; i += 2)
		added += pairs_find(list, n, more[i]) == n;
	if (*length + 8 * added > room)
		return 0;
	for (i = 0; i < more_length / 4; i += 2) {
		at = pairs_find(list, n, more[i]);
		if (at == n) {
			list[n] = more[i];
			list[n + 1] = 0;
			n += 2;
		}
		list[at + 1] += more[i + 1];
	}
	*length = 4 * n;
	return 1;
}

struct cnr_comm;
struct cnr_encoding;
struct cnr_op;
struct cnr_operation;
struct cnr_part;

/* pairs.c: vectors that are sparse, more or less. Zeros are not sent. */
unsigned long pairs_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
			   const struct cnr_op *op);
void pairs_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
void pairs_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		  const struct cnr_part *p, __u32 *words);
__u16 pairs_shard(const struct cnr_comm *c, const struct cnr_operation *o,
		  const struct cnr_part *p, __u8 number, __u32 *words, bool *last);
void pairs_store(const struct cnr_comm *c, const struct cnr_operation *o,
		 const struct cnr_part *p, const __u32 *words);
void pairs_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		 const struct cnr_part *p, __u32 *words);

#endif /* SELFTESTS_CORE_PAIRS_H */
