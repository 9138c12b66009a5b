// SPDX-License-Identifier: BSD-2-Clause
/* Variables of the environment, and the values that they may have. */
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/random.h>
#include "settings.hpp"

namespace canary_torch {

static const uint32_t COMM_FIRST = 1, COMM_LAST = 0x7fffffff;
static const int TIMEOUT_MS = 30000;

const char *setting_text(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : nullptr;
}

[[noreturn]] static void refuse(const char *variable, const std::string &why)
{
	throw std::runtime_error(std::string(variable) + ": " + why);
}

void settings_params(struct canary_params *params)
{
	static const struct {
		const char *variable, *parameter;
	} table[] = {
		{ "CANARY_ENGINE", "engine" },
		{ "CANARY_KEY_FILE", "key-file" },
		{ "CANARY_WINDOW", "window" },
		{ "CANARY_MTU", "mtu" },
		{ "CANARY_DEAD_AFTER", "dead-after" },
		{ "CANARY_LINGER", "linger" },
		{ "CANARY_RTO_MIN", "rto-min" },
		{ "CANARY_ALGORITHM", "algorithm" },
		{ "CANARY_AGGREGATES", "aggregates" },
	};

	for (const auto &entry : table) {
		const char *value = setting_text(entry.variable);

		if (value && canary_params_set(params, entry.parameter, value))
			refuse(entry.variable, canary_errmsg());
	}
}

static uint32_t parse_number(const char *variable, const char *text, const char **end, uint32_t min,
			     uint32_t max)
{
	char *after;
	unsigned long long number = strtoull(text, &after, 0);

	if (after == text || *text == '-' || number < min || number > max)
		refuse(variable, "'" + std::string(text) + "' is not a number from " +
		       std::to_string(min) + " to " + std::to_string(max));
	*end = after;
	return number;
}

uint32_t settings_comm()
{
	static const char variable[] = "CANARY_COMM";
	const char *text = setting_text(variable);
	uint32_t first = COMM_FIRST, last = COMM_LAST, drawn;

	if (text) {
		first = parse_number(variable, text, &text, 0, UINT32_MAX);
		last = *text == '-' ? parse_number(variable, text + 1, &text, first, UINT32_MAX) :
				      first;
		if (*text)
			refuse(variable, "'" + std::string(text) + "' follows the number");
	}
	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		refuse(variable, "no random numbers");
	return first + drawn % ((uint64_t)last - first + 1);
}

uint32_t settings_how()
{
	const char *text = setting_text("CANARY_HOW");
	uint32_t how = 0;

	if (text && canary_how_parse(text, &how))
		refuse("CANARY_HOW", canary_errmsg());
	return how;
}

int settings_timeout()
{
	static const char variable[] = "CANARY_TIMEOUT";
	const char *text = setting_text(variable);
	uint32_t number;

	if (!text)
		return TIMEOUT_MS;
	number = parse_number(variable, text, &text, 1, 3600000);
	if (!strcmp(text, "s") && number <= 3600)
		return number * 1000;
	if (strcmp(text, "ms"))
		refuse(variable, "a number with ms or s is needed, up to 3600s");
	return number;
}

} // namespace canary_torch
