// SPDX-License-Identifier: GPL-2.0
/* Trains: packets that pass the network stack as one (kmod/train.c) */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <netinet/udp.h>
#include <sys/syscall.h>
#include "harness.h"

#define TRAIN_MAX	"/proc/sys/net/canary/train_max"
#define BYTES		(256 << 10)
#define SEGMENT		64		/* bytes of a packet of a train that a test makes */
#define LONGEST		(20 + 8 + sizeof(struct canary_hdr) + CANARY_PAYLOAD_MAX)

/*
 * Two namespaces, joined by a veth:
 *	near (rank 0, this process) --- far (rank 1)
 */
#define DEVICE		"veth"
#define NEAR		"10.97.0.1"
#define FAR		"10.97.0.2"

static int near_net, far_net;	/* the namespaces */

static bool enter(int net)
{
	return !setns(net, CLONE_NEWNET);
}

/* Run a command in a namespace, and come back. */
static bool run_in(int net, const char *command)
{
	bool done = enter(net) && !system(command);

	if (!done)
		fprintf(stderr, "# failed: %s\n", command);
	return enter(near_net) && done;
}

static bool run_both(const char *command)
{
	return run_in(near_net, command) && run_in(far_net, command);
}

/* Make both namespaces, and the link. This process is in the near one then. */
static bool make_link(void)
{
	char command[128];

	near_net = open("/proc/self/ns/net", O_RDONLY);
	if (near_net < 0 || unshare(CLONE_NEWNET))
		return false;
	far_net = open("/proc/self/ns/net", O_RDONLY);
	snprintf(command, sizeof(command),
		 "ip link add " DEVICE " type veth peer name " DEVICE " netns /proc/%d/fd/%d",
		 getpid(), near_net);
	return run_in(far_net, command) && run_both("ip link set lo up") &&
	       run_both("ip link set " DEVICE " up") &&
	       run_in(near_net, "ip addr add " NEAR "/24 dev " DEVICE) &&
	       run_in(far_net, "ip addr add " FAR "/24 dev " DEVICE);
}

/* Set net.canary.train_max in both namespaces. */
static bool set_train_max(long value)
{
	bool set = set_value(TRAIN_MAX, value) > 0 && enter(far_net) &&
		   set_value(TRAIN_MAX, value) > 0;

	return enter(near_net) && set;
}

/* Connect a rank in each namespace. */
static bool join(int *x, int *y)
{
	struct sockaddr_canary at = address(NEAR, PAIR_PORT);
	bool made;

	*x = new_socket();
	made = enter(far_net);
	*y = new_socket();
	if (!enter(near_net) || !made)
		return false;
	pair_comm++;
	if (set_comm(*x, pair_comm, 0, 2) || set_comm(*y, pair_comm, 1, 2))
		return false;
	nonblock(*x, true);
	connect(*x, (struct sockaddr *)&at, sizeof(at));
	if (connect(*y, (struct sockaddr *)&at, sizeof(at)) ||
	    !(wait_events(*x, POLLOUT) & POLLOUT))
		return false;
	nonblock(*x, false);
	return true;
}

/* Capture all IPv4 packets that @device passes. Return: -1 if that is not possible */
static int capture(const char *device)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0), room = 64 << 20;

	at.sll_ifindex = if_nametoindex(device);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) ? -1 : fd;
}

/* What was captured */
struct captured {
	unsigned int trains_out, trains_in;	/* longer than any Canary packet */
	unsigned int singles;
	unsigned int wrong;	/* of these: whose UDP checksum is not that of the whole packet */
	unsigned int broken;	/* trains that do not consist of packets */
};

/*
 * Is @p, a train of @len bytes from the IP header on, made of Canary packets with data? Behind the
 * first one, they have no headers of IP and UDP here.
 */
static bool is_train(const char *p, ssize_t len)
{
	const struct canary_hdr *h;
	ssize_t at = 28;

	while (at + (ssize_t)sizeof(*h) <= len) {
		h = (const struct canary_hdr *)(p + at);
		if (h->version != CANARY_VERSION)
			return false;
		at += sizeof(*h);
		if (h->type == CANARY_CONTRIBUTION || h->type == CANARY_RESULT)
			at += ntohs(h->contribution.length);
	}
	return at == len;
}

/* Return: the sum of the 16-bit words of @p, of @len bytes, added to @sum */
static uint32_t add_words(uint32_t sum, const char *p, ssize_t len)
{
	uint16_t word;

	for (; len > 1; len -= 2, p += 2) {
		memcpy(&word, p, 2);
		sum += word;
	}
	return len ? sum + (unsigned char)*p : sum;
}

