// SPDX-License-Identifier: BSD-2-Clause
/* Variables of the environment, and the values that they may have. */
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/random.h>
#include "settings.hpp"

extern "C" {
#include "userspace/common/parse.h"
}

namespace canary_torch {

static const uint32_t COMM_FIRST = 1, COMM_LAST = 99;
static const uint32_t TRIAL_MS = 30000, TRIAL_MAX_MS = 3600000;

const char *setting_text(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : nullptr;
}

[[noreturn]] static void refuse(const char *variable, const std::string &why)
{
	throw std::runtime_error(std::string(variable) + ": " + why);
}

static std::string shown(const char *text)
{
	char room[PARSE_SHOWN];

	return std::string("'") + parse_shown(room, text) + "'";
}

static uint32_t quantity(const char *variable, const char *text, const struct parse_unit *units,
			 uint32_t min, uint32_t max, const char *what)
{
	uint64_t value;

	if (parse_quantity(text, units, min, max, &value))
		refuse(variable, shown(text) + " is not " + what + " from " +
		       std::to_string(min) + " to " + std::to_string(max));
	return value;
}

static bool flag(const char *variable, bool value)
{
	const char *text = setting_text(variable);

	if (text && !parse_flag(text, &value))
		refuse(variable, shown(text) + " is none of " PARSE_FLAG_WORDS);
	return value;
}

/* What libcanary says, without the name that a parameter has there */
static std::string complaint()
{
	std::string said = canary_errmsg();
	size_t colon = said.find(": ");

	return colon == std::string::npos ? said : said.substr(colon + 2);
}

/* A time without a unit is one of @unit */
static std::string with_unit(std::string value, const char *unit)
{
	bool bare = value.find_first_not_of("0123456789") == std::string::npos;

	return bare ? value + unit : value;
}

void settings_params(struct canary_params *params)
{
	static const struct {
		const char *variable, *parameter, *unit;
	} table[] = {
		{ "CANARY_ENGINE", "engine", "" },
		{ "CANARY_KEY_FILE", "key-file", "" },
		{ "CANARY_WINDOW", "window", "" },
		{ "CANARY_MTU", "mtu", "" },
		{ "CANARY_DEAD_AFTER", "dead-after", "ms" },
		{ "CANARY_LINGER", "linger", "ms" },
		{ "CANARY_RTO_MIN", "rto-min", "us" },
		{ "CANARY_ALGORITHM", "algorithm", "" },
		{ "CANARY_AGGREGATES", "aggregates", "" },
	};

	for (const auto &entry : table) {
		const char *text = setting_text(entry.variable);

		if (text && canary_params_set(params, entry.parameter,
					      with_unit(text, entry.unit).c_str()))
			refuse(entry.variable, complaint());
	}
}

uint32_t settings_comm()
{
	static const char variable[] = "CANARY_COMM";
	const char *text = setting_text(variable);
	uint32_t first = COMM_FIRST, last = COMM_LAST, drawn;

	if (text && !parse_range(text, &first, &last))
		refuse(variable, shown(text) + " is no number or range FIRST-LAST");
	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		refuse(variable, "no random numbers");
	return first + drawn % ((uint64_t)last - first + 1);
}

uint32_t settings_how()
{
	const char *text = setting_text("CANARY_FLOATS");
	uint32_t how = 0;

	if (text && (canary_how_parse(text, &how) || how & ~(uint32_t)CANARY_HOW_FLOATS))
		refuse("CANARY_FLOATS", shown(text) +
		       " is none of exact, elementwise, narrow, or several");
	return how;
}

bool settings_enabled()
{
	return flag("CANARY_ENABLE", true);
}

int settings_table()
{
	static const char variable[] = "CANARY_TABLE";
	const char *text = setting_text(variable);
	bool any;

	if (text && parse_flag(text, &any))
		return any;
	return text ? quantity(variable, text, parse_counts, 0, 2, "a number") : 0;
}

int settings_trial()
{
	static const char variable[] = "CANARY_TRIAL";
	const char *text = setting_text(variable);

	return text ? quantity(variable, text, parse_ms, 1, TRIAL_MAX_MS, "a number of ms") :
		      TRIAL_MS;
}

void settings_check()
{
	struct canary_params params;

	canary_params_init(&params);
	settings_params(&params);
	settings_comm();
	settings_how();
	settings_table();
	settings_trial();
}

} // namespace canary_torch
