// SPDX-License-Identifier: BSD-2-Clause
/* struct canary_params: defaults, parsing of values, members files, ranges */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib.h"
#include "userspace/common/address.h"
#include "userspace/common/parse.h"

#define MTU_MIN		576
#define MTU_MAX		9000
#define TIME_MAX_MS	3600000
#define SPIN_MAX_US	1000000
#define LINGER_DEFAULT_MS	60000

CANARY_EXPORT void canary_params_init_size(struct canary_params *params, size_t size)
{
	const struct canary_params defaults = {
		.size = size,
		.members = 1,
		.linger = LINGER_DEFAULT_MS,
		.spin = CANARY_SPIN_AUTO,
	};

	memset(params, 0, size);
	memcpy(params, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}

/* The caller may use an older canary.h with a smaller structure, so check before writing to it. */
int lib_params_size(const struct canary_params *params)
{
	if (params->size >= sizeof(*params))
		return 0;
	return lib_error(-EINVAL, "params: not initialised by canary_params_init(), or by that of an older canary.h (%zu bytes, not %zu)",
			 params->size, sizeof(*params));
}

/* Parse a number in [min, max], with one of @units. */
static int take_number(const char *name, const char *value, const struct parse_unit *units, u64 min,
		       u64 max, u64 *number)
{
	switch (parse_quantity(value, units, min, max, number)) {
	case PARSE_OK:
		return 0;
	case PARSE_JUNK:
		if (!units[0].name[0])
			return lib_error(-EINVAL, "%s: '%s' is not a number", name, value);
		return lib_error(-EINVAL, "%s: '%s' is not a number with %s or %s", name, value,
				 units[0].name, units[1].name);
	default:
		return lib_error(-ERANGE, "%s: %s is out of range, %llu%s to %llu%s", name, value,
				 (unsigned long long)min, units[0].name,
				 (unsigned long long)max, units[0].name);
	}
}

static int parse_address(const char *name, const char *value, struct canary_peer *peer)
{
	struct canary_peer parsed = { 0 };
	const char *text;
	u64 port;
	int err;

	if (!address_parse_port(value, &parsed.addr, &text))
		return lib_error(-EINVAL, "%s: '%s' is not an IPv4 address[:port]", name, value);
	if (text) {
		err = take_number(name, text, parse_counts, CANARY_PORT_BASE,
				   CANARY_PORT_BASE + CANARY_PORTS - 1, &port);
		if (err)
			return err;
		parsed.port = htons(port);
	}
	*peer = parsed;
	return 0;
}

static int take_word(const char *name, const char *value, const char *const words[], u32 *choice)
{
	int i = parse_word(value, words);
	char list[64];

	if (i < 0)
		return lib_error(-EINVAL, "%s: '%s' is none of %s", name, value,
				 parse_words_text(list, sizeof(list), words));
	*choice = i;
	return 0;
}

/* Parse an algorithm with a number. Return: 1 if @value is none */
static int parse_numbered(const char *value, u32 *algorithm)
{
	static const struct {
		const char	*prefix;
		const char	*name;
		u32		most;
		u32		algorithm;
	} all[] = {
		{ "static:", "algorithm: static trees", CANARY_TREES_MAX, CANARY_STATIC_TREES(0) },
		{ "tree:", "algorithm: blocks in a run", CANARY_RUN_MAX, CANARY_TREE_RUNS(0) },
	};
	u64 number;
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (strncmp(value, all[i].prefix, strlen(all[i].prefix)) != 0)
			continue;
		err = take_number(all[i].name, value + strlen(all[i].prefix), parse_counts, 1,
				  all[i].most, &number);
		if (err)
			return err;
		if (!cnr_algorithm_is(all[i].algorithm | number << 8))
			return lib_error(-ERANGE, "%s: %llu is not a power of two", all[i].name,
					 (unsigned long long)number);
		*algorithm = all[i].algorithm | number << 8;
		return 0;
	}
	return 1;
}

