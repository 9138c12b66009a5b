// SPDX-License-Identifier: BSD-2-Clause
/*
 * How the ranks of a group find each other, by the Store that they have in common.
 *
 * Each rank writes an entry: where it is, or why it has no Canary. Then the Gloo group is formed,
 * which waits for all ranks. So all entries are there after it, and nobody waits for a rank without
 * Canary. Rank 0 reads all entries and writes a verdict: the table of members, or why there is no
 * communicator. All ranks obey it. Last, all try whether packets arrive. They agree on the outcome
 * by the Gloo group.
 */
#ifndef CANARY_TORCH_RENDEZVOUS_HPP
#define CANARY_TORCH_RENDEZVOUS_HPP

#include <memory>
#include <string>
#include <vector>
#include "communicator.hpp"
#include "compat.hpp"

namespace canary_torch {

/* What a rank knows about its group */
struct Meeting {
	StorePtr store;			/* of this group alone */
	int rank, size;
	int64_t global;			/* own rank among all processes */
};

/* What came out of it, at all ranks alike */
struct Formed {
	std::unique_ptr<Communicator> communicator;	/* or NULL, and */
	std::string why;				/* a few words */
	uint32_t how = 0;				/* CANARY_HOW_* for sums */
};

/*
 * announce() - write the entry of this rank, before the Gloo group is formed
 * Return: the endpoint, or NULL if it has none
 */
std::shared_ptr<Endpoint> announce(const Meeting &meeting);

/* form() - form the communicator. @gloo: the Gloo group of the same ranks */
Formed form(const Meeting &meeting, std::shared_ptr<Endpoint> endpoint, const BasePtr &gloo);

} // namespace canary_torch

#endif /* CANARY_TORCH_RENDEZVOUS_HPP */
