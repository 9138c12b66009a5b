// SPDX-License-Identifier: BSD-2-Clause
/* Parameters from text, their ranges, and members files */
#include <arpa/inet.h>
#include <canary.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod/core/platform.h"
#include "selftests/tap.h"

static struct canary_addr ip4(const char *text)
{
	return canary_addr_of_ip4(inet_addr(text));
}

static bool is(const struct canary_addr *addr, const char *text)
{
	struct canary_addr want = ip4(text);

	return canary_addr_equal(addr, &want);
}

static const struct {
	const char *name, *value;
	int err;
} settings[] = {
	{ "comm", "0", 0 },
	{ "comm", "4294967295", 0 },
	{ "comm", "0xffffffff", 0 },
	{ "comm", "4294967296", -ERANGE },
	{ "comm", "-1", -EINVAL },
	{ "comm", "", -EINVAL },
	{ "comm", " 1", -EINVAL },
	{ "comm", "1x", -EINVAL },
	{ "comm", "99999999999999999999999", -ERANGE },
	{ "rank", "65534", 0 },
	{ "rank", "65535", -ERANGE },
	{ "members", "0", -ERANGE },
	{ "members", "65535", 0 },
	{ "members", "65536", -ERANGE },
	{ "window", "1024", 0 },
	{ "window", "2048", -ERANGE },
	{ "window", "0", -ERANGE },
	{ "window", "48", -ERANGE },
	{ "mtu", "576", 0 },
	{ "mtu", "575", -ERANGE },
	{ "mtu", "4K", 0 },
	{ "mtu", "9K", -ERANGE },
	{ "mtu", "9001", -ERANGE },
	{ "dead-after", "5s", 0 },
	{ "dead-after", "5", -EINVAL },
	{ "dead-after", "99ms", -ERANGE },
	{ "dead-after", "3601s", -ERANGE },
	{ "linger", "0ms", 0 },
	{ "linger", "1h", -EINVAL },
	{ "spin", "0us", 0 },
	{ "spin", "1s", 0 },
	{ "spin", "auto", 0 },
	{ "spin", "Auto", -EINVAL },
	{ "spin", "1001ms", -ERANGE },
	{ "spin", "20", -EINVAL },
	{ "rto-min", "100us", 0 },
	{ "rto-min", "99us", -ERANGE },
	{ "rto-min", "1s", 0 },
	{ "rto-min", "2s", -ERANGE },
	{ "max-vector", "16M", 0 },
	{ "max-vector", "5G", -ERANGE },
	{ "engine", "user", 0 },
	{ "engine", "User", -EINVAL },
	{ "algorithm", "tree", 0 },
	{ "algorithm", "tree:1", 0 },
	{ "algorithm", "tree:16", 0 },
	{ "algorithm", "tree:0", -ERANGE },
	{ "algorithm", "tree:12", -ERANGE },
	{ "algorithm", "tree:32", -ERANGE },
	{ "algorithm", "tree:", -EINVAL },
	{ "algorithm", "static:4", 0 },
	{ "algorithm", "static:0", -ERANGE },
	{ "algorithm", "static:33", -ERANGE },
	{ "algorithm", "static:", -EINVAL },
	{ "algorithm", "static", -EINVAL },
	{ "algorithm", "ring", 0 },
	{ "algorithm", "star", -EINVAL },
	{ "algorithm", "", -EINVAL },
	{ "root", "10.0.0.1", 0 },
	{ "root", "10.0.0.1:22663", 0 },
	{ "root", "10.0.0.1:22664", -ERANGE },
	{ "root", "10.0.0.1:22599", -ERANGE },
	{ "root", "10.0.0.1:", -EINVAL },
	{ "root", "10.0.0", -EINVAL },
	{ "root", "localhost", -EINVAL },
	{ "root", "10.0.0.1 ", -EINVAL },
	{ "bind", "255.255.255.255:22600", 0 },
	{ "bind", "1234.0.0.1", -EINVAL },
	{ "bind", "1111111111111111111111111", -EINVAL },
	{ "key", "000102030405060708090a0b0c0d0e0F", 0 },
	{ "key", "000102030405060708090a0b0c0d0e0", -EINVAL },
	{ "key", "000102030405060708090a0b0c0d0e0f0", -EINVAL },
	{ "key", "g00102030405060708090a0b0c0d0e0f", -EINVAL },
	{ "aggregates", "10.0.0.0/8", 0 },
	{ "aggregates", "10.255.0.1,10.254.0.0/16", 0 },
	{ "aggregates", "10.255.0.1/16", -EINVAL },
	{ "aggregates", "10.255.0.0/33", -EINVAL },
	{ "aggregates", "10.255.0/16", -EINVAL },
	{ "aggregates", "", -EINVAL },
	{ "aggregates", "0/0", -EINVAL },
	{ "aggregates", "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
	  "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1", -ERANGE },
	{ "colour", "red", -ENOENT },
};