static int parse_algorithm(const char *value, u32 *algorithm)
{
	int err = parse_numbered(value, algorithm);
	u32 i;

	if (err <= 0)
		return err;
	for (i = 0; i < CANARY_ALG_STATIC; i++) {
		if (strcmp(value, cnr_algorithm_name(i)) == 0) {
			*algorithm = i;
			return 0;
		}
	}
	return lib_error(-EINVAL, "algorithm: '%s' is none of auto, tree, tree:RUN, ring, static:TREES", value);
}

/* Parse ADDRESS[/LENGTH]. */
static int parse_prefix(const char *text, struct canary_prefix *prefix)
{
	u32 length;

	memset(prefix, 0, sizeof(*prefix));
	switch (address_parse_prefix(text, &prefix->addr, &length)) {
	case ADDRESS_PREFIX_JUNK:
		return lib_error(-EINVAL, "aggregates: '%s' is not an IPv4 address[/length]", text);
	case ADDRESS_PREFIX_LENGTH:
		return lib_error(-EINVAL, "aggregates: '%s': the length is no number from 0 to %u",
				 text, canary_addr_is_ip4(&prefix->addr) ? CANARY_ADDR_IP4_BITS :
				 CANARY_ADDR_BITS);
	case ADDRESS_PREFIX_ONES:
		return lib_error(-EINVAL, "aggregates: '%s': there are ones behind the prefix",
				 text);
	default:
		prefix->length = length;
		return 0;
	}
}

static int parse_aggregates(const char *value, struct canary_params *params)
{
	struct canary_prefix list[CANARY_AGGREGATES_MAX];
	char *text, *word, *save;
	u32 n = 0;
	int err = 0;

	if (strcmp(value, "any") == 0) {
		params->aggregates = 0;
		return 0;
	}
	text = strdup(value);
	if (!text)
		return lib_error(-ENOMEM, "out of memory");
	for (word = strtok_r(text, ",", &save); word && !err; word = strtok_r(NULL, ",", &save)) {
		if (n == CANARY_AGGREGATES_MAX)
			err = lib_error(-ERANGE, "aggregates: more than %d", CANARY_AGGREGATES_MAX);
		else
			err = parse_prefix(word, &list[n++]);
	}
	free(text);
	if (!err && !n)
		err = lib_error(-EINVAL, "aggregates: '%s': nothing is in it", value);
	if (!err) {
		memcpy(params->aggregate, list, n * sizeof(*list));
		params->aggregates = n;
	}
	return err;
}

static int parse_spin(const char *value, u32 *spin)
{
	u64 us;
	int err;

	if (strcmp(value, "auto") == 0) {
		*spin = CANARY_SPIN_AUTO;
		return 0;
	}
	err = take_number("spin", value, PARSE_US, 0, SPIN_MAX_US, &us);
	if (!err)
		*spin = us;
	return err;
}

static const char *const engine_words[] = { "auto", "kernel", "user", NULL };
static const char *const zerocopy_words[] = { "auto", "on", "off", NULL };

struct number_param {
	const char *name;
	const struct parse_unit *units;
	u64 min, max;
	size_t offset, size;
};

#define NUMBER(text, field, units, min, max) \
	{ text, units, min, max, offsetof(struct canary_params, field), \
	  sizeof(((struct canary_params *)0)->field) }

static const struct number_param numbers[] = {
	NUMBER("comm", comm, parse_counts, 0, UINT32_MAX),
	NUMBER("rank", rank, parse_counts, 0, CANARY_MEMBERS_MAX - 1),
	NUMBER("members", members, parse_counts, 1, CANARY_MEMBERS_MAX),
	NUMBER("window", window, parse_counts, 1, CNR_WINDOW_MAX),
	NUMBER("mtu", mtu, parse_bytes, MTU_MIN, MTU_MAX),
	NUMBER("dead-after", dead_after, PARSE_MS, 100, TIME_MAX_MS),
	NUMBER("linger", linger, PARSE_MS, 0, TIME_MAX_MS),
	NUMBER("rto-min", rto_min, PARSE_US, 100, 1000000),
	NUMBER("max-vector", max_vector, parse_bytes, 4, UINT32_MAX),
};