/* Is the UDP checksum of @p right, a packet of @len bytes from the IP header on? */
static bool is_whole(const char *p, ssize_t len)
{
	uint32_t sum = add_words(htons(IPPROTO_UDP) + htons(len - 20), p + 12, 8);

	sum = add_words(sum, p + 20, len - 20);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static struct captured look(int fd)
{
	static char packet[65536];
	struct captured c = { };
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t len;

	while ((len = recvfrom(fd, packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC,
			       (struct sockaddr *)&from, &size)) > 0) {
		if (from.sll_protocol != htons(ETH_P_IP) || packet[9] != IPPROTO_UDP)
			continue;
		if (len <= (ssize_t)LONGEST) {
			c.singles++;
			c.wrong += !is_whole(packet, len);
			continue;
		}
		c.trains_out += from.sll_pkttype == PACKET_OUTGOING;
		c.trains_in += from.sll_pkttype != PACKET_OUTGOING;
		c.broken += !is_train(packet, len);
	}
	return c;
}

/* Both ranks post a large vector. Return: both have the sum */
static bool sum_up(int x, int y)
{
	static uint32_t v[BYTES / 4], got[BYTES / 4];
	unsigned int i, wrong = 0, rank;

	for (i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = i * 2654435761U;
	if (!send_both(x, y, v, sizeof(v)))
		return false;
	for (rank = 0; rank < 2; rank++) {
		if (recv(rank ? y : x, got, sizeof(got), 0) != sizeof(got))
			return false;
		for (i = 0; i < ARRAY_SIZE(v); i++)
			wrong += got[i] != 2 * v[i];
	}
	return !wrong;
}

/* Two connected ranks, each in its namespace */
FIXTURE(fast) {
	int x, y;
};

FIXTURE_SETUP(fast)
{
	set_up_net(_metadata);
	ASSERT_TRUE(make_link());
	ASSERT_TRUE(join(&self->x, &self->y));
	/* There are trains when a round trip is known. */
	ASSERT_TRUE(sum_up(self->x, self->y));
}

FIXTURE_TEARDOWN(fast)
{
	unpair(self->x, self->y);
	close(near_net);
	close(far_net);
	count_checks(_metadata);
}

TEST_F(fast, trains)
{
	int fd = capture(DEVICE);
	struct captured c;

	ASSERT_LE(0, fd);
	ok("train: right sum", sum_up(self->x, self->y));
	c = look(fd);
	ok("train: packets leave as one", c.trains_out > 0);
	ok("train: and come as one", c.trains_in > 0);
	ok("train: whoever captures them sees all of it", !c.broken);
	ASSERT_TRUE(set_train_max(1));
	sum_up(self->x, self->y);	/* a round may have begun before */
	look(fd);
	ok("train_max 1: right sum", sum_up(self->x, self->y));
	c = look(fd);
	ok("train_max 1: each packet passes by itself",
	   !c.trains_out && !c.trains_in && c.singles > 0);
	ok("train_max: 0 is refused", set_value(TRAIN_MAX, 0) < 0);
	ok("train_max: 1000 is refused", set_value(TRAIN_MAX, 1000) < 0);
	close(fd);
}

/* A device that takes no trains, and computes no checksums, as some hardware */
TEST_F(fast, cut)
{
	struct captured c;
	int fd;

	ASSERT_TRUE(run_both("ethtool -K " DEVICE " tx-gso-list off tx off >/dev/null"));
	fd = capture(DEVICE);
	ASSERT_LE(0, fd);
	ok("cut: right sum", sum_up(self->x, self->y));
	c = look(fd);
	ok("cut: single packets pass the device", !c.trains_out && !c.trains_in && c.singles > 0);
	ok("cut: their checksums are right", !c.wrong);
	close(fd);
}

/*
 * Others capture trains at both ends, at the same time as these are taken apart. All that is sent is
 * much more than a socket may have in queues, so it shows, too, that all of it is given back.
 */
TEST_F(fast, captured)
{
	unsigned int i, right = 0;
	struct captured c;
	int fd[4];

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		ASSERT_TRUE(enter(i % 2 ? far_net : near_net));
		fd[i] = capture(DEVICE);
		ASSERT_LE(0, fd[i]);
	}
	ASSERT_TRUE(enter(near_net));
	for (i = 0; i < 8; i++)
		right += sum_up(self->x, self->y);
	ok("captured: right sums", right == 8);
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		c = look(fd[i]);
		ok("captured: whole trains, both ways",
		   c.trains_in > 0 && c.trains_out > 0 && !c.broken);
		close(fd[i]);
	}
}

/* Let an XDP program pass all that comes, in the stack's own way. Return: a link, or -1 */
static int pass_generic(void)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"GPL",
	};
	union bpf_attr attach = {
		.link_create.target_ifindex = if_nametoindex(DEVICE),
		.link_create.attach_type = BPF_XDP,
		.link_create.flags = XDP_FLAGS_SKB_MODE,
	};
	int prog = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load)), link;

	attach.link_create.prog_fd = prog;
	link = syscall(SYS_bpf, BPF_LINK_CREATE, &attach, sizeof(attach));
	close(prog);
	return link;
}

