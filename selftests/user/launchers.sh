#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What starts ranks tells them all that they need: mpirun of Open MPI, mpiexec of MPICH, srun of a
# Slurm of the test's own, and the variables of torchrun. Hosts are network namespaces behind a
# router. Launchers that are not installed are skipped.
#	CANARY names the program.

# shellcheck source=ranks_lib.sh
. "$(dirname "$0")/ranks_lib.sh"

VECTOR=$TAP_TOP/selftests/user/vector.py
HOSTS=3
RANKS=5
COUNT=1009
CONTROLLER=10.77.100.1

HERE=$(cd "$(dirname "$0")" && pwd)
begin user/launchers unshare /usr/bin/python3

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_orte_tmpdir_base=$TAP_TMP OMPI_MCA_plm_rsh_agent=$TAP_TMP/agent
export OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_oob_tcp_if_include=10.77.0.0/16
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=rsh

# Starts a command on a host, in place of ssh. Open MPI's daemons with the same host name remove
# each other's folders.
make_agent()
{
	cat > agent <<-END
	#!/bin/sh
	[ "\$1" != -x ] || shift
	i=\$(echo "\$1" | cut -d. -f3)
	shift
	exec nsenter --net=/run/netns/$NS_PREFIX-h\$i unshare --uts sh -c \\
		'hostname "\$0" && exec sh -c "\$*"' "n\$i" "\$@"
	END
	chmod +x agent
}

# What each rank runs. A file for each rank shows who it is, and which sum it got.
make_program()
{
	local r

	cat > program <<-END
	#!/bin/sh
	rank=\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-\${SLURM_PROCID:-\$RANK}}}
	cd "$TAP_TMP" || exit 1
	exec timeout 120 "$CANARY" allreduce --in "in.\$rank" --out "sum.\$rank" -j "\$@" 2> "err.\$rank"
	END
	chmod +x program
	for ((r = 0; r < RANKS; r++)); do
		"$VECTOR" make "$r" "$COUNT" > "in.$r"
	done
}

# Says what ranks complained of, if a launcher failed. It is the argument.
complaints()
{
	echo "$1 failed"
	head -n 3 err.*
	tail -n 20 log
	return 1
}

# summed LAUNCHER...: it starts ranks that sum up. All sums are right, and made by RANKS members.
summed()
{
	local r

	rm -f sum.* err.*
	"$@" > log 2>&1 || complaints "$1" || return 1
	for ((r = 0; r < RANKS; r++)); do
		"$VECTOR" check "$RANKS" "$COUNT" "sum.$r" || return 1
		jq -e ".members == $RANKS and .rank == $r and .elements == $COUNT" "err.$r" || return 1
	done
}

# measured LAUNCHER...: it starts canary perf, whose rank 0 finds no wrong element
measured()
{
	"$@" > log 2>&1 || complaints "$1" || return 1
	grep -q '^# Out of bounds values : 0 OK' log
}

PERF=("$CANARY" perf allreduce -e 64K -f 64 -n 2 -w 1 -c 2)

# compile NAME: makes ./launched for this MPI, which has a compiler mpicc.NAME
compile()
{
	"mpicc.$1" -I"$TAP_TOP/userspace/include" -I"$TAP_TOP/kmod/uapi" -o launched \
		"$HERE/launched.c" "$TAP_TOP/build/lib/libcanary.a" -pthread
}

# ---- Open MPI ----

run_mpirun()
{
	ns_exec h0 timeout 120 mpirun --host 10.77.0.2:2,10.77.1.2:2,10.77.2.2:1 -n "$RANKS" "$@"
}

refused_mpirun()
{
	! run_mpirun "$@" > log 2>&1 && grep -q 'has no address' log
}