static int set_number(struct canary_params *params, const struct number_param *p,
		      const char *value)
{
	void *field = (char *)params + p->offset;
	u64 number;
	u32 n32;
	u16 n16;
	int err;

	err = take_number(p->name, value, p->units, p->min, p->max, &number);
	if (err)
		return err;
	if (strcmp(p->name, "window") == 0 && (number & (number - 1)))
		return lib_error(-ERANGE, "window: %s is not a power of two, 1 to %u", value,
				 CNR_WINDOW_MAX);
	n32 = number;
	n16 = number;
	memcpy(field, p->size == sizeof(n16) ? (void *)&n16 : (void *)&n32, p->size);
	return 0;
}

CANARY_EXPORT int canary_params_set(struct canary_params *params, const char *name,
				    const char *value)
{
	int err = lib_params_size(params);
	u32 i;

	if (err)
		return err;
	if (strcmp(name, "root") == 0)
		return parse_address(name, value, &params->root);
	if (strcmp(name, "bind") == 0)
		return parse_address(name, value, &params->bind);
	if (strcmp(name, "key") == 0)
		return lib_key_parse(value, params->key);
	if (strcmp(name, "key-file") == 0)
		return lib_key_file(params, value);
	if (strcmp(name, "engine") == 0)
		return take_word(name, value, engine_words, &params->engine);
	if (strcmp(name, "algorithm") == 0)
		return parse_algorithm(value, &params->algorithm);
	if (strcmp(name, "zerocopy") == 0)
		return take_word(name, value, zerocopy_words, &params->zerocopy);
	if (strcmp(name, "aggregates") == 0)
		return parse_aggregates(value, params);
	if (strcmp(name, "spin") == 0)
		return parse_spin(value, &params->spin);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (strcmp(name, numbers[i].name) == 0)
			return set_number(params, &numbers[i], value);
	return lib_error(-ENOENT, "there is no parameter '%s'", name);
}

static int check_range(const char *name, u64 value, u64 min, u64 max)
{
	if (value >= min && value <= max)
		return 0;
	return lib_error(-ERANGE, "%s: %llu is out of range, %llu to %llu", name,
			 (unsigned long long)value, (unsigned long long)min,
			 (unsigned long long)max);
}

static bool port_ok(const struct canary_peer *peer)
{
	return !peer->port || canary_port_ok(peer->port);
}

/* Can UDP sockets of IPv4 reach the address? Everything else is refused here and nowhere else. */
static bool family_ok(const struct canary_peer *peer)
{
	return canary_addr_is_ip4(&peer->addr) || canary_addr_is_any(&peer->addr);
}

static bool is_any(const struct canary_peer *peer)
{
	return canary_addr_is_any(&peer->addr);
}

/*
 * Check addresses of a member that will be formed from a table. The table will say where rank 0 is.
 */
static int check_formed(struct canary_params *p)
{
	if (!family_ok(&p->bind))
		return lib_error(-EAFNOSUPPORT, "%s: IPv6 is not supported yet",
				 lib_peer(&p->bind));
	if (!port_ok(&p->bind))
		return lib_error(-ERANGE, "port: has to be in %u to %u", CANARY_PORT_BASE,
				 CANARY_PORT_BASE + CANARY_PORTS - 1);
	if (is_any(&p->bind) && !p->share)
		return lib_error(-EINVAL, "bind: who is formed from a table needs an address");
	memset(&p->root, 0, sizeof(p->root));
	if (!p->mtu)
		p->mtu = LIB_TABLE_MTU;
	return 0;
}

