#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs of Debian, as they are: HPCC and LAMMPS on four hosts around a switch, with sums of all
# lengths by Canary. HPCC checks itself. LAMMPS has to print what it prints without Canary.
# `make apps` runs more of them, for longer.

# shellcheck source=selftests/apps/app_lib.sh
. "$(dirname "$0")/../apps/app_lib.sh"

ENGINE=auto
# shellcheck disable=SC2034
SHORT=1
RAN=

# short NAME: the short form of a program
short()
{
	local why

	app_load "$1"
	why=$(app_missing)
	if [ -n "$why" ]; then
		tap_skip "$1" "$why"
		return
	fi
	RAN=1
	if [ -z "${APP_ALONE:-}" ]; then
		app_start "$TAP_TMP/$1.without" without
		tap_check "$1 runs without Canary" app_run
	fi
	app_start "$TAP_TMP/$1.all" all
	tap_check "$1 runs with Canary" app_run
	tap_check "it is right: $APP_CHECK" app_right "$TAP_TMP/$1.without"
	some "sums of it went through Canary" "$(calls allreduce canary)"
	grep "^canary:" complaints | tap_diag
}

begin mpi/openmpi_apps
start_switch
short hpcc
short lammps
[ -z "$RAN" ] || some "the switch added up contributions" "$(counter merged)"
tap_done