/* Generic XDP joins the packets of a train to one buffer. They are still all there. */
TEST_F(fast, linear)
{
	long before = proc_value("drop-length"), again;
	int link = pass_generic(), fd = capture(DEVICE);

	ASSERT_LE(0, link);
	ASSERT_LE(0, fd);
	again = proc_value("retransmissions");
	ok("linear: right sum", sum_up(self->x, self->y));
	ok("linear: there were trains", look(fd).trains_in > 0);
	ok("linear: nothing is dropped", proc_value("drop-length") == before);
	ok("linear: nothing is sent again", proc_value("retransmissions") == again);
	close(fd);
	close(link);
}

/* A filter that lets nothing pass that is longer than a packet */
TEST_F(fast, filter)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LONGEST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 65535),
	};
	struct sock_fprog filter = { .len = ARRAY_SIZE(code), .filter = code };
	long before = proc_value("drop-filter");
	int fd = capture(DEVICE);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, setsockopt(self->x, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)));
	ok("filter: right sum", sum_up(self->x, self->y));
	ok("filter: there were trains", look(fd).trains_in > 0);
	ok("filter: it sees single packets", proc_value("drop-filter") == before);
	close(fd);
}

/* Return: counter @name becomes @want. Another process may still have to take the packets. */
static bool becomes(const char *name, long want)
{
	unsigned int ms = 0;

	while (proc_value(name) != want && ms++ < 2000)
		usleep(1000);
	return proc_value(name) == want;
}

/* The UDP address of @sock */
static struct sockaddr_in udp_address(int sock)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct sockaddr_canary name = { };
	socklen_t size = sizeof(name);

	getsockname(sock, (struct sockaddr *)&name, &size);
	memcpy(&to.sin_addr, (const char *)&name.scan_addr + 12, 4);
	to.sin_port = name.scan_port;
	return to;
}

/* Send @len bytes to the port of @sock as a train. */
static bool send_train(int sock, const void *data, size_t len)
{
	struct sockaddr_in to = udp_address(sock);
	int u = socket(AF_INET, SOCK_DGRAM, 0), segment = SEGMENT;
	bool sent;

	sent = !setsockopt(u, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) &&
	       sendto(u, data, len, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)len;
	close(u);
	return sent;
}

TEST_F(fast, forged)
{
	char packets[4 * SEGMENT + 10] = { 0 };
	uint32_t epoch = status(self->x).epoch;
	long mac, comm, shorter;
	unsigned int i;

	_Static_assert(sizeof(struct canary_hdr) == SEGMENT, "a packet is a header");
	for (i = 0; i < 4; i++)
		probe(packets + i * SEGMENT, pair_comm + (i == 2), epoch);
	mac = proc_value("drop-mac");
	comm = proc_value("drop-communicator");
	shorter = proc_value("drop-short");
	ASSERT_TRUE(send_train(self->x, packets, sizeof(packets)));
	ok("forged: each packet is looked at", becomes("drop-mac", mac + 3));
	ok("forged: one is for nobody", becomes("drop-communicator", comm + 1));
	ok("forged: the last one is too short", becomes("drop-short", shorter + 1));
	ok("forged: right sum", sum_up(self->x, self->y));
}

/* Without trains, the stack takes those of others apart. */
TEST_F(fast, none)
{
	char packets[3 * SEGMENT] = { 0 };
	long before = proc_value("drop-version");

	ASSERT_TRUE(set_train_max(1));
	ASSERT_TRUE(send_train(self->x, packets, sizeof(packets)));
	ok("none: each packet is looked at", becomes("drop-version", before + 3));
}

/* Two engines share a port. Packets for both, and one for nobody, are sent as a train. */
TEST_F(fast, shared)
{
	char packets[4 * SEGMENT] = { 0 };
	struct sockaddr_canary a = address(NEAR, 22615);
	int x = new_socket(), y = new_socket();
	long comm, empty;

	ASSERT_EQ(0, bind(x, (struct sockaddr *)&a, sizeof(a)));
	ASSERT_EQ(0, setsockopt(y, SOL_CANARY, CANARY_ENDPOINT, &x, sizeof(x)));
	ASSERT_EQ(0, set_comm(x, 31, 0, 3));
	ASSERT_EQ(0, set_comm(y, 32, 0, 3));
	nonblock(x, true);
	nonblock(y, true);
	ok_errno("shared: one connects", connect(x, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	ok_errno("shared: and the other", connect(y, (struct sockaddr *)&a, sizeof(a)),
		 EINPROGRESS);
	probe(packets, 31, 0);
	probe(packets + SEGMENT, 33, 0);
	probe(packets + 2 * SEGMENT, 32, 0);
	probe(packets + 3 * SEGMENT, 31, 0);
	comm = proc_value("drop-communicator");
	empty = proc_value("drop-members");
	ASSERT_TRUE(send_train(x, packets, sizeof(packets)));
	ok("shared: each of the others goes to its engine", becomes("drop-members", empty + 3));
	ok("shared: one packet is for nobody", becomes("drop-communicator", comm + 1));
	close(y);
	close(x);
}

TEST_HARNESS_MAIN
