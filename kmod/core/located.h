/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 4, blocks: the rows of the table of encodings for pairs of a value and an index
 * (encoding.c, located.c). The least or largest value comes out, with the lowest index that has it.
 *
 *  - Values of up to 32 bits: the maximum of unsigned numbers of 64 bits, which have both.
 *  - Values of 64 bits: first the maximum of values, then that of the indices that have it.
 */
#ifndef CANARY_CORE_LOCATED_H
#define CANARY_CORE_LOCATED_H

#include "floats.h"
#include "integers.h"

void cnr_located_encode(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words);
void cnr_located_finish(const struct cnr_comm *c, const struct cnr_operation *o,
			const struct cnr_part *p, u32 *words);

size_t cnr_stages_memory(const struct cnr_comm *c, const struct cnr_encoding *e,
			 const struct cnr_op *op);
u64 cnr_stages_blocks(const struct cnr_comm *c, const struct cnr_encoding *e,
		      const struct cnr_op *op);
void cnr_stages_part(const struct cnr_comm *c, const struct cnr_operation *o, struct cnr_part *p);
void cnr_stages_encode(const struct cnr_comm *c, const struct cnr_operation *o,
		       const struct cnr_part *p, u32 *words);
void cnr_stages_store(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, const u32 *words);
void cnr_stages_tidy(const struct cnr_comm *c, const struct cnr_operation *o,
		     const struct cnr_part *p, u32 *words);
void cnr_stages_serve(const struct cnr_comm *c, const struct cnr_operation *o,
		      const struct cnr_part *p, u32 *words);

#define CNR_LOCATED_ONE(operator, type)							\
	{ .op = operator, .dtype = type, .kind = CANARY_KIND_MAX64, .element = 8,	\
	  .part = cnr_part_same, .encode = cnr_located_encode,				\
	  .finish = cnr_located_finish, .store = cnr_elements_store,			\
	  .serve = cnr_elements_serve }

#define CNR_STAGES_ONE(operator, type)							\
	{ .op = operator, .dtype = type, .element = 16, .memory = cnr_stages_memory,	\
	  .blocks = cnr_stages_blocks, .part = cnr_stages_part,				\
	  .encode = cnr_stages_encode, .tidy = cnr_stages_tidy,				\
	  .store = cnr_stages_store, .serve = cnr_stages_serve }

/* Values of up to 32 bits */
#define CNR_LOCATED(type)								\
	CNR_LOCATED_ONE(CANARY_OP_MINLOC, type),					\
	CNR_LOCATED_ONE(CANARY_OP_MAXLOC, type)

/* Values of 64 bits */
#define CNR_STAGES(type)								\
	CNR_STAGES_ONE(CANARY_OP_MINLOC, type),						\
	CNR_STAGES_ONE(CANARY_OP_MAXLOC, type)

#endif /* CANARY_CORE_LOCATED_H */
