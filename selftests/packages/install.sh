#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The Debian packages in a Debian of their own (debootstrap): installed, used, upgraded, removed,
# purged. Nothing of them may be left then. DKMS builds the module for Linux 6.1 and 6.12, and the
# guest loads it. The test installs nothing outside, and sends nothing but what apt downloads.

# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

PACKAGES=${PACKAGES:-$TAP_TOP/build/packages}
OURS='^(libcanary|canary-|python3-canary-)'
HEADERS=(linux-headers-amd64 linux-headers-6.12-amd64)

tap_start packages/install
need_root
need_program debootstrap dpkg-deb unshare jq ip setpriv
[ "$(dpkg --print-architecture)" = amd64 ] || tap_skip_all "knows the kernels of amd64 only"
compgen -G "$PACKAGES/*.deb" >/dev/null || tap_skip_all "needs the packages: make packages"
tmp_dir
ROOT=$TAP_TMP/root

# mirror: prints where this machine's apt gets the release from
mirror()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | sed -n 's/^bookworm //p' | head -n 1
}

# command_there [-n NAMESPACE] COMMAND...: sets COMMAND to what runs it there. What that mounts is gone when
# it ends. /run is kept, as several of them share sockets. Nothing boots this Debian, so a kernel's package
# need not make an initrd, which takes minutes (INITRD).
command_there()
{
	COMMAND=()
	if [ "$1" = -n ]; then
		COMMAND=(nsenter --net="/run/netns/$(ns_name "$2")" --)
		shift 2
	fi
	# shellcheck disable=SC2016
	COMMAND+=(unshare --mount --propagation private -- sh -c '
		mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
		mount --bind "$0/var/run-kept" "$0/run" && mount --rbind /run/netns "$0/run/netns" &&
		exec chroot "$0" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 INITRD=No \
		"$@"' "$ROOT" "$@")
}

inside()
{
	local COMMAND

	command_there "$@"
	"${COMMAND[@]}"
}

apt()
{
	inside apt-get -q -y -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null
}

# base: makes the Debian, with the sources of this machine's apt, and how it reaches them
base()
{
	debootstrap --variant=minbase bookworm "$ROOT" "$(mirror)" || return
	mkdir -p "$ROOT/packages" "$ROOT/var/run-kept/netns" /run/netns
	rm -f "$ROOT/etc/apt/sources.list"
	cp -a /etc/apt/sources.list* "$ROOT/etc/apt/" || return
	# Launchers ask for the address of their own host. No name server can be reached from the namespaces.
	printf '%s\n' '127.0.0.1 localhost' '10.0.1.2 host1' '10.0.2.2 host2' '10.0.3.2 host3' >"$ROOT/etc/hosts"
	apt-config dump | grep '^Acquire::' >"$ROOT/etc/apt/apt.conf.d/00outside"
	cp "$PACKAGES"/*.deb "$ROOT/packages/" && apt update
}

# must DESCRIPTION COMMAND...: nothing else can be tested if it fails
must()
{
	local failed=$TAP_FAILED

	tap_check "$@"
	[ "$TAP_FAILED" -eq "$failed" ] || tap_done
}

# debs [DIRECTORY]: prints the packages, as they are named inside
debs()
{
	(cd "$ROOT" && printf '/%s\n' packages/"${1:-}"*.deb)
}

# needed: prints what apt would install with the packages, without them
needed()
{
	# shellcheck disable=SC2046
	apt -s install $(debs) "${HEADERS[@]}" gcc libc6-dev pkg-config \
		libopenmpi-dev openmpi-bin libmpich-dev mpich |
		sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -vE "$OURS"
}

# files: prints all files with owner and permissions, without what dpkg, apt, depmod and dkms write of
# everything, and keep when a package goes (dkms: its own key)
files()
{
	(cd "$ROOT" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./packages \
		-o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \
		-o -path ./tmp -o -path './usr/lib/modules/*/modules.*' -o -path './var/lib/dkms/mok.*' \) -prune \
		-o -printf '%M %U %G %p %l\n' | LC_ALL=C sort
	find etc -type f -exec md5sum {} + | LC_ALL=C sort -k 2)
}

