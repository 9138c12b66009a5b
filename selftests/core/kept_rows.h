/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows that kept_test.c adds to the tables of shapes and encodings: a broadcast down kept trees.
 * The compiler reads this before anything else, so it includes nothing.
 */
#ifndef SELFTESTS_CORE_KEPT_ROWS_H
#define SELFTESTS_CORE_KEPT_ROWS_H

#define TEST_BROADCAST	7	/* a shape */
#define TEST_COPY	30	/* an operator: of the root's elements */
#define TEST_TOGETHER	8	/* blocks that go down one tree */

struct cnr_comm;
struct cnr_encoding;
struct cnr_op;
struct cnr_operation;
struct cnr_part;
struct cnr_roles;

void test_broadcast_roles(const struct cnr_comm *c, const struct cnr_operation *o,
			  unsigned int block, struct cnr_roles *r);
unsigned long test_copy_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
			       const struct cnr_op *op);
void test_copy_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
void test_copy_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, unsigned int *words);
void test_copy_finish(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, unsigned int *words);
void test_copy_store(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, const unsigned int *words);
void test_copy_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, unsigned int *words);

#define CNR_TEST_SHAPES									\
	{										\
		.shape = TEST_BROADCAST,						\
		.rooted = true,								\
		.kept = true,								\
		.together = TEST_TOGETHER,						\
		.roles = test_broadcast_roles,						\
	},

#define CNR_TEST_ENCODINGS								\
	{										\
		.op = TEST_COPY,							\
		.dtype = CANARY_INT32,							\
		.kind = CANARY_KIND_ADD32,						\
		.element = sizeof(u32),							\
		.blocks = test_copy_blocks,						\
		.part = test_copy_part,							\
		.encode = test_copy_encode,						\
		.finish = test_copy_finish,						\
		.store = test_copy_store,						\
		.serve = test_copy_serve,						\
	},

#endif /* SELFTESTS_CORE_KEPT_ROWS_H */
