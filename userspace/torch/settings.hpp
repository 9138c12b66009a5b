// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the user sets: variables CANARY_NAME of the environment. canary_torch.__doc__ lists them.
 *
 * If a value is not understood, these functions throw std::runtime_error, which names the variable.
 */
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
 */
void settings_params(struct canary_params *params);

/* settings_comm() - Return: a communicator's number: CANARY_COMM, or one of its range FIRST-LAST */
uint32_t settings_comm();

/* settings_how() - Return: CANARY_HOW_* for sums of floating-point numbers: CANARY_FLOATS */
uint32_t settings_how();

/* settings_enabled() - Return: false: CANARY_ENABLE says no */
bool settings_enabled();

/* settings_table() - Return: whose tables are printed at exit: 0, 1 (of rank 0), 2 (all) */
int settings_table();

/* settings_trial() - Return: ms that a new group waits for its first packets: CANARY_TRIAL */
int settings_trial();

/* settings_check() - are all of these values understood? As well those that only rank 0 uses */
void settings_check();

} // namespace canary_torch

#endif /* CANARY_TORCH_SETTINGS_HPP */
