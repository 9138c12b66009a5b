// SPDX-License-Identifier: BSD-2-Clause
/* Counts of this process: how many calls of what went which way, and why. */
#ifndef CANARY_TORCH_REPORT_HPP
#define CANARY_TORCH_REPORT_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace canary_torch {

struct ReportLine {
	std::string call;	/* as torch.distributed has it: "all_reduce" */
	std::string way;	/* "canary" or "gloo" */
	std::string why;	/* empty for "canary" */
	uint64_t calls;
	uint64_t bytes;		/* of this rank's tensors */
};

/* report_count() - count one call. @why: NULL: it went through Canary; else why it did not */
void report_count(const char *call, const char *why, uint64_t bytes);

/* report_lines() - Return: all counts, sorted by call and way */
std::vector<ReportLine> report_lines();

} // namespace canary_torch

#endif /* CANARY_TORCH_REPORT_HPP */
