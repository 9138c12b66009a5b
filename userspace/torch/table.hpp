// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the ranks of a group tell each other by their Store: the entry of a rank, and the verdict of
 * rank 0. Both are text, a line for each thing: a word, and numbers. A change of the form needs
 * another FORMAT.
 */
#ifndef CANARY_TORCH_TABLE_HPP
#define CANARY_TORCH_TABLE_HPP

#include <canary.h>
#include <string>
#include <vector>

namespace canary_torch {

/* Where a rank is, and what it brings */
struct Entry {
	int64_t global = -1;		/* rank among all processes; -1: unknown */
	std::string trouble;		/* not empty: why it has no Canary. All below is unknown */
	struct canary_peer peer = {};
	unsigned int mtu = 0;		/* bytes */
	uint64_t key = 0;		/* key_check() */
};

/* What rank 0 has decided */
struct Verdict {
	std::string trouble;		/* not empty: why there is no communicator */
	uint32_t comm = 0, epoch = 0, how = 0;
	uint16_t mtu = 0, window = 0;
	uint32_t algorithm = 0;
	uint32_t trial = 0;		/* ms that the first packets may take */
	uint8_t salt[CANARY_SALT] = {};
	std::vector<int64_t> global;		/* by rank of the group: that among all processes */
	std::vector<struct canary_peer> peer;	/* likewise */
};

/* plain() - what others, or the user, have written, as a line of printable ASCII that is not long */
std::string plain(const std::string &text);

std::string entry_text(const Entry &entry);
std::string verdict_text(const Verdict &verdict);

/* Both parse whatever text: what is not understood becomes a trouble. */
Entry entry_parse(const std::string &text);
Verdict verdict_parse(const std::string &text, size_t size);

} // namespace canary_torch

#endif /* CANARY_TORCH_TABLE_HPP */
