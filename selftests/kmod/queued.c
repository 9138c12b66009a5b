// SPDX-License-Identifier: GPL-2.0
/*
 * An operation on the application's own memory has completed, and the application goes on writing
 * there. But packets of the operation are still under way, in the queue of a device or of a socket
 * on this machine. Their content has to match the checksum in their header, and must not change.
 *
 *	lo --(copies of all packets)--> later0 (netem, delay) --- later1, captured
 *	 `---- captured
 */
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "harness.h"
#include "pinned.h"

#define BYTES		(500 << 10)	/* more packets than lie in the pages of kmod/pages.c */
#define DELAY		"500ms"
#define MARK_PORT	9
#define ROOM		(32 << 20)	/* size of a capture */
#define OFFSET		(ETH_HLEN + 20 + 8)

/*
 * Capture all IPv4 packets that a device receives from now on. Return: -1 if that is not possible
 */
static int capture(const char *device)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP)), room = ROOM;

	at.sll_ifindex = if_nametoindex(device);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return -1;
	timeout(fd, SO_RCVTIMEO, PATIENCE);
	return fd;
}

/* Send a packet that comes after all others. */
static void mark(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(MARK_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
}

struct seen {
	unsigned int data, changed;
	bool all;
};

static bool is_changed(const struct canary_hdr *h)
{
	const uint32_t *v = (const uint32_t *)(h + 1);
	unsigned int i, n = ntohs(h->contribution.length) / 4;
	uint32_t sum = 0;

	for (i = 0; i < n; i++)
		sum += v[i];
	return sum != ntohl(h->contribution.sum);
}

/* Check the packets of a frame, which may be a train of @len bytes: data behind their headers. */
static void look_at(struct seen *s, const uint8_t *at, ssize_t len)
{
	const struct canary_hdr *h;
	ssize_t size;

	for (; len >= (ssize_t)sizeof(*h); len -= size, at += size) {
		h = (const struct canary_hdr *)at;
		if (h->type != CANARY_CONTRIBUTION && h->type != CANARY_RESULT)
			return;
		s->data++;
		s->changed += is_changed(h);
		size = sizeof(*h) + ntohs(h->contribution.length);
	}
}

/* Check what @fd has captured, up to the mark. */
static struct seen look(int fd)
{
	/* so that the header is aligned to 4 bytes */
	static uint8_t frame[65536] __attribute__((__aligned__(8)));
	struct seen s = { 0 };
	uint8_t *at = frame + 2;
	ssize_t n;

	while ((n = recv(fd, at, sizeof(frame) - 2, 0)) > 0 && !s.all) {
		s.all = at[OFFSET - 6] == 0 && at[OFFSET - 5] == MARK_PORT;
		look_at(&s, at + OFFSET, n - OFFSET);
	}
	return s;
}

static void report(struct __test_metadata *_metadata, const char *what, int fd, unsigned int least)
{
	struct seen s = look(fd);
	char text[128];

	snprintf(text, sizeof(text), "%s: what went out is what was to", what);
	TH_LOG("%s: %u packets with data, %u changed later", what, s.data, s.changed);
	ok(text, s.all && s.data >= least && !s.changed);
}

FIXTURE(queues) {
	int x, y;		/* two connected ranks */
	int lo, later;		/* captures: of a socket's queue, of a device's */
	long before;
};

FIXTURE_VARIANT(queues) {
	const char *name;
	bool in_place;		/* the result replaces the contribution */
};

FIXTURE_VARIANT_ADD(queues, apart) {
	.name = "apart",
	.in_place = false,
};

FIXTURE_VARIANT_ADD(queues, in_place) {
	.name = "in place",
	.in_place = true,
};

FIXTURE_SETUP(queues)
{
	set_up_net(_metadata);
	ASSERT_EQ(0, system("ip link add later0 mtu 9000 type veth peer name later1 mtu 9000"));
	ASSERT_EQ(0, system("ip link set later0 up && ip link set later1 up"));
	ASSERT_EQ(0, system("tc qdisc add dev later0 root netem delay " DELAY " limit 100000"));
	ASSERT_EQ(0, system("tc qdisc add dev lo clsact"));
	ASSERT_EQ(0, system("tc filter add dev lo egress matchall action mirred egress mirror "
			    "dev later0"));
	self->before = pinned();
	self->lo = capture("lo");
	self->later = capture("later1");
	ASSERT_LE(0, self->lo);
	ASSERT_LE(0, self->later);
	ASSERT_TRUE(pair(&self->x, &self->y));
}

FIXTURE_TEARDOWN(queues)
{
	unpair(self->x, self->y);
	close(self->lo);
	close(self->later);
	count_checks(_metadata);
}

/* Both ranks post, receive and write at once. Then the packets are checked. */
TEST_F(queues, written)
{
	int x = self->x, y = self->y, to = variant->in_place ? 0 : 2, i;
	char *mem[4], text[64];
	bool good = true;

	for (i = 0; i < 4; i++)
		mem[i] = pages(BYTES);
	fill((uint32_t *)mem[0], BYTES, 0);
	fill((uint32_t *)mem[1], BYTES, 1);
	good &= post(x, mem[0], mem[to], BYTES) == BYTES;
	good &= post(y, mem[1], mem[to + 1], BYTES) == BYTES;
	good &= ended(x) == BYTES;
	good &= is_sum((uint32_t *)mem[to], BYTES);
	memset(mem[0], 0x55, BYTES);
	memset(mem[2], 0x55, BYTES);
	good &= ended(y) == BYTES;
	memset(mem[1], 0x55, BYTES);
	memset(mem[3], 0x55, BYTES);
	snprintf(text, sizeof(text), "%s: summed", variant->name);
	ok(text, good);
	mark();
	/* a contribution and a result for each block */
	i = BYTES / (CANARY_ELEMENTS_MAX * 4);
	snprintf(text, sizeof(text), "%s, in a socket's queue", variant->name);
	report(_metadata, text, self->lo, 2 * i);
	snprintf(text, sizeof(text), "%s, in a device's queue", variant->name);
	report(_metadata, text, self->later, 2 * i);
}

/* An operation that fails releases the memory, too. */
TEST_F(queues, failed)
{
	char *from = pages(BYTES), *to = variant->in_place ? from : pages(BYTES);

	fill((uint32_t *)from, BYTES, 0);
	ok("failed: posted", post(self->x, from, to, BYTES) == BYTES);
	close(self->y);
	ok_errno("failed: the other rank left", ended(self->x), ECONNRESET);
	memset(from, 0x55, BYTES);
	memset(to, 0x55, BYTES);
	mark();
	report(_metadata, "failed", self->later, 1);
	close(self->x);
	drain_ports();
	ok("failed: all was given back", given_back(self->before));
}

TEST_HARNESS_MAIN