static void test_settings(void)
{
	struct canary_params before, p;
	size_t i;
	int err;

	canary_params_init(&p);
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		before = p;
		err = canary_params_set(&p, settings[i].name, settings[i].value);
		tap(err == settings[i].err && (!err || strlen(canary_errmsg()) > 10) &&
		    (!err || !memcmp(&before, &p, sizeof(p))), "%s '%s': %d%s%s",
		    settings[i].name, settings[i].value, err, err ? ", " : "",
		    err ? canary_errmsg() : "");
	}
	tap(p.comm == 0xffffffff && p.rank == 65534 && p.members == 65535 && p.window == 1024 &&
	    p.mtu == 4096 && p.dead_after == 5000 && p.linger == 0 && p.rto_min == 1000000 &&
	    p.max_vector == 16 << 20 && p.engine == CANARY_ENGINE_USER && p.key[15] == 15 &&
	    p.algorithm == CANARY_ALG_RING && p.aggregates == 2 && p.aggregate[0].length == 128 &&
	    is(&p.aggregate[1].addr, "10.254.0.0") && p.aggregate[1].length == 96 + 16 &&
	    is(&p.root.addr, "10.0.0.1") && p.root.port == htons(22663) &&
	    p.bind.port == htons(22600), "all values arrived");
}

static const struct {
	const char *text, *what;
	int err;
} files[] = {
	{ "0 10.0.0.1\n1 10.0.0.2:22601\n", "two ranks", 0 },
	{ "# comment\n\n 1\t10.0.0.2:22601 # that is me\r\n0 10.0.0.1", "comments, any order", 0 },
	{ "", "empty", -EINVAL },
	{ "0 10.0.0.1\n", "own rank is not there", -EINVAL },
	{ "1 10.0.0.1\n2 10.0.0.2\n", "a gap", -EINVAL },
	{ "0 10.0.0.1\n1 10.0.0.2\n1 10.0.0.3\n", "a rank twice", -EINVAL },
	{ "0 10.0.0.1\n1 10.0.0.1\n", "an address twice", -EINVAL },
	{ "0 10.0.0.1\n1 10.0.0.2 x\n", "three words", -EINVAL },
	{ "0 10.0.0.1\n1\n", "one word", -EINVAL },
	{ "0 10.0.0.1\n65535 10.0.0.2\n", "a rank out of range", -EINVAL },
	{ "0 10.0.0.1\n1 host\n", "no address", -EINVAL },
};

static void test_files(void)
{
	char path[] = "/tmp/cny-params-XXXXXX";
	int fd = mkstemp(path), err;
	struct canary_params p;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (ftruncate(fd, 0) || pwrite(fd, files[i].text, strlen(files[i].text), 0) < 0)
			perror(path);
		canary_params_init(&p);
		p.rank = 1;
		err = canary_params_members(&p, path);
		tap(err == files[i].err, "members file, %s: %d%s%s", files[i].what, err,
		    err ? ", " : "", err ? canary_errmsg() : "");
		if (!err)
			tap(p.members == 2 && is(&p.root.addr, "10.0.0.1") &&
			    p.root.port == htons(22600) &&
			    is(&p.bind.addr, "10.0.0.2") &&
			    p.bind.port == htons(22601), "its content arrived");
	}
	unlink(path);
	close(fd);
	tap(canary_params_members(&p, path) == -ENOENT, "no such file: %s", canary_errmsg());
}

