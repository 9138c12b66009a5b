// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mixed versions, and planned features that do not exist. A member drops such packets under names
 * of their own. It remembers the sender if people have to know about it. selftests/bpf/bad_frames.c
 * has the same for switches.
 */
#include "selftests/tap.h"
#include "core/inside.h"
#include "fixture.h"
#include "forge.h"

#define HEADER	64
#define AT(field)	offsetof(struct canary_hdr, field)

/*
 * struct odd - a contribution (or @type) with one byte changed
 *
 * @trouble, @value:	what people are told
 */
struct odd {
	const char *what;
	u8	type;
	u8	at;
	u8	value;
	enum canary_drop drop;
	enum cnr_trouble_kind trouble;
};

static const struct odd odds[] = {
	{ "version 1", 0, AT(version), 1, CANARY_DROP_VERSION, CNR_TROUBLE_VERSION },
	{ "version 3", 0, AT(version), 3, CANARY_DROP_VERSION, CNR_TROUBLE_VERSION },
	{ "version 1 of a JOIN", CANARY_JOIN, AT(version), 1, CANARY_DROP_VERSION,
	  CNR_TROUBLE_VERSION },
	{ "type 0", 0, AT(type), 0, CANARY_DROP_TYPE, CNR_TROUBLE_NONE },
	{ "a type for switches that is not known", 0, AT(type), 7, CANARY_DROP_TYPE,
	  CNR_TROUBLE_NONE },
	{ "a type for members that is not known", 0, AT(type), 63, CANARY_DROP_TYPE,
	  CNR_TROUBLE_NONE },
	{ "a flag that is not known", 0, AT(flags), CANARY_F_LAST | 0x80, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "a silent result", CANARY_RESULT, AT(flags), CANARY_F_LAST | CANARY_F_SILENT,
	  CANARY_DROP_FLAGS, CNR_TROUBLE_UNKNOWN },
	{ "not the last shard", 0, AT(flags), 0, CANARY_DROP_FLAGS, CNR_TROUBLE_UNKNOWN },
	{ "shard 1", 0, AT(contribution.shard), 1, CANARY_DROP_FLAGS, CNR_TROUBLE_UNKNOWN },
	{ "a combination", 0, AT(contribution.kind), CANARY_KIND(9, 2), CANARY_DROP_OPERATOR,
	  CNR_TROUBLE_UNKNOWN },
	{ "128-bit lanes", 0, AT(contribution.kind), CANARY_KIND(1, 5), CANARY_DROP_OPERATOR,
	  CNR_TROUBLE_UNKNOWN },
	{ "index and value", 0, AT(contribution.kind), CANARY_KIND(1, 4), CANARY_DROP_OPERATOR,
	  CNR_TROUBLE_UNKNOWN },
	{ "a cookie without bypass", 0, AT(contribution.cookie), 1, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "more blocks than a tree has", CANARY_RESULT, AT(result.tree) + 3, CANARY_TREE_MAX,
	  CANARY_DROP_FLAGS, CNR_TROUBLE_UNKNOWN },
	{ "a kept tree", CANARY_RESULT, AT(result.tree), 1, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "a kept tree in a ring", CANARY_RING_RESULT, AT(result.tree) + 3, 1, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "runs of 257", CANARY_WELCOME, AT(welcome.run), 1, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "runs of 3", CANARY_WELCOME, AT(welcome.run) + 1, 3, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "runs of 32", CANARY_WELCOME, AT(welcome.run) + 1, 32, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "runs of no block", CANARY_WELCOME, AT(welcome.run) + 1, 0, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "sent in ACK", CANARY_ACK, AT(ack.sent), 1, CANARY_DROP_FLAGS, CNR_TROUBLE_UNKNOWN },
	{ "what REQUEST does not name", CANARY_REQUEST, HEADER - 1, 1, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
	{ "what is between fields of PROBE", CANARY_PROBE, AT(probe.zero), 1, CANARY_DROP_FLAGS,
	  CNR_TROUBLE_UNKNOWN },
};

/* Return: bytes of the UDP payload */
static u32 make(struct cnr_comm *c, const struct odd *o, struct canary_hdr *h)
{
	u32 len = forge_aggregate(c, forge_block(c), 1, h);

	if (o->type) {
		h->type = o->type;
		h->flags = o->type == CANARY_RESULT ? CANARY_F_LAST : 0;
		memset(&h->contribution.tag, 0, HEADER - AT(contribution.tag));
		len = HEADER;
	}
	if (o->type == CANARY_RESULT || o->type == CANARY_RING_RESULT)
		h->result.kind = CANARY_KIND_ADD32;
	if (o->type == CANARY_WELCOME) {
		h->welcome.run = cpu_to_be16(1);
		len += CANARY_SALT;
	}
	if (o->type == CANARY_JOIN)
		len += sizeof(struct canary_join);
	return len;
}

static void refuse(struct tnet *s, const struct odd *o)
{
	struct cnr_comm *c = tnet_comm(s, 0);
	u8 packet[HEADER + CANARY_PAYLOAD_MAX] __attribute__((__aligned__(8)));
	struct canary_hdr *h = (void *)packet;
	struct cnr_trouble t = { .kind = CNR_TROUBLE_NONE };
	u32 len = make(c, o, h);
	enum canary_drop good = canary_parse(h, len), bad;

	memset(&c->trouble, 0, sizeof(c->trouble));
	packet[o->at] = o->value;
	bad = tnet_inject(s, 0, packet, len, 1);
	cnr_troubles(c, &t, 1);
	tap(good == CANARY_DROP_NONE && bad == o->drop && t.kind == o->trouble &&
	    (t.kind != CNR_TROUBLE_VERSION || t.value == o->value),
	    "%s: dropped as \"%s\", told as \"%s\"", o->what, cnr_drop_name(bad),
	    cnr_trouble_name(t.kind));
}

int main(void)
{
	struct tnet_config cfg = { .members = 3, .seed = 61 };
	struct tnet *s = tnet_new(&cfg);
	u32 i;

	tnet_connect(s, -1);
	tnet_wait_state(s, CNR_CONNECTED, 10 * S);
	for (i = 0; i < ARRAY_SIZE(odds); i++)
		refuse(s, &odds[i]);
	tap(tnet_comm(s, 0)->state == CNR_CONNECTED, "nothing comes of it");
	tnet_free(s);
	return tap_done("core-mixed");
}