# states: prints "PACKAGE VERSION STATE" of our packages
states()
{
	# shellcheck disable=SC2016
	inside dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n' | grep -E "$OURS" | sed 's/ *$//'
}

# expect VERSION STATE: prints what states should, for the packages that were built
expect()
{
	local deb

	for deb in "$ROOT"/packages/*.deb; do
		echo "$(dpkg-deb -f "$deb" Package) $1 $2"
	done | LC_ALL=C sort
}

modules()
{
	(cd "$ROOT/lib/modules" && find . -name 'canary.ko*' | sed 's|^\./\([0-9]*\.[0-9]*\)[^/]*/|\1 |' | LC_ALL=C sort)
}

# autopkgtest: prints the tests of the source package, which need what is installed already
autopkgtests()
{
	sed -n 's/^Tests: //p' "$TAP_TOP/tools/packages/debian/tests/control"
}

# Three hosts around a switch
switch_network()
{
	local i

	ns_add sw h1 h2 h3
	ns_ip sw addr add 10.9.0.1/32 dev lo
	ns_exec sw sysctl -qw net.ipv4.ip_forward=1
	for i in 1 2 3; do
		ns_link "h$i" eth0 "10.0.$i.2/24" sw "s$i" "10.0.$i.1/24"
		ns_ip "h$i" route add default via "10.0.$i.1"
		ns_exec "h$i" ethtool -K eth0 gro on
	done
}

unit()
{
	sed -n "s/^$1=//p" "$ROOT/lib/systemd/system/canary-switch.service"
}

# started: it is ready, or has ended
started()
{
	grep -q ' ready: ' "$TAP_TMP/out" || ! kill -0 "$SW"
}

# Starts the unit's command line. Capabilities are cut as CapabilityBoundingSet= does it.
switch_start()
{
	local sets

	sets=$(unit CapabilityBoundingSet | tr ' ' '\n' | sed -n 's/^CAP_/,+/p' | tr -d '\n' | tr '[:upper:]' '[:lower:]')
	# shellcheck disable=SC2046
	command_there -n sw setpriv --no-new-privs --inh-caps=-all --bounding-set="-all$sets" -- \
		$(unit ExecStart)
	bg "${COMMAND[@]}" >"$TAP_TMP/out" 2>"$TAP_TMP/err"
	SW=$!
	wait_for 20 started && grep -q ' ready: ' "$TAP_TMP/out"
}

# sum: a rank at each of the three hosts; prints what each got. 1.5 + 2.25 + 0.25
sum()
{
	local options=(--comm 1 --members 3 --root 10.0.1.2 --engine user --type float32) pids=()

	printf '\000\000\300\077' >"$ROOT/tmp/in0"
	printf '\000\000\020\100' >"$ROOT/tmp/in1"
	printf '\000\000\200\076' >"$ROOT/tmp/in2"
	inside -n h2 canary allreduce "${options[@]}" --rank 1 --in /tmp/in1 --out /tmp/sum1 &
	pids+=("$!")
	inside -n h3 canary allreduce "${options[@]}" --rank 2 --in /tmp/in2 --out /tmp/sum2 &
	pids+=("$!")
	inside -n h1 canary allreduce "${options[@]}" --rank 0 --in /tmp/in0 --out /tmp/sum0
	wait "${pids[@]}"
	od -An -tf4 "$ROOT"/tmp/sum[0-2] | xargs
	rm -f "$ROOT"/tmp/sum[0-2]
}

test_install()
{
	must "a Debian of its own" base
	needed >"$TAP_TMP/needed"
	tap_check "apt finds what they need" grep -qx dkms "$TAP_TMP/needed"
	# shellcheck disable=SC2046
	must "it is installed" apt install $(cat "$TAP_TMP/needed")
	files >"$TAP_TMP/before"
	tap_is "nothing of ours is there" "$(states)" ""
	# shellcheck disable=SC2046
	must "the packages are installed" apt install $(debs)
	tap_is "all of them" "$(states)" "$(expect "$VERSION" ii)"
	tap_is "DKMS has built the module for both kernels" "$(modules | cut -d' ' -f1 | xargs)" "6.1 6.12"
	tap_is "no service is enabled by that" "$(find "$ROOT/etc/systemd" -name 'canary*')" ""
}

