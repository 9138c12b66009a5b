# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# LAMMPS: a melt of Lennard-Jones atoms, from its folder bench/

APP_HOSTS=16
APP_WHAT="LAMMPS, a melt of 32000 atoms, 100 steps"
[ -z "${SHORT:-}" ] || APP_WHAT="LAMMPS, a melt of 864 atoms, 50 steps"
APP_CHECK="temperature, energies and pressure are those of the run without Canary, to 1e-6"

app_missing()
{
	command -v lmp >/dev/null || echo "needs lmp (package lammps)"
}

app_prepare()
{
	local cells=20 steps=100

	[ -z "${SHORT:-}" ] || cells=6 steps=50
	cat >melt <<-END
	units lj
	atom_style atomic
	lattice fcc 0.8442
	region box block 0 $cells 0 $cells 0 $cells
	create_box 1 box
	create_atoms 1 box
	mass 1 1.0
	velocity all create 3.0 87287
	pair_style lj/cut 2.5
	pair_coeff 1 1 1.0 1.0 2.5
	neighbor 0.3 bin
	neigh_modify every 20 delay 0 check no
	fix 1 all nve
	thermo 10
	run $steps
	END
}

app_run()
{
	app_mpi lmp -in melt -log none
	# step, temperature, energies and pressure
	awk '$1 ~ /^[0-9]+$/ && NF == 6 { print $1, $2, $3, $4, $5, $6 }' said >numbers
	grep -q "^Total wall time" said
}

app_right()
{
	app_near 1e-6 "$1/numbers" numbers
}
