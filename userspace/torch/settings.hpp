// SPDX-License-Identifier: BSD-2-Clause
/* What the user sets: variables CANARY_NAME of the environment. canary_torch.__doc__ lists them. */
#ifndef CANARY_TORCH_SETTINGS_HPP
#define CANARY_TORCH_SETTINGS_HPP

#include <canary.h>
#include <string>

namespace canary_torch {

/* setting_text() - Return: the value of a variable; NULL: it is not set, or empty */
const char *setting_text(const char *variable);

/*
 * settings_params() - set those parameters that libcanary has by name: engine, key-file, window,
 * mtu, dead-after, linger, rto-min, algorithm, aggregates
 * Throws std::runtime_error that names the variable.
 */
void settings_params(struct canary_params *params);

/* settings_comm() - Return: a communicator's number: CANARY_COMM, or one of its range FIRST-LAST */
uint32_t settings_comm();

/* settings_how() - Return: CANARY_HOW_* for sums of floating-point numbers: CANARY_FLOATS */
uint32_t settings_how();

/* settings_enabled() - Return: false: CANARY_ENABLE is 0 */
bool settings_enabled();

/* settings_trial() - Return: ms that a new group waits for its first packets: CANARY_TRIAL */
int settings_trial();

} // namespace canary_torch

#endif /* CANARY_TORCH_SETTINGS_HPP */
