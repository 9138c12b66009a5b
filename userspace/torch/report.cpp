// SPDX-License-Identifier: BSD-2-Clause
/* Counts of calls. Autograd's threads call, too, so a lock protects them. */
#include <map>
#include <mutex>
#include <utility>
#include "report.hpp"

namespace canary_torch {

struct Count {
	uint64_t calls = 0, bytes = 0;
};

using Counts = std::map<std::pair<std::string, std::string>, Count>;

static std::mutex lock;

/* Never destroyed: groups may count until the process ends. */
static Counts &counts()
{
	static Counts *all = new Counts;

	return *all;
}

void report_count(const char *call, const char *why, uint64_t bytes)
{
	std::lock_guard<std::mutex> guard(lock);
	Count &count = counts()[{ call, why ? why : "" }];

	count.calls++;
	count.bytes += bytes;
}

std::vector<ReportLine> report_lines()
{
	std::lock_guard<std::mutex> guard(lock);
	std::vector<ReportLine> lines;

	for (const auto &entry : counts()) {
		const std::string &why = entry.first.second;

		lines.push_back({ entry.first.first, why.empty() ? "canary" : "gloo", why,
				  entry.second.calls, entry.second.bytes });
	}
	return lines;
}

} // namespace canary_torch
