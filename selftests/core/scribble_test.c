// SPDX-License-Identifier: BSD-2-Clause
/*
 * Vectors in memory that the application can write to (cnr_op.hashes), which it does. The others
 * get the right sum, or an error that names the rank. This holds also if no checksum shows the
 * change.
 */
#include "trial.h"

#define MEMBERS	4
#define WRITER	1	/* the rank whose application writes */

struct plot {
	struct tnet *s;
	enum canary_type lost;	/* packets of this type are lost, from WRITER and others ... */
	u32	skip;		/* ... after so many of them */
	bool	over;
	bool	at_once;	/* the application writes while its results are being sent */
	u32	sent;
};

static bool lose(void *arg, int from, int to, const struct canary_hdr *h)
{
	struct plot *p = arg;

	if (p->at_once && from == WRITER && h->type == CANARY_RESULT && ++p->sent == p->skip)
		tnet_permute(p->s, WRITER);
	if (p->at_once || p->over || h->type != p->lost)
		return false;
	if (p->skip) {
		p->skip--;
		return false;
	}
	return true;
}

static struct tnet *posted(u8 algorithm, struct plot *p)
{
	struct tnet_config cfg = {
		.members = MEMBERS, .seed = 9, .algorithm = algorithm, .pinned = true,
	};

	p->s = tnet_new(&cfg);
	tnet_connect(p->s, -1);
	tnet_wait_state(p->s, CNR_CONNECTED, 10 * S);
	tnet_faults(p->s)->filter = lose;
	tnet_faults(p->s)->filter_arg = p;
	post_all(p->s, MEMBERS, 352 * 400);
	return p->s;
}

static void named(struct tnet *s, const char *what)
{
	tnet_wait_state(s, CNR_FAILED, 5 * S);
	tap(blaming(s, MEMBERS, -ECONNRESET, WRITER) >= MEMBERS - 1 && !tnet_wrong(s),
	    "%s: nobody believes it, its rank is named (%u wrong)", what, tnet_wrong(s));
	tnet_free(s);
}

/* A packet of WRITER was lost, and its data are gone when it has to be sent again. */
static void test_again(u8 algorithm, enum canary_type type, void (*scribble)(struct tnet *s, int rank),
		       const char *what)
{
	struct plot p = { .lost = type, .skip = 60 };
	struct tnet *s = posted(algorithm, &p);

	tnet_run(s, tnet_now(s) + 3 * MS);
	scribble(s, WRITER);
	p.over = true;
	named(s, what);
}

/* The first of several packets of a result is on its way. The others have yet to be made. */
static void test_at_once(u8 algorithm, const char *what)
{
	struct plot p = { .at_once = true, .skip = 31 };

	named(posted(algorithm, &p), what);
}

int main(void)
{
	test_again(CANARY_ALG_RING, CANARY_RING_SUM, tnet_scribble,
		   "ring: partial sums that were changed");
	test_again(CANARY_ALG_RING, CANARY_RING_RESULT, tnet_scribble, "ring: results that were changed");
	test_again(CANARY_ALG_RING, CANARY_RING_RESULT, tnet_permute,
		   "ring: results in another order");
	test_again(CANARY_ALG_TREE, CANARY_RESULT, tnet_scribble,
		   "tree: results that were changed");
	test_again(CANARY_ALG_TREE, CANARY_RESULT, tnet_permute,
		   "tree: results in another order");
	test_at_once(CANARY_ALG_TREE, "tree: results in another order, as they are sent");
	return tap_done("scribble");
}