static int open_with(void (*change)(struct canary_params *p))
{
	struct canary_params p;
	struct canary *c = (void *)1;
	int err;

	canary_params_init(&p);
	p.engine = CANARY_ENGINE_USER;
	p.members = 3;
	p.rank = 1;
	p.root.addr = ip4("127.0.0.1");
	change(&p);
	err = canary_open(&p, &c);
	if (!err)
		canary_close(c);
	else if (c)
		return 1;
	return err;
}

static void no_size(struct canary_params *p) { p->size = 0; }
static void no_members(struct canary_params *p) { p->members = 0; }
static void far_rank(struct canary_params *p) { p->rank = 3; }
static void no_root(struct canary_params *p) { p->root.addr = ip4("0.0.0.0"); }
static void far_family(struct canary_params *p)
{
	if (canary_params_set(p, "root", "[2001:db8::1]:22601") || p->root.port != htons(22601))
		abort();
}

static void odd_window(struct canary_params *p) { p->window = 3; }
static void odd_mtu(struct canary_params *p) { p->mtu = 100; }
static void odd_engine(struct canary_params *p) { p->engine = 3; }
static void odd_port(struct canary_params *p) { p->root.port = htons(80); }
static void foreign(struct canary_params *p) { p->bind.addr = ip4("192.0.2.1"); }
static void is_root(struct canary_params *p)
{
	p->bind = p->root;
	p->bind.port = htons(CANARY_PORT_BASE);
}

static void root_elsewhere(struct canary_params *p)
{
	p->rank = 0;
	p->bind.addr = ip4("127.0.0.2");
}

static void test_open(void)
{
	static const struct {
		void (*change)(struct canary_params *p);
		const char *what;
		int err;
	} cases[] = {
		{ no_size, "not initialised", -EINVAL },
		{ no_members, "no members", -ERANGE },
		{ far_rank, "rank above members", -ERANGE },
		{ no_root, "no root", -EINVAL },
		{ far_family, "root of IPv6", -EAFNOSUPPORT },
		{ odd_window, "window no power of two", -ERANGE },
		{ odd_mtu, "mtu too small", -ERANGE },
		{ odd_engine, "unknown engine", -ERANGE },
		{ odd_port, "port out of range", -ERANGE },
		{ foreign, "address of another machine", -EADDRNOTAVAIL },
		{ is_root, "rank 1 at rank 0's address", -EINVAL },
		{ root_elsewhere, "rank 0 not at root", -EINVAL },
	};
	size_t i;
	int err;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err = open_with(cases[i].change);
		tap(err == cases[i].err, "open: %s: %d, %s", cases[i].what, err, canary_errmsg());
	}
}

/* A caller with a shorter struct gets no more than that. */
static void test_size(void)
{
	const size_t old = offsetof(struct canary_params, aggregates);
	struct canary_params p;
	size_t i, kept = 0;

	memset(&p, 0xa5, sizeof(p));
	canary_params_init_size(&p, old);
	for (i = old; i < sizeof(p); i++)
		kept += ((unsigned char *)&p)[i] == 0xa5;
	tap(kept == sizeof(p) - old && p.size == old && p.members == 1,
	    "size: no more is written than the caller's struct has");
	tap(canary_params_set(&p, "aggregates", "10.0.0.1") == -EINVAL &&
	    p.aggregates == 0xa5a5a5a5, "size: nor by canary_params_set(): %s", canary_errmsg());
}

int main(void)
{
	test_size();
	test_settings();
	test_files();
	test_open();
	return tap_done("user/params");
}