test_openmpi()
{
	if ! command -v mpirun > /dev/null || ! mpirun --version | grep -q 'Open MPI'; then
		tap_skip "openmpi" "no mpirun of Open MPI"
		return
	fi
	tap_check "openmpi: sums of $RANKS ranks on $HOSTS hosts" summed run_mpirun ./program
	tap_check "openmpi: the same, the second time" summed run_mpirun ./program
	tap_check "openmpi: canary perf, no further word" measured run_mpirun "${PERF[@]}"
	tap_check "openmpi: options win" measured run_mpirun "${PERF[@]}" --comm 7 --root 10.77.0.2:22610
	tap_check "openmpi: CANARY_INTERFACES" summed run_mpirun \
		-x CANARY_INTERFACES=eth7,10.77.0.0/16 ./program
	tap_check "openmpi: CANARY_INTERFACES that no host has is refused" refused_mpirun \
		-x CANARY_INTERFACES=eth7,10.99.0.0/16 "${PERF[@]}"
	test_taken
	if ! command -v mpicc.openmpi > /dev/null; then
		tap_skip "openmpi: in a process of MPI" "no mpicc.openmpi (package libopenmpi-dev)"
		return
	fi
	tap_check "openmpi: a program of MPI" compile openmpi
	tap_check "openmpi: in a process of MPI" run_mpirun ./launched
	tap_check "openmpi: too early in a process of MPI" run_mpirun ./launched early
}

# Of Canary's 64 ports at rank 0's host, two are free: for rank 0, and for another rank there.
test_taken()
{
	local pid

	bg ns_exec h0 /usr/bin/python3 -c '
import signal, socket
taken = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(62)]
for i, s in enumerate(taken):
    s.bind(("10.77.0.2", 22600 + i))
print("ready", flush=True)
signal.pause()' > ready
	pid=$!
	wait_for 5 grep -q ready ready
	tap_check "openmpi: rank 0 finds a port that is free" summed run_mpirun ./program
	bg_stop "$pid"
}

# ---- MPICH ----

run_mpiexec()
{
	ns_exec h0 timeout 120 mpiexec.mpich -launcher ssh -launcher-exec "$TAP_TMP/agent" \
		-localhost 10.77.0.2 -hosts 10.77.0.2:2,10.77.1.2:2,10.77.2.2:1 -n "$RANKS" "$@"
}

test_mpich()
{
	if ! command -v mpiexec.mpich > /dev/null; then
		tap_skip "mpich" "no mpiexec.mpich"
		return
	fi
	tap_check "mpich: sums of $RANKS ranks on $HOSTS hosts" summed run_mpiexec ./program
	tap_check "mpich: canary perf, no further word" measured run_mpiexec "${PERF[@]}"
	tap_check "mpich: options win" measured run_mpiexec "${PERF[@]}" --comm 7 --root 10.77.0.2
	if ! command -v mpicc.mpich > /dev/null; then
		tap_skip "mpich: in a process of MPI" "no mpicc.mpich (package libmpich-dev)"
		return
	fi
	tap_check "mpich: a program of MPI" compile mpich
	tap_check "mpich: in a process of MPI it is refused" run_mpiexec ./launched no
	tap_check "mpich: so it is before MPI_Init()" run_mpiexec ./launched early
}

# ---- Slurm, with a controller at the router and a daemon at each host ----

slurm_conf()
{
	local i

	cat <<-END
	ClusterName=canary
	SlurmctldHost=controller($CONTROLLER)
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/none
	CredType=cred/none
	StateSaveLocation=$TAP_TMP/state
	SlurmdSpoolDir=$TAP_TMP/spool.%n
	SlurmctldPidFile=$TAP_TMP/slurmctld.pid
	SlurmdPidFile=$TAP_TMP/slurmd.%n.pid
	ProctrackType=proctrack/pgid
	TaskPlugin=task/none
	SwitchType=switch/none
	SelectType=select/linear
	ReturnToService=2
	MpiDefault=none
	TmpFS=$TAP_TMP/tmp.%n
	SlurmdParameters=config_overrides
	PartitionName=all Nodes=node[0-$((HOSTS - 1))] Default=YES State=UP
	END
	for ((i = 0; i < HOSTS; i++)); do
		echo "NodeName=node$i NodeHostname=node$i NodeAddr=10.77.$i.2 CPUs=4"
	done
}

# Names of hosts, as their own /etc/hosts has them: each knows itself by a loopback address.
slurm_hosts()
{
	local i

	echo "127.0.0.1 localhost"
	echo "$CONTROLLER controller"
	for ((i = 0; i < HOSTS; i++)); do
		if [ "$1" = "node$i" ]; then
			echo "127.0.1.1 node$i"
		else
			echo "10.77.$i.2 node$i"
		fi
	done
}

