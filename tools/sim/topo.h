/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a network. Files in topology/shapes/ describe it for the simulator and for Mininet.
 * The other reader is topology/canary_topo/shape.py. Names and the order of links have to be the
 * same.
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
	uint32_t hosts;			/* star: all hosts; leaf_spine: hosts of a leaf */
	uint32_t leaves;
	uint32_t spines;
	uint32_t levels;		/* fat_tree: 2 or 3 */
	uint32_t radix;			/* fat_tree: ports of a switch */
	uint32_t oversubscription;	/* fat_tree: host links for each uplink of an edge switch */
	uint64_t rate;			/* of host links */
	uint64_t uplink_rate;		/* of links between switches; 0: that of host links */
	uint64_t latency;		/* ps, of a link and the switch behind it */
	uint64_t queue;			/* bytes that may wait at each port */
};

extern const struct config_key shape_keys[];

/*
 * struct topo - nodes and cables
 *
 * Switches have the first numbers, then hosts in the order of their names h1, h2... The ports of a
 * switch are in the order of its cables.
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
	char (*name)[32];		/* of switches */
	uint8_t *level;			/* of switches: 0 if it has hosts */
};

/* Read a description and build the network. Return: false after an error message */
bool topo_read(struct topo *t, const char *path);
void topo_free(struct topo *t);

/* Return: the node with this name (sleaf1, h7), or -1 */
int topo_node(const struct topo *t, const char *name);

#endif /* SIM_TOPO_H */
