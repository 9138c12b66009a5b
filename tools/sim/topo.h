/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a network, as described in topology/shapes/ for the simulator and for Mininet
 * alike (topology/canary_topo/shape.py is the other reader): same names, same order of links.
 */
#ifndef SIM_TOPO_H
#define SIM_TOPO_H

#include "config.h"

enum shape_kind {
	SHAPE_STAR,
	SHAPE_LEAF_SPINE,
	SHAPE_FAT_TREE,
};

struct shape {
	uint32_t kind;
	uint32_t hosts;			/* star: in all; leaf_spine: of a leaf */
	uint32_t leaves;
	uint32_t spines;
	uint32_t levels;		/* fat_tree: 2 or 3 */
	uint32_t radix;			/* fat_tree: ports of a switch */
	uint32_t oversubscription;	/* fat_tree: host links for one uplink of an edge switch */
	uint64_t rate;			/* of host links */
	uint64_t uplink_rate;		/* of links between switches; 0: the same */
	uint64_t latency;		/* ps, of a link with the switch behind it */
	uint64_t queue;			/* bytes that may wait at each port */
};

extern const struct config_key shape_keys[];

/*
 * struct topo - nodes and cables
 * Nodes are numbered: switches first, then hosts in the order in which they are named h1, h2...
 * A switch's ports are in the order in which its cables are listed.
 */
struct cable {
	uint32_t end[2];
};

struct topo {
	struct shape shape;
	uint32_t switches;
	uint32_t hosts;
	uint32_t cables;
	struct cable *cable;
	char (*name)[24];		/* of switches */
	uint8_t *level;			/* of switches: 0 next to hosts */
};

/* Read a description and build it. Return: false, and said why on stderr */
bool topo_read(struct topo *t, const char *path);
void topo_free(struct topo *t);

/* A node by its name (sleaf1, h7); -1 if there is none */
int topo_node(const struct topo *t, const char *name);

#endif /* SIM_TOPO_H */