test_use()
{
	local one

	ns_add host
	for one in $(autopkgtests); do
		cp "$TAP_TOP/tools/packages/debian/tests/$one" "$ROOT/tmp/"
		tap_check "the packages' own test $one" inside -n host "/tmp/$one"
	done
	switch_network
	tap_is "three hosts sum without a switch" "$(sum)" "4 4 4"
	tap_refuse "the unit: without ports it does not start" switch_start
	echo "ports s1,s2,s3" >>"$ROOT/etc/canary/switch.conf"
	switch_start
	tap_check "with ports it does" grep -q " ready: " "$TAP_TMP/out"
	tap_check "which admits nobody" grep -q "switch.rules is missing: nobody is admitted" "$TAP_TMP/err"
	tap_check "until somebody says so" inside -n sw canary switch set --admit any:any --save
	tap_is "three hosts sum through it" "$(sum)" "4 4 4"
	inside -n sw canary switch show -j >"$TAP_TMP/show"
	tap_is "it has combined their block" "$(jq '.counters.new' "$TAP_TMP/show")" 1
}

# program_of_mpi COMPILER: makes /tmp/program. It knows nothing of Canary. Each rank R of N contributes
# R + 1 everywhere.
program_of_mpi()
{
	cat >"$ROOT/tmp/program.c" <<-'END'
	#include <mpi.h>
	#include <stdio.h>
	#define COUNT 100000
	static double in[COUNT], out[COUNT];
	int main(int argc, char **argv)
	{
		int i, rank, size, bad = 0;

		MPI_Init(&argc, &argv);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		MPI_Comm_size(MPI_COMM_WORLD, &size);
		for (i = 0; i < COUNT; i++)
			in[i] = rank + 1;
		MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (i = 0; i < COUNT; i++)
			bad += out[i] != size * (size + 1) / 2;
		printf("rank %d: %d wrong\n", rank, bad);
		return MPI_Finalize();
	}
	END
	inside "$1" -o /tmp/program /tmp/program.c
}

# mpirun's way to a host, in place of ssh. Hosts are named by their addresses 10.0.N.2.
agent()
{
	cat >"$ROOT/tmp/agent" <<-END
	#!/bin/sh
	[ "\$1" != -x ] || shift
	number=\$(echo "\$1" | cut -d. -f3)
	shift
	exec nsenter --net="/run/netns/$(ns_name h)\$number" unshare --uts \
		sh -c 'hostname "\$0" && exec sh -c "\$*"' "host\$number" "\$@"
	END
	chmod +x "$ROOT/tmp/agent"
}

# mpi DESCRIPTION COMPILER [VARIABLE=VALUE...] LAUNCHER [OPTION...]: starts the program from h1 at all
# three hosts. Its sums have to be right, and go through Canary and the switch.
mpi()
{
	local what=$1 compiler=$2 failed=$TAP_FAILED before

	shift 2
	tap_check "$what: a program is compiled" program_of_mpi "$compiler"
	before=$(inside -n sw canary switch show -j | jq .counters.new)
	# shellcheck disable=SC2016
	inside -n h1 unshare --uts sh -c 'hostname host1 && exec env "$@"' sh "$@" /tmp/program >"$TAP_TMP/said" 2>&1 </dev/null
	tap_is "$what: its sums are right" "$(grep -c '^rank [012]: 0 wrong$' "$TAP_TMP/said")" 3
	tap_is "$what: by Canary" "$(awk '$2 == "canary" { print $(NF - 3) }' "$TAP_TMP/said")" 1
	tap_check "$what: through the switch" \
		test "$(inside -n sw canary switch show -j | jq .counters.new)" -gt "$before"
	[ "$TAP_FAILED" -eq "$failed" ] || tap_diag "$(cat "$TAP_TMP/said")"
}

