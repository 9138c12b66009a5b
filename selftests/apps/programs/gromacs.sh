# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# GROMACS: water in a box

APP_HOSTS=4
STEPS=200
EMULATOR=()
# Debian's mdrun ends on processors without this instruction. So it runs on an emulated one there.
if ! grep -qw rdtscp /proc/cpuinfo; then
	EMULATOR=(qemu-x86_64-static -cpu max)
	STEPS=10 APP_WAYS=all
fi
APP_WHAT="GROMACS, 1728 molecules of water (SPC/E), PME, $STEPS steps"
[ ${#EMULATOR[@]} = 0 ] || APP_WHAT+=", on an emulated processor (qemu-user)"
APP_CHECK="potential, kinetic and total energy are those of the run without Canary: to 1e-5 at the \
first step, to 1e-3 after that"

app_missing()
{
	if ! command -v gmx_mpi >/dev/null; then
		echo "needs gmx_mpi (package gromacs)"
	elif ! command -v "${EMULATOR[0]:-true}" >/dev/null; then
		echo "this processor has no rdtscp: needs ${EMULATOR[0]} (package qemu-user-static)"
	fi
}

app_prepare()
{
	# All runs have the same input.
	if [ -e "$TAP_TMP/water.tpr" ]; then
		cp "$TAP_TMP/water.tpr" .
		return
	fi
	cat >topol.top <<-END
	#include "oplsaa.ff/forcefield.itp"
	#include "oplsaa.ff/spce.itp"
	[ system ]
	Water
	[ molecules ]
	SOL 1728
	END
	cat >md.mdp <<-END
	integrator = md
	dt = 0.002
	nsteps = $STEPS
	nstenergy = 10
	nstcalcenergy = 10
	nstlog = 10
	cutoff-scheme = Verlet
	coulombtype = PME
	rcoulomb = 0.9
	rvdw = 0.9
	tcoupl = v-rescale
	tc-grps = System
	tau-t = 0.1
	ref-t = 300
	gen-vel = yes
	gen-temp = 300
	gen-seed = 7
	ld-seed = 7
	constraints = h-bonds
	END
	{
		gmx -nobackup genconf -f /usr/share/gromacs/top/spc216.gro -nbox 2 2 2 -o water.gro &&
			gmx -nobackup grompp -f md.mdp -c water.gro -p topol.top -o water.tpr -maxwarn 2
	} >prepare 2>&1 || { tail -n 5 prepare >&2; return 1; }
	cp water.tpr "$TAP_TMP/"
}

app_run()
{
	# What is tuned while it runs would not be the same each time.
	app_mpi "${EMULATOR[@]}" /usr/bin/gmx_mpi -nobackup mdrun -s water.tpr -ntomp 1 -pin off -dlb no -notunepme -reprod \
		-npme 0 || return 1
	printf 'Potential\nKinetic-En.\nTotal-Energy\n' |
		gmx -nobackup energy -f ener.edr -o energy.xvg -xvg none >>said 2>&1
}

app_right()
{
	head -n 1 "$1/energy.xvg" >first
	head -n 1 energy.xvg | app_near 1e-5 first /dev/stdin &&
		app_near 1e-3 "$1/energy.xvg" energy.xvg
}