# slurm_at NAMESPACE NAME COMMAND...: runs in place of this shell, on a host of that name
slurm_at()
{
	local ns=$1 name=$2

	shift 2
	slurm_hosts "$name" > "hosts.$name"
	# The words in single quotes are the inner shell's.
	# shellcheck disable=SC2016
	exec nsenter --net="/run/netns/$(ns_name "$ns")" unshare --uts --mount sh -c \
		'hostname "$0" && mount --bind "$1" /etc/hosts && shift && exec "$@"' \
		"$name" "$TAP_TMP/hosts.$name" "$@"
}

slurm_idle()
{
	[ "$(slurm_run sinfo -h -t idle -o %D)" = "$HOSTS" ]
}

slurm_run()
{
	(slurm_at router controller timeout 120 "$@")
}

slurm_start()
{
	local i

	export SLURM_CONF=$TAP_TMP/slurm.conf
	slurm_conf > slurm.conf
	mkdir state
	for ((i = 0; i < HOSTS; i++)); do
		mkdir "spool.node$i" "tmp.node$i"
	done
	ns_ip router addr add "$CONTROLLER/32" dev lo
	bg slurm_at router controller slurmctld -D > slurmctld.log 2>&1
	for ((i = 0; i < HOSTS; i++)); do
		bg slurm_at "h$i" "node$i" slurmd -D -N "node$i" > "slurmd$i.log" 2>&1
	done
	wait_for 10 slurm_idle
}

run_srun()
{
	slurm_run srun -N "$HOSTS" -n "$RANKS" "$@"
}

run_srun_pmi2()
{
	run_srun --mpi=pmi2 "$@"
}

run_srun_pmix()
{
	run_srun --mpi=pmix "$@"
}

test_slurm()
{
	if ! command -v slurmctld > /dev/null || ! command -v slurmd > /dev/null; then
		tap_skip "slurm" "no slurmctld, slurmd"
		return
	fi
	if ! slurm_start; then
		tap_not_ok "slurm: a controller and $HOSTS nodes" "$(tail -n 5 slurm*.log)"
		return
	fi
	tap_ok "slurm: a controller and $HOSTS nodes"
	tap_check "slurm: sums of $RANKS ranks on $HOSTS hosts" summed run_srun ./program
	tap_check "slurm: canary perf, no further word" measured run_srun "${PERF[@]}"
	tap_check "slurm: PMI2" summed run_srun_pmi2 ./program
	tap_check "slurm: PMIx" summed run_srun_pmix ./program
	tap_check "slurm: rank 0 on another host than the first one, with PMI2" arbitrary
	tap_check "slurm: the same without PMI2 is refused" refused_srun
}

# Slurm gives ranks to hosts in the order of the list.
ELSEWHERE=(-w "node2,node1,node0,node2,node1" -m arbitrary)

arbitrary()
{
	run_srun "${ELSEWHERE[@]}" sh -c "[ \$SLURM_PROCID != 0 ] || hostname > $TAP_TMP/rank0" &&
		[ "$(cat rank0)" = node2 ] && summed run_srun_pmi2 "${ELSEWHERE[@]}" ./program
}

refused_srun()
{
	! run_srun "${ELSEWHERE[@]}" "${PERF[@]}" > log 2>&1 &&
		grep -q 'SLURM_DISTRIBUTION is arbitrary' log
}

# ---- torchrun ----

run_torchrun()
{
	local r pids=() rc=0

	for ((r = 0; r < RANKS; r++)); do
		RANK=$r WORLD_SIZE=$RANKS MASTER_ADDR=10.77.0.2 MASTER_PORT=29500 \
			LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=$$ on "$r" "$@" &
		pids+=("$!")
	done
	for r in "${pids[@]}"; do
		wait "$r" || rc=1
	done
	return "$rc"
}

test_torchrun()
{
	tap_check "torchrun: sums of $RANKS ranks on $HOSTS hosts" summed run_torchrun ./program
	tap_check "torchrun: canary perf, no further word" measured run_torchrun "${PERF[@]}"
}

make_agent
make_program
test_torchrun
test_openmpi
test_mpich
test_slurm
tap_done
