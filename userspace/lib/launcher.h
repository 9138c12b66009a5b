/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What started this process: mpirun, srun, torchrun. launcher.c reads their variables. The other
 * files find out where rank 0 is: launcher_address.c from the name of its host, pmi.c and pmix.c by
 * an exchange that the launcher offers.
 */
#ifndef CANARY_LIB_LAUNCHER_H
#define CANARY_LIB_LAUNCHER_H

#include "lib.h"
#include "userspace/common/address.h"

#define LAUNCHER_ID	512	/* room for what distinguishes a job from others */

/**
 * struct launched - what the launcher says of this process. It belongs to the caller.
 *
 * @name:	of the launcher
 * @rank, @members:	as the launcher counts them
 * @host:	name or address of the host of rank 0; NULL: ask the others
 * @one_host:	all ranks are on one host
 * @id:		what distinguishes the job; empty: the exchange tells
 */
struct launched {
	const char	*name;
	u32		rank, members;
	const char	*host;
	bool		one_host;
	char		id[LAUNCHER_ID];
};

/*
 * launcher_own_address() - fill in what @own lacks: an address that others can send to, a free port
 * @one_host: loopback will do
 * Return: 0, or a negative errno with a sentence.
 */
int launcher_own_address(struct canary_peer *own, bool one_host);

/* launcher_host_address() - the address of @l->host. Return: likewise */
int launcher_host_address(const struct launched *l, struct canary_addr *addr);

/*
 * launcher_first_host() - the first name of a list as Slurm writes it: node[03-05,7],login
 * @len:	room in @name
 * Return: false if it is no such list, or too long.
 */
bool launcher_first_host(const char *list, char *name, size_t len);

/*
 * pmi_exchange(), pmix_exchange() - tell the text of rank 0 to all ranks. All call it. It returns
 * when all have.
 * @text:	of rank 0 is sent; receives it at all others. It has ADDRESS_TEXT bytes
 * @l:		its id is filled in if it is empty
 * Return: 0, or a negative errno with a sentence.
 */
int pmi_exchange(struct launched *l, char *text);
int pmix_exchange(struct launched *l, char *text);

#endif /* CANARY_LIB_LAUNCHER_H */
