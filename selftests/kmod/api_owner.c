// SPDX-License-Identifier: GPL-2.0
/*
 * Packets belong to who made the socket. What an administrator sets for a user, a mark, a control
 * group or a device applies to them as to those of any socket.
 */
#include <linux/bpf.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include "harness.h"

#define ALICE	12345		/* a user for whom there are rules */
#define BOB	12346
#define NEAR	"10.99.0.1"
#define FAR	"10.99.0.2"

/* Run commands until one fails. NULL ends the list. */
static bool run(const char *const *commands)
{
	int st = 0;

	for (; *commands && !st; commands++) {
		st = system(*commands);
		if (st)
			fprintf(stderr, "# exit status %d: %s\n", st, *commands);
	}
	return !st;
}

#define RUN(...)	run((const char *const[]){ __VA_ARGS__, NULL })

/* Make @uid the user of this process from now on. */
static void become(unsigned int uid)
{
	if (setgid(uid) || setuid(uid))
		_exit(255);
}

/* Return: exit status of @pid; -1 if a signal ended it */
static int end_of(pid_t pid)
{
	int st;

	waitpid(pid, &st, 0);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

/* Make a bound socket, and a second one that shares its port. Return: the second one, or -1 */
static int new_sharer(unsigned int port, int *bound)
{
	struct sockaddr_canary a = address("127.0.0.1", port);
	int fd = new_socket();

	*bound = new_socket();
	if (bind(*bound, (struct sockaddr *)&a, sizeof(a)) ||
	    setsockopt(fd, SOL_CANARY, CANARY_ENDPOINT, bound, sizeof(*bound)))
		return -1;
	return fd;
}

static bool sharing;		/* whether connect_as() shares a port */

/*
 * connect() as rank 1 of 2, on behalf of @uid. Return: its result after at most @ms. If all is
 * well, that is EINPROGRESS: rank 0 is there, but somebody else is missing.
 */
static int connect_as(unsigned int uid, uint32_t id, const char *addr, unsigned int members,
		      unsigned int ms)
{
	struct sockaddr_canary a = address(addr, PAIR_PORT);
	pid_t pid = fork();
	int fd, bound;

	if (!pid) {
		become(uid);
		fd = sharing ? new_sharer(0, &bound) : new_socket();
		if (set_comm(fd, id, 1, members))
			_exit(254);
		timeout(fd, SO_SNDTIMEO, ms);
		_exit(connect(fd, (struct sockaddr *)&a, sizeof(a)) ? errno : 0);
	}
	return end_of(pid);
}

/* Rank 0 of two, alone: who comes is connected. Return: its socket, or -1 */
static int wait_for_one(uint32_t id)
{
	int fd = new_socket();

	if (set_comm(fd, id, 0, 2))
		return -1;
	nonblock(fd, true);
	connect_to(fd, PAIR_PORT);
	return fd;
}

TEST_F(net, owner_filter)
{
	int fd;

	ok("owner: nft skuid can be set",
	   RUN("nft add table inet t",
	       "nft 'add chain inet t c { type filter hook output priority 0; }'",
	       "nft add rule inet t c meta skuid 12345 udp dport 22600-22663 counter drop"));
	fd = wait_for_one(2001);
	ASSERT_LE(0, fd);
	ok("owner: a user whose packets are dropped does not get in",
	   connect_as(ALICE, 2001, "127.0.0.1", 2, 500) == EINPROGRESS);
	ok("owner: its packets were seen",
	   RUN("nft list table inet t | grep -q 'counter packets [1-9]'"));
	sharing = true;
	ok("owner: nor at a port that it shares",
	   connect_as(ALICE, 2001, "127.0.0.1", 2, 500) == EINPROGRESS);
	ok("owner: another user does, there", connect_as(BOB, 2001, "127.0.0.1", 2, PATIENCE) == 0);
	close(fd);
	fd = wait_for_one(2011);
	ASSERT_LE(0, fd);
	sharing = false;
	ok("owner: and at a port of its own", connect_as(BOB, 2011, "127.0.0.1", 2, PATIENCE) == 0);
	close(fd);
}

/* A device of its own, with nobody behind it */
TEST_F(net, owner_route)
{
	struct sockaddr_canary a = address(FAR, PAIR_PORT);
	uint32_t mark = 7;
	int fd;

	ok("owner: ip rules can be set",
	   RUN("ip link add far0 type dummy", "ip link set far0 up",
	       "ip addr add " NEAR "/24 dev far0", "ip rule add uidrange 12345-12345 prohibit",
	       "ip rule add fwmark 7 prohibit"));
	ok("owner: a user whose routes are prohibited",
	   connect_as(ALICE, 2002, FAR, 2, 50) == EACCES);
	ok("owner: another user's are not", connect_as(BOB, 2002, FAR, 2, 50) == EINPROGRESS);
	fd = new_socket();
	ASSERT_EQ(0, set_comm(fd, 2003, 1, 2));
	nonblock(fd, true);
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)));
	ok_errno("owner: a mark whose routes are prohibited",
		 connect(fd, (struct sockaddr *)&a, sizeof(a)), EACCES);
	mark = 0;
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)));
	ok_errno("owner: without that mark, again", connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 EINPROGRESS);
	close(fd);
}

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* Attach a program that lets no packet into the control group. Return: the program, or -1 */
static int refuse_ingress(int group)
{
	static const struct bpf_insn no[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_CGROUP_SKB };
	int prog;

	attr.expected_attach_type = BPF_CGROUP_INET_INGRESS;
	attr.insns = (uintptr_t)no;
	attr.insn_cnt = ARRAY_SIZE(no);
	attr.license = (uintptr_t)"GPL";
	prog = bpf(BPF_PROG_LOAD, &attr);
	if (prog < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.target_fd = group;
	attr.attach_bpf_fd = prog;
	attr.attach_type = BPF_CGROUP_INET_INGRESS;
	return bpf(BPF_PROG_ATTACH, &attr) ? -1 : prog;
}

/* Move this process into that control group. */
static bool enter_group(const char *dir)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	f = fopen(path, "w");
	if (!f)
		return false;
	fputs("0", f);
	return !fclose(f);
}

