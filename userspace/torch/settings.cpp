// SPDX-License-Identifier: BSD-2-Clause
/* Variables of the environment, and the values that they may have. */
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/random.h>
#include "settings.hpp"

namespace canary_torch {

static const uint32_t COMM_FIRST = 1, COMM_LAST = 99;
static const int TRIAL_MS = 30000, TRIAL_MAX_MS = 3600000;

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
		const char *variable, *parameter, *unit;	/* of a number without one */
	} table[] = {
		{ "CANARY_ENGINE", "engine", nullptr },
		{ "CANARY_KEY_FILE", "key-file", nullptr },
		{ "CANARY_WINDOW", "window", nullptr },
		{ "CANARY_MTU", "mtu", nullptr },
		{ "CANARY_DEAD_AFTER", "dead-after", "ms" },
		{ "CANARY_LINGER", "linger", "ms" },
		{ "CANARY_RTO_MIN", "rto-min", "us" },
		{ "CANARY_ALGORITHM", "algorithm", nullptr },
		{ "CANARY_AGGREGATES", "aggregates", nullptr },
	};

	for (const auto &entry : table) {
		const char *text = setting_text(entry.variable);
		std::string value = text ? text : "";

		if (!text)
			continue;
		if (entry.unit && value.find_first_not_of("0123456789") == std::string::npos)
			value += entry.unit;
		if (canary_params_set(params, entry.parameter, value.c_str()))
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
	const char *text = setting_text("CANARY_FLOATS");
	uint32_t how = 0;

	if (text && canary_how_parse(text, &how))
		refuse("CANARY_FLOATS", canary_errmsg());
	return how;
}

bool settings_enabled()
{
	const char *text = setting_text("CANARY_ENABLE");

	return !text || strcmp(text, "0");
}

int settings_trial()
{
	static const char variable[] = "CANARY_TRIAL";
	const char *text = setting_text(variable);
	int ms;

	if (!text)
		return TRIAL_MS;
	ms = parse_number(variable, text, &text, 1, TRIAL_MAX_MS);
	if (*text)
		refuse(variable, "'" + std::string(text) + "' follows the number of ms");
	return ms;
}

} // namespace canary_torch
