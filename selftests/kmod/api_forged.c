// SPDX-License-Identifier: GPL-2.0
/*
 * Forged aggregates from a UDP socket of a stranger. The kernel has to stay idle, and the
 * communicator alive.
 */
#include "harness.h"
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

#define MEMBERS		5
#define BLOCKS		10	/* of each operation */
#define ELEMENTS	(BLOCKS * CANARY_ELEMENTS_MAX)
#define WATCHED		2	/* seconds */

static int member[MEMBERS];

static bool connect_members(void)
{
	static uint32_t id = 2000;
	unsigned int i;

	id++;
	for (i = 0; i < MEMBERS; i++) {
		member[i] = new_socket();
		if (set_comm(member[i], id, i, MEMBERS))
			return false;
		set_u32(member[i], CANARY_ALGORITHM, CANARY_ALG_TREE);
		nonblock(member[i], true);
		connect_to(member[i], PAIR_PORT);
	}
	for (i = 0; i < MEMBERS; i++)
		if (!(wait_events(member[i], POLLOUT) & POLLOUT))
			return false;
	return true;
}

static void close_members(void)
{
	unsigned int i;

	for (i = 0; i < MEMBERS; i++)
		close(member[i]);
	drain_ports();
}

static bool post(unsigned int from, unsigned int to)
{
	static uint32_t data[ELEMENTS];
	unsigned int i, k;

	for (i = from; i < to; i++) {
		for (k = 0; k < ELEMENTS; k++)
			data[k] = i + k;
		if (send(member[i], data, sizeof(data), 0) != sizeof(data))
			return false;
	}
	return true;
}

/* How many members get the right sum within some time? */
static unsigned int right(void)
{
	static uint32_t data[ELEMENTS];
	unsigned int i, k, n = 0;

	for (i = 0; i < MEMBERS; i++) {
		wait_any(member[i], POLLIN, PATIENCE);
		if (recv(member[i], data, sizeof(data), MSG_DONTWAIT) != sizeof(data))
			continue;
		for (k = 0; k < ELEMENTS && data[k] == MEMBERS * k + 10; k++)
			;
		n += k == ELEMENTS;
	}
	return n;
}

/* Capture the header of a contribution of rank 0, as an attacker on the path can. */
static bool overhear(int fd, struct canary_hdr *h)
{
	struct {
		struct iphdr	ip;
		struct udphdr	udp;
		struct canary_hdr h;
	} __attribute__((__packed__)) packet;

	while (wait_any(fd, POLLIN, PATIENCE) & POLLIN) {
		if (recv(fd, &packet, sizeof(packet), 0) != sizeof(packet) ||
		    packet.ip.protocol != IPPROTO_UDP || packet.h.type != CANARY_CONTRIBUTION)
			continue;
		memcpy(h, &packet.h, sizeof(*h));
		return true;
	}
	return false;
}

/* Idle time of all processors in hundredths; -1: unknown */
static int idle_from(unsigned long long before[2])
{
	unsigned long long v[8] = { 0 }, idle, all = 0;
	FILE *f = fopen("/proc/stat", "r");
	int i, n, share;

	if (!f)
		return -1;
	n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]);
	fclose(f);
	if (n != 8)
		return -1;
	for (i = 0; i < 8; i++)
		all += v[i];
	idle = v[3] + v[4];
	share = all > before[1] ? 100 * (idle - before[0]) / (all - before[1]) : 0;
	before[0] = idle;
	before[1] = all;
	return share;
}

/* Send to the leader of the first block that rank 0 leads. @counts ends with 0. */
static void send_forged(const struct canary_hdr *seen, const unsigned short *counts)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(PAIR_PORT),
	};
	char packet[sizeof(*seen) + CANARY_PAYLOAD_MAX] = { 0 };
	struct canary_hdr *h = (struct canary_hdr *)packet;
	uint32_t block = ntohl(seen->block);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*h = *seen;
	h->block = htonl((block + MEMBERS - 1) / MEMBERS * MEMBERS);
	h->rank = 0;
	h->contribution.sum = 0;
	h->mac = 0;
	for (; *counts; counts++) {
		h->contribution.count = htons(*counts);
		sendto(fd, packet, sizeof(*h) + ntohs(h->contribution.length), 0,
		       (struct sockaddr *)&to, sizeof(to));
	}
	close(fd);
}

FIXTURE(forged) {
	int ear;	/* captures all packets of this namespace */
};

FIXTURE_VARIANT(forged) {
	const char *what;
	unsigned short counts[3];	/* of aggregates; 0 ends them */
};

FIXTURE_VARIANT_ADD(forged, whole) {
	.what = "a whole aggregate",
	.counts = { MEMBERS - 1 },
};

FIXTURE_VARIANT_ADD(forged, halves) {
	.what = "two halves",
	.counts = { 2, 2 },
};

FIXTURE_SETUP(forged)
{
	set_up_net(_metadata);
	self->ear = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	ASSERT_LE(0, self->ear);
	ASSERT_TRUE(connect_members());
}

FIXTURE_TEARDOWN(forged)
{
	close(self->ear);
	close_members();
	count_checks(_metadata);
}

TEST_F(forged, aggregate)
{
	unsigned long long times[2] = { 0 };
	const char *what = variant->what;
	struct canary_hdr seen;
	char text[128];
	double began;
	long probes;
	int share;

	ASSERT_TRUE(post(0, 1));
	ok("forged: rank 0 contributes", overhear(self->ear, &seen));
	send_forged(&seen, variant->counts);
	ASSERT_LE(0, idle_from(times));
	began = now();
	probes = proc_value("probes-out");
	sleep(WATCHED);
	probes = proc_value("probes-out") - probes;
	share = idle_from(times);
	/* A round of PROBEs takes a quarter of a second if nothing comes. */
	snprintf(text, sizeof(text), "forged: %s: %ld PROBEs in %.1f s", what, probes,
		 now() - began);
	ok(text, probes < 8 * (MEMBERS - 1) * (now() - began) + 10 * (MEMBERS - 1));
	snprintf(text, sizeof(text), "forged: %s: %d %% idle", what, share);
	ok(text, share >= 25);
	ASSERT_TRUE(post(1, MEMBERS));
	snprintf(text, sizeof(text), "forged: %s: all sums are right", what);
	ok(text, right() == MEMBERS);
}

/* A rule's list of aggregates applies to who connects. Other aggregates are not taken. */
TEST_F(net, rule)
{
	int ear = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	struct canary_hdr seen;
	double until;
	long before;

	ok("forged: a rule with aggregates",
	   tool("comm allow 0-4294967295 --aggregates 10.255.0.0/16"));
	before = proc_value("drop-aggregate");
	until = now() + PATIENCE / 1000;
	ASSERT_TRUE(connect_members());
	ASSERT_TRUE(post(0, 1));
	ok("forged: rank 0 contributes", overhear(ear, &seen));
	send_forged(&seen, (unsigned short[]){ 2, 0 });
	while (proc_value("drop-aggregate") == before && now() < until)
		usleep(10000);
	close(ear);
	close_members();
	ok("forged: by the rule, nothing but the list is taken",
	   proc_value("drop-aggregate") - before == 1);
	ok("forged: the rule goes", tool("comm revoke 0-4294967295"));
}

TEST_HARNESS_MAIN