/* Check addresses: rank 0 has the address of root, and nobody else does. */
static int check_addresses(struct canary_params *p)
{
	if (p->table)
		return check_formed(p);
	if (!family_ok(&p->root) || !family_ok(&p->bind))
		return lib_error(-EAFNOSUPPORT, "%s: IPv6 is not supported yet",
				 lib_peer(family_ok(&p->root) ? &p->bind : &p->root));
	if (!port_ok(&p->root) || !port_ok(&p->bind))
		return lib_error(-ERANGE, "port: has to be in %u to %u", CANARY_PORT_BASE,
				 CANARY_PORT_BASE + CANARY_PORTS - 1);
	if (!p->root.port)
		p->root.port = htons(CANARY_PORT_BASE);
	if (p->rank == 0) {
		if (is_any(&p->root))
			p->root.addr = p->bind.addr;
		if (is_any(&p->root) && p->members == 1)
			p->root.addr = canary_addr_of_ip4(htonl(INADDR_LOOPBACK));
		if (is_any(&p->bind))
			p->bind.addr = p->root.addr;
		if (!p->bind.port)
			p->bind.port = p->root.port;
		if (!canary_peer_equal(&p->bind, &p->root))
			return lib_error(-EINVAL, "bind: rank 0 has to be bound to root (%s)",
					 lib_peer(&p->root));
	} else if (canary_peer_equal(&p->bind, &p->root)) {
		return lib_error(-EINVAL, "bind: %s is rank 0's", lib_peer(&p->bind));
	}
	if (is_any(&p->root))
		return lib_error(-EINVAL, "root: no address of rank 0 was given");
	return 0;
}

int lib_params_check(const struct canary_params *params, struct canary_params *p)
{
	int err = lib_params_size(params);

	if (err)
		return err;
	*p = *params;
	err = check_range("members", p->members, 1, CANARY_MEMBERS_MAX);
	if (!err)
		err = check_range("rank", p->rank, 0, p->members - 1);
	if (!err)
		err = check_range("engine", p->engine, CANARY_ENGINE_AUTO, CANARY_ENGINE_USER);
	if (!err)
		err = cnr_algorithm_is(p->algorithm) ? 0 :
		      lib_error(-ERANGE, "algorithm: there is no %#x", p->algorithm);
	if (!err)
		err = check_range("zerocopy", p->zerocopy, CANARY_ZEROCOPY_AUTO, CANARY_ZEROCOPY_OFF);
	if (!err && p->window)
		err = check_range("window", p->window, 1, CNR_WINDOW_MAX);
	if (!err && p->mtu)
		err = check_range("mtu", p->mtu, MTU_MIN, MTU_MAX);
	if (!err && p->dead_after)
		err = check_range("dead-after (ms)", p->dead_after, 100, TIME_MAX_MS);
	if (!err)
		err = check_range("linger (ms)", p->linger, 0, TIME_MAX_MS);
	if (!err && p->rto_min)
		err = check_range("rto-min (us)", p->rto_min, 100, 1000000);
	if (!err && p->spin != CANARY_SPIN_AUTO)
		err = check_range("spin (us)", p->spin, 0, SPIN_MAX_US);
	if (!err)
		err = check_range("aggregates", p->aggregates, 0, CANARY_AGGREGATES_MAX);
	if (!err && (p->window & (p->window - 1)))
		err = lib_error(-ERANGE, "window: %u is not a power of two", p->window);
	return err ?: check_addresses(p);
}

/* Addresses of the ranks that were read from a members file so far */
struct members {
	struct canary_peer	*peer;
	u32			n;
};