# README's "Your MPI program". The variables are about this network, not about Canary, but for two:
# the table tells what was done. On one machine, where links are not the limit, Canary would leave
# sums to the MPI library, so min_bytes says how long they have to be.
test_mpi()
{
	local preload

	agent
	mpi "mpirun with canary-openmpi" mpicc.openmpi \
		OMPI_MCA_plm_rsh_agent=/tmp/agent OMPI_MCA_plm_rsh_no_tree_spawn=1 \
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		OMPI_MCA_oob_tcp_if_include=10.0.0.0/16 OMPI_MCA_btl_tcp_if_include=10.0.0.0/16 \
		OMPI_MCA_orte_leave_session_attached=1 OMPI_MCA_mpi_yield_when_idle=1 \
		OMPI_MCA_coll_canary_min_bytes=16384 OMPI_MCA_coll_canary_table=1 \
		timeout -k 5 120 mpirun.openmpi --mca coll_canary_enable 1 --host 10.0.1.2,10.0.2.2,10.0.3.2
	preload=$(inside dpkg -L canary-mpich | grep '/libcanary-mpich\.so$')
	tap_check "canary-mpich: README says where its library is" grep -qF "\`$preload\`" "$TAP_TOP/README.md"
	mpi "mpirun with canary-mpich" mpicc.mpich \
		HYDRA_LAUNCHER_EXEC=/tmp/agent HYDRA_IFACE=eth0 CANARY_MIN_BYTES=16384 CANARY_TABLE=1 \
		timeout -k 5 120 mpirun.mpich -genv LD_PRELOAD "$preload" -hosts 10.0.1.2,10.0.2.2,10.0.3.2
}

# python3-canary-torch: a script that says "gloo", two ranks on one host
test_torch()
{
	local rank pids=() failed=$TAP_FAILED

	if ! compgen -G "$PACKAGES/python3-canary-torch_*.deb" >/dev/null; then
		tap_skip "PyTorch sums through Canary" "python3-canary-torch was not built: make torch"
		return
	fi
	cat >"$ROOT/tmp/train.py" <<-'END'
	import torch, torch.distributed as dist
	dist.init_process_group("gloo")
	vector = torch.full((5000,), dist.get_rank() + 1.5)
	dist.all_reduce(vector)
	print("sum", set(vector.tolist()))
	END
	for rank in 0 1; do
		inside -n host env RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \
			CANARY_TABLE=1 CANARY_ENGINE=user GLOO_SOCKET_IFNAME=lo PYTHONWARNINGS=ignore \
			timeout 120 python3 -m canary_torch /tmp/train.py >"$TAP_TMP/rank$rank" 2>&1 &
		pids+=("$!")
	done
	wait "${pids[@]}"
	tap_is "PyTorch sums" "$(grep -h '^sum' "$TAP_TMP"/rank[01] | xargs)" "sum {4.0} sum {4.0}"
	tap_check "through Canary" grep -q "all_reduce *canary *1 " "$TAP_TMP/rank0"
	[ "$TAP_FAILED" -eq "$failed" ] || tap_diag "$(cat "$TAP_TMP"/rank[01])"
}

# newer DEB: the same package, with a higher version
newer()
{
	local tree=$TAP_TMP/newer

	rm -rf "$tree"
	dpkg-deb -R "$1" "$tree"
	grep -rlF "$VERSION" "$tree/DEBIAN" | xargs sed -i "s/${VERSION//./\\.}/$NEXT/g"
	if [ -d "$tree/usr/src/canary-$VERSION" ]; then
		mv "$tree/usr/src/canary-$VERSION" "$tree/usr/src/canary-$NEXT"
		sed -i "s/${VERSION//./\\.}/$NEXT/" "$tree/usr/src/canary-$NEXT/dkms.conf"
	fi
	echo "# newer" >>"$tree/usr/share/doc/$(dpkg-deb -f "$1" Package)/copyright"
	rm -f "$tree/DEBIAN/md5sums"
	dpkg-deb --root-owner-group -b "$tree" "$ROOT/packages/next/" >/dev/null
}

