// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Layer 4, blocks: shapes. A shape says who leads a block of an operation, who contributes, and who
 * gets the result. Only this file knows the shapes. Others ask the functions below and those in
 * blocks.h. docs/how-to-add-a-shape.md
 */
#include "blocks.h"

static void cnr_allreduce_roles(const struct cnr_comm *c, const struct cnr_operation *o, u32 block,
				struct cnr_roles *r)
{
	r->leader = cnr_turn(c, block);
	r->contribute = CNR_ALL;
	r->receive = CNR_ALL;
}

static const struct cnr_shape cnr_shapes[] = {
	{
		.shape = CANARY_ALLREDUCE,
		.turns = true,
		.rings = true,
		.kept = true,
		.roles = cnr_allreduce_roles,
	},
	CNR_TEST_SHAPES
};

/* Return: NULL if there is no such shape */
static const struct cnr_shape *cnr_shape(u32 shape)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cnr_shapes); i++)
		if (cnr_shapes[i].shape == shape)
			return &cnr_shapes[i];
	return NULL;
}

/* Will there be operations of @shape? A @cfg that names none has allreduces. */
static bool cnr_shape_wanted(const struct cnr_config *cfg, u32 shape)
{
	return cfg->shapes ? cfg->shapes >> shape & 1 : shape == CANARY_ALLREDUCE;
}

/* Are all shapes that @cfg names known here? */
bool cnr_shapes_known(const struct cnr_config *cfg)
{
	u32 shape;

	for (shape = 0; cfg->shapes >> shape; shape++)
		if (cnr_shape_wanted(cfg, shape) && !cnr_shape(shape))
			return false;
	return true;
}

/*
 * May there be operations whose leaders do not take turns (if @turns), or that keep no results (if
 * @kept)?
 */
static bool cnr_shapes_lack(const struct cnr_config *cfg, bool turns, bool kept)
{
	const struct cnr_shape *s;

	for (s = cnr_shapes; s < cnr_shapes + ARRAY_SIZE(cnr_shapes); s++)
		if (cnr_shape_wanted(cfg, s->shape) && ((turns && !s->turns) || (kept && !s->kept)))
			return true;
	return false;
}

/* Will leaders take turns in all operations? */
bool cnr_shapes_turn(const struct cnr_config *cfg)
{
	return !cnr_shapes_lack(cfg, true, false);
}

/* Will all operations keep their results? */
bool cnr_shapes_kept(const struct cnr_config *cfg)
{
	return !cnr_shapes_lack(cfg, false, true);
}

/*
 * How many of the blocks that a member may hold, two windows, may it lead? They may cut a run at
 * both ends, and turns skip once where serial numbers wrap. One run above a rank's share is enough
 * for that: runs_test.c compares.
 */
u32 cnr_shapes_leads(const struct cnr_config *cfg, u32 window, u32 run)
{
	u32 leads = 2 * window;

	if (cnr_shapes_turn(cfg))
		leads = ((leads / run + cfg->members - 1) / cfg->members + 1) * run;
	return min_t(u32, leads, 2 * window);
}

/* Return: the shape of @op; NULL if cnr_config.shapes does not have it, or cnr_op.root is wrong */
const struct cnr_shape *cnr_shape_of(const struct cnr_comm *c, const struct cnr_op *op)
{
	const struct cnr_shape *s = cnr_shape(op->shape);

	if (!s || !cnr_shape_wanted(&c->cfg, op->shape))
		return NULL;
	return op->root < (s->rooted ? c->cfg.members : 1) ? s : NULL;
}

/* Return: the block before @block, of @o, that has the same leader, where turns do not skip */
u32 cnr_led_before(const struct cnr_comm *c, const struct cnr_operation *o, u32 block)
{
	u32 run = cnr_led_run(c);

	if (!o->shape->turns || block & (run - 1))
		return block - 1;
	return block - 1 - (c->cfg.members - 1) * run;
}

/*
 * A number for places in tables: blocks that a rank leads one after the other have successive
 * numbers.
 */
u32 cnr_led_number(const struct cnr_comm *c, u32 block)
{
	u32 run = cnr_led_run(c);

	if (!c->turns)
		return block;
	return ((block >> c->run_bits) / c->cfg.members << c->run_bits) | (block & (run - 1));
}

/* May anybody still ask for something of @o, which is complete here? */
bool cnr_op_asked_for(const struct cnr_comm *c, const struct cnr_operation *o)
{
	return o->shape->kept && canary_before(c->all_done, o->base + o->blocks);
}