static int members_line(struct members *m, const char *path, unsigned int number, char *line)
{
	char *save, *rank_text, *addr_text;
	struct canary_peer peer;
	u64 rank;

	line[strcspn(line, "#\n")] = 0;
	rank_text = strtok_r(line, " \t\r", &save);
	if (!rank_text)
		return 0;
	addr_text = strtok_r(NULL, " \t\r", &save);
	if (!addr_text || strtok_r(NULL, " \t\r", &save))
		return lib_error(-EINVAL, "%s:%u: not of the form RANK ADDRESS[:PORT]", path,
				 number);
	if (take_number("rank", rank_text, parse_counts, 0, CANARY_MEMBERS_MAX - 1, &rank) ||
	    parse_address("address", addr_text, &peer))
		return lib_error(-EINVAL, "%s:%u: not of the form RANK ADDRESS[:PORT]: '%s %s'",
				 path, number, rank_text, addr_text);
	if (!peer.port)
		peer.port = htons(CANARY_PORT_BASE);
	if (m->peer[rank].port)
		return lib_error(-EINVAL, "%s:%u: rank %u was there before", path, number,
				 (u32)rank);
	m->peer[rank] = peer;
	m->n = max_t(u32, m->n, rank + 1);
	return 0;
}

static int peer_compare(const void *a, const void *b)
{
	return canary_peer_compare(a, b);
}

/* Check that all ranks are there, each at a different place. This changes their order. */
static int members_check(struct members *m, const char *path)
{
	u32 i;

	for (i = 0; i < m->n; i++)
		if (!m->peer[i].port)
			return lib_error(-EINVAL, "%s: rank %u is missing", path, i);
	qsort(m->peer, m->n, sizeof(*m->peer), peer_compare);
	for (i = 1; i < m->n; i++)
		if (peer_compare(&m->peer[i - 1], &m->peer[i]) == 0)
			return lib_error(-EINVAL, "%s: two ranks have the address %s", path,
					 lib_peer(&m->peer[i]));
	return 0;
}

static int members_lines(struct members *m, const char *path, FILE *file)
{
	unsigned int number = 0;
	char line[256];
	int err = 0;

	while (!err && fgets(line, sizeof(line), file)) {
		number++;
		if (!strchr(line, '\n') && !feof(file))
			err = lib_error(-EINVAL, "%s:%u: line too long", path, number);
		else
			err = members_line(m, path, number, line);
	}
	if (!err && ferror(file))
		err = lib_error(-EIO, "%s: %s", path, strerror(errno));
	return err;
}

/*
 * Read the file, and copy the first @max ranks to @peer. Return: number of ranks, or a negative
 * errno
 */
static int members_read(const char *path, struct canary_peer *peer, u32 max)
{
	struct members m = { 0 };
	FILE *file;
	int err;

	file = fopen(path, "re");
	if (!file)
		return lib_error(-errno, "%s: %s", path, strerror(errno));
	m.peer = calloc(CANARY_MEMBERS_MAX, sizeof(*m.peer));
	if (m.peer)
		err = members_lines(&m, path, file);
	else
		err = lib_error(-ENOMEM, "out of memory");
	if (!err) {
		memcpy(peer, m.peer, min_t(u32, m.n, max) * sizeof(*peer));
		err = members_check(&m, path);
	}
	free(m.peer);
	fclose(file);
	return err ? err : (int)m.n;
}

CANARY_EXPORT int canary_table_members(const char *path, struct canary_peer *peer, unsigned int max)
{
	return members_read(path, peer, max);
}

CANARY_EXPORT int canary_params_members(struct canary_params *params, const char *path)
{
	struct canary_peer *peer;
	int n = lib_params_size(params);

	if (n)
		return n;
	peer = calloc(params->rank + 1, sizeof(*peer));
	if (!peer)
		return lib_error(-ENOMEM, "out of memory");
	n = members_read(path, peer, params->rank + 1);
	if (n >= 0 && params->rank >= n)
		n = lib_error(-EINVAL, "%s: rank %u is not listed (%d ranks are)", path,
			      params->rank, n);
	if (n >= 0) {
		params->members = n;
		params->root = peer[0];
		params->bind = peer[params->rank];
	}
	free(peer);
	return n < 0 ? n : 0;
}