test_upgrade()
{
	local deb

	mkdir "$ROOT/packages/next"
	for deb in "$ROOT"/packages/*.deb; do
		newer "$deb"
	done
	# shellcheck disable=SC2046
	must "upgrade" apt install $(debs next/)
	tap_is "upgrade: all packages" "$(states)" "$(expect "$NEXT" ii)"
	tap_is "upgrade: the module of the new one, for both kernels" \
		"$(inside dkms status | sed 's/, x86_64//' | cut -d, -f1,2 | sed 's/\(, [0-9]*\.[0-9]*\).*/\1/' | xargs)" \
		"canary/$NEXT, 6.1 canary/$NEXT, 6.12"
	tap_is "upgrade: the configuration that was changed is kept" \
		"$(tail -n 1 "$ROOT/etc/canary/switch.conf")" "ports s1,s2,s3"
	tap_is "upgrade: rules are kept" "$(grep -v '^#' "$ROOT/var/lib/canary/switch.rules")" "any:0.0.0.0/0"
	bg_stop "$SW"
	switch_start
	tap_check "upgrade: the switch starts again" grep -q " ready: " "$TAP_TMP/out"
	tap_is "upgrade: with these rules" "$(inside -n sw canary switch show -j | jq -c .admission.rules)" '["any:0.0.0.0/0"]'
	bg_stop "$SW"
}

# The packages of the module built it for the guest's kernel, if that is the newest one.
test_module()
{
	local kver module

	kver=$(sed -n 's/^GUEST_KVER=//p' "$TAP_TOP/build/guest/config.mk" 2>/dev/null)
	module=$(find "$ROOT/lib/modules/$kver" -name 'canary.ko*' 2>/dev/null)
	if [ -z "$kver" ] || [ -z "$module" ]; then
		tap_skip "the guest loads the module" "no guest with a kernel that has headers here"
		return
	fi
	cat >"$ROOT/tmp/kernel" <<-'END'
	#!/bin/sh -e
	printf '\000\000\300\077' >/tmp/a
	printf '\000\000\020\100' >/tmp/b
	set -- --comm 1 --members 2 --root 127.0.0.1 --engine kernel --type float32
	/usr/sbin/canary allreduce "$@" --rank 1 --bind 127.0.0.1:22601 --in /tmp/b --out /tmp/sum1 &
	/usr/sbin/canary allreduce "$@" --rank 0 --in /tmp/a --out /tmp/sum0
	wait
	od -An -tf4 /tmp/sum0 /tmp/sum1
	END
	chmod +x "$ROOT/tmp/kernel"
	# shellcheck disable=SC2016
	tap_is "the guest loads the module, and two ranks sum by it" "$("$TAP_TOP/selftests/vm/run.sh" -- sh -c '
		ip link set lo up && modprobe udp_tunnel && insmod "$0" && exec chroot "$1" /tmp/kernel' \
		"$module" "$ROOT" | tail -n 2 | xargs)" "3.75 3.75"
}

test_removal()
{
	local names

	mapfile -t names < <(expect "$NEXT" | cut -d' ' -f1)
	rm -rf "$ROOT"/tmp/*
	must "remove" apt remove "${names[@]}"
	tap_is "remove: only configuration is left" "$(states)" "canary-switch $NEXT rc"
	tap_is "remove: rules and configuration" "$(cd "$ROOT" && find etc var/lib -path '*canary/*' | sort | xargs)" \
		"etc/canary/switch.conf var/lib/canary/switch.rules"
	tap_is "remove: no module" "$(modules)$(inside dkms status)" ""
	tap_is "remove: depmod knows of none" "$(grep -rl canary "$ROOT"/usr/lib/modules/*/modules.*)" ""
	must "purge" inside dpkg --purge "${names[@]}"
	tap_is "purge: nothing is known of them" "$(states)" ""
	files >"$TAP_TMP/after"
	tap_is "purge: all files are as before" "$(diff "$TAP_TMP/before" "$TAP_TMP/after")" ""
}

mirror=$(mirror)
[ -n "$mirror" ] || tap_skip_all "this machine's apt knows no Debian 12"
for deb in "$PACKAGES"/canary-tools_*.deb; do
	VERSION=$(dpkg-deb -f "$deb" Version)
done
NEXT=$VERSION.1
test_install
test_use
test_mpi
test_torch
test_upgrade
test_module
test_removal
tap_done