/* A control group that lets nothing in */
FIXTURE(cgroup) {
	char root[32], deaf[64];
	int group, prog;
};

FIXTURE_SETUP(cgroup)
{
	set_up_net(_metadata);
	strcpy(self->root, "/tmp/canary-cgroup-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	ASSERT_EQ(0, mount("none", self->root, "cgroup2", 0, NULL))
		TH_LOG("owner: control groups");
	snprintf(self->deaf, sizeof(self->deaf), "%s/deaf", self->root);
	self->group = -1;
	self->prog = -1;
	if (!mkdir(self->deaf, 0755))
		self->group = open(self->deaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->group >= 0)
		self->prog = refuse_ingress(self->group);
}

FIXTURE_TEARDOWN(cgroup)
{
	close(self->prog);
	close(self->group);
	enter_group(self->root);
	rmdir(self->deaf);
	umount2(self->root, MNT_DETACH);
	rmdir(self->root);
	count_checks(_metadata);
}

/*
 * A socket that shares a port belongs to its own control group, and not to that of the port's
 * opener.
 */
TEST_F(cgroup, owner_shared)
{
	int fd, bound, deaf;

	ok("owner: a port that was opened elsewhere", self->prog >= 0);
	fd = new_sharer(PAIR_PORT, &bound);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(enter_group(self->deaf));
	deaf = new_socket();
	ok("owner: is shared in a group that lets nothing in",
	   !setsockopt(deaf, SOL_CANARY, CANARY_ENDPOINT, &bound, sizeof(bound)));
	ASSERT_TRUE(enter_group(self->root));
	ASSERT_EQ(0, set_comm(deaf, 2012, 0, 2));
	ASSERT_EQ(0, set_comm(fd, 2013, 0, 2));
	nonblock(deaf, true);
	nonblock(fd, true);
	connect_to(deaf, PAIR_PORT);
	connect_to(fd, PAIR_PORT);
	ok("owner: nobody reaches rank 0 in there, at a shared port",
	   connect_as(BOB, 2012, "127.0.0.1", 2, 300) == EINPROGRESS);
	ok("owner: but the one outside, at the same port",
	   connect_as(BOB, 2013, "127.0.0.1", 2, PATIENCE) == 0);
	close(deaf);
	close(fd);
	close(bound);
}

TEST_F(cgroup, owner_cgroup)
{
	long before = proc_value("drop-filter");
	int fd;

	ok("owner: a control group that lets nothing in",
	   self->prog >= 0 && enter_group(self->deaf));
	fd = wait_for_one(2004);
	ASSERT_LE(0, fd);
	ok("owner: is left again", enter_group(self->root));
	ok("owner: nobody reaches rank 0 in there",
	   connect_as(BOB, 2004, "127.0.0.1", 2, 300) == EINPROGRESS);
	ok("owner: that is counted", proc_value("drop-filter") > before);
	close(fd);
	drain_ports();
}

/* Ranks at an address of a VRF, which has a routing table of its own */
FIXTURE(vrf) {
	int x, y;
};

FIXTURE_VARIANT(vrf) {
	bool late;	/* the device is chosen after bind() */
};

FIXTURE_VARIANT_ADD(vrf, early) {
	.late = false,
};

FIXTURE_VARIANT_ADD(vrf, late) {
	.late = true,
};

FIXTURE_SETUP(vrf)
{
	set_up_net(_metadata);
	ASSERT_TRUE(RUN("ip link add red type vrf table 100", "ip link set red up",
			"ip link add port type dummy", "ip link set port master red",
			"ip link set port up", "ip addr add 10.98.0.1/24 dev port"))
		TH_LOG("owner: a VRF");
	self->x = new_socket();
	self->y = new_socket();
	ASSERT_EQ(0, set_comm(self->x, 2005, 0, 2));
	ASSERT_EQ(0, set_comm(self->y, 2005, 1, 2));
}

FIXTURE_TEARDOWN(vrf)
{
	unpair(self->x, self->y);
	count_checks(_metadata);
}

TEST_F(vrf, owner_vrf)
{
	struct sockaddr_canary a = address("10.98.0.1", PAIR_PORT);
	struct sockaddr_canary any = address("0.0.0.0", PAIR_PORT);
	int x = self->x, y = self->y;
	uint32_t v = 21;

	nonblock(x, true);
	if (variant->late)
		ASSERT_EQ(0, bind(x, (struct sockaddr *)&any, sizeof(any)));
	ASSERT_EQ(0, setsockopt(x, SOL_SOCKET, SO_BINDTODEVICE, "red", 3));
	ASSERT_EQ(0, setsockopt(y, SOL_SOCKET, SO_BINDTODEVICE, "red", 3));
	ok_errno(variant->late ? "owner: device chosen after bind(): rank 0" :
				 "owner: rank 0 in a VRF",
		 connect(x, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	timeout(y, SO_SNDTIMEO, PATIENCE);
	ok_errno(variant->late ? "owner: device chosen after bind(): rank 1" :
				 "owner: rank 1 in a VRF",
		 connect(y, (struct sockaddr *)&a, sizeof(a)), 0);
	wait_events(x, POLLOUT);
	nonblock(x, false);
	ok("owner: they sum up", send(x, &v, 4, 0) == 4 && send(y, &v, 4, 0) == 4 &&
	   recv(x, &v, 4, 0) == 4 && v == 42);
}

/* Does /proc show epoch and block numbers of the socket with that inode? -1: it has no line */
static int shows(unsigned long ino)
{
	FILE *f = fopen("/proc/self/net/canary", "r");
	char line[256], epoch[16], una[16], next[16];
	unsigned long got;
	int found = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*u %*u %*u %*s %15s %*u %15s %15s %*u %*u %lu", epoch, una,
			   next, &got) == 4 && got == ino)
			found = strcmp(epoch, "-") && strcmp(una, "-") && strcmp(next, "-");
	if (f)
		fclose(f);
	return found;
}

/* The same as shows(), for @uid. If that is 0, for a socket of its own */
static int shows_to(unsigned int uid, unsigned long ino)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		become(uid);
		fd = new_socket();
		_exit(shows(ino ? ino : inode(fd)) + 1);
	}
	return end_of(pid) - 1;
}

TEST_F(ranks, owner_proc)
{
	int x = self->x;

	ok("owner: /proc/net/canary shows all to root", shows(inode(x)) == 1);
	ok("owner: but not where others' members are to everybody",
	   shows_to(BOB, inode(x)) == 0);
	ok("owner: what is one's own is shown", shows_to(BOB, 0) == 1);
}

/* An administrator's list of aggregates belongs to the rule, and goes with it. */
TEST_F(net, owner_aggregates)
{
	struct sockaddr_canary a = address("127.0.0.1", PAIR_PORT);
	struct canary_prefix own = { .addr = ip4("10.1.0.0"), .length = 96 + 16 }, got[2];
	socklen_t len = sizeof(got);
	int fd = new_socket();

	ok("owner: a rule with aggregates",
	   tool("comm allow 2010 --aggregates 10.255.0.0/16,10.254.0.1"));
	ASSERT_EQ(0, set_comm(fd, 2010, 0, 2));
	nonblock(fd, true);
	ASSERT_EQ(0, setsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, &own, sizeof(own)));
	connect(fd, (struct sockaddr *)&a, sizeof(a));
	ok("owner: the socket's list is still what was set",
	   !getsockopt(fd, SOL_CANARY, CANARY_AGGREGATES, got, &len) && len == sizeof(own) &&
	   !memcmp(got, &own, sizeof(own)));
	close(fd);
}

TEST_HARNESS_MAIN
