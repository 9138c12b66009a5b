// SPDX-License-Identifier: BSD-2-Clause
/*
 * canary fault: seeded faults on a device, injected by the tc program of bpf/fault. All that
 * remains when the command ends are the filter, its maps and, if packets have to wait, the delay
 * line.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/fault/fault.h"
#include "fault.skel.h"
#include "cmds.h"
#include "fault_line.h"
#include "userspace/common/complain.h"
#include "userspace/common/json.h"
#include "userspace/common/option.h"

#define HOLD_DEFAULT_NS 1000000ULL
#define WAIT_MIN_NS 10000ULL
#define WAIT_MAX_NS 10000000000ULL

/* Options of `add` that have no member in struct fault_config */
static const char *const dirs[] = { "egress", "ingress", NULL };

#define AT(member)	OPTION_AT(struct fault_config, member)
#define SHARE(member)	AT(member), .units = parse_shares, .max = FAULT_PPM

static const struct option_row add_rows[] = {
	{ OPTION("seed", 0, "N", "the same one gives the same faults to the same packets (0)"),
	  AT(seed), .units = parse_counts, .max = UINT64_MAX },
	{ OPTION("only-canary", 0, NULL, "leave other traffic alone"), AT(only_canary) },
	{ OPTION("drop", 0, "P%", "of the packets, {range} (0%)"), SHARE(drop) },
	{ OPTION("duplicate", 0, "P%", "of the packets, {range} (0%)"), SHARE(duplicate) },
	{ OPTION("corrupt", 0, "P%", "of the packets, {range} (0%)"), SHARE(corrupt) },
	{ OPTION("reorder", 0, "P%", "of the packets, {range} (0%)"), SHARE(reorder) },
	{ OPTION("burst", 0, "N", "packets that are dropped in a row, {range} (1)"),
	  AT(burst), .units = parse_counts, .max = FAULT_BURST_MAX },
	{ OPTION("delay", 0, "TIME[~JITTER]", "{range}, each packet within JITTER of it"),
	  .units = PARSE_NS, .min = WAIT_MIN_NS, .max = WAIT_MAX_NS },
	{ OPTION("hold", 0, "TIME", "for which a reordered packet is held back, {range} (1ms)"),
	  .units = PARSE_NS, .min = WAIT_MIN_NS, .max = WAIT_MAX_NS },
};

static const struct option_row dir_row[] = {
	{ OPTION("dir", 0, "ingress|egress",
		 "faults of what comes in or goes out ({default}; del: both)"),
	  AT(ingress), .words = dirs },
};

static const struct option_row json_row[] = {
	{ OPTION("json", 'j', NULL, "show: as JSON"), .size = sizeof(bool) },
};

static int usage(FILE *to)
{
	const struct option_group all[] = {
		{ OPTION_ROWS(dir_row) }, { OPTION_ROWS(add_rows) }, { OPTION_ROWS(json_row) },
		{ 0 }
	};

	fprintf(to,
		"usage: canary fault add DEV [--dir ingress|egress] [--seed N] [--only-canary]\n"
		"                   [--drop P%%] [--burst N] [--duplicate P%%] [--corrupt P%%]\n"
		"                   [--delay TIME[~JITTER]] [--reorder P%%] [--hold TIME]\n"
		"       canary fault show DEV [-j]\n"
		"       canary fault del DEV [--dir ingress|egress]\n"
		"\n");
	options_help(to, all, 28);
	return to == stdout ? 0 : 2;
}

#define fail(...)	complain("canary fault", __VA_ARGS__)

/* Drop libbpf's messages. Errors come back as codes, and iproute2 explains them better. */
static int no_chatter(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN && getenv("CANARY_DEBUG") ? vfprintf(stderr, format, args) : 0;
}

/* Only root sees counters and programs. For others there would seem to be no faults. */
static bool is_root(void)
{
	if (geteuid())
		fail("it needs root");
	return !geteuid();
}

static int refuse_share(const char *name, const char *text, enum parse_result result)
{
	if (result == PARSE_SMALL)
		return fail("--%s: '%s' is less than 0.0001%%", name, text);
	return fail("--%s: '%s' is no percentage from 0%% to 100%%", name, text);
}

/* Parse TIME, or TIME~JITTER if @jitter is there. */
static int take_wait(const char *name, const char *text, __u64 *ns, __u64 *jitter)
{
	char *time = strdupa(text), *tilde = jitter ? strchr(time, '~') : NULL;
	uint64_t value, within = 0;

	if (tilde)
		*tilde++ = '\0';
	if (parse_quantity(time, PARSE_NS, 0, UINT64_MAX, &value) ||
	    (tilde && parse_quantity(tilde, PARSE_NS, 0, UINT64_MAX, &within)))
		return fail("--%s: '%s' is no time such as 5ms%s", name, text,
			    jitter ? " or 5ms~2ms" : "");
	if (value < WAIT_MIN_NS || value > WAIT_MAX_NS)
		return fail("--%s: '%s' is not within 10us to 10s", name, text);
	if (within > value - WAIT_MIN_NS)
		return fail("--%s: '%s': some packets would wait less than 10us", name, text);
	*ns = value;
	if (tilde)
		*jitter = within;
	return 0;
}

static int take_fault(void *config, const struct option_row *row, const char *text)
{
	struct fault_config *c = config;
	enum parse_result result;

	if (!strcmp(row->name, "delay"))
		return take_wait(row->name, text, &c->delay_ns, &c->jitter_ns);
	if (!strcmp(row->name, "hold"))
		return take_wait(row->name, text, &c->hold_ns, NULL);
	result = option_store(row, c, text);
	if (result == PARSE_OK)
		return 0;
	if (row->words)
		return fail("--%s: '%s' is neither ingress nor egress", row->name, text);
	if (row->units == parse_shares)
		return refuse_share(row->name, text, result);
	return fail("--%s: '%s' is no number from 0 to %llu", row->name, text,
		    (unsigned long long)row->max);
}

/* Return: 0, or -1 after an error message */
static int parse_add(struct fault_config *c, int argc, char **argv)
{
	const struct option_group groups[] = {
		{ OPTION_ROWS(dir_row), .take = take_fault, .arg = c },
		{ OPTION_ROWS(add_rows), .take = take_fault, .arg = c },
		{ 0 }
	};
	enum option_end end;

	memset(c, 0, sizeof(*c));
	end = options_parse(groups, argc, argv);
	if (end == OPTIONS_HELP)
		exit(usage(stdout));
	if (end != OPTIONS_OK)
		return -1;
	if (optind < argc)
		return fail("'%s' is not wanted", argv[optind]);
	if (!c->drop && !c->duplicate && !c->reorder && !c->corrupt && !c->delay_ns)
		return fail("no fault asked for");
	if (c->burst > 1 && !c->drop)
		return fail("--burst without --drop");
	if (c->hold_ns && !c->reorder)
		return fail("--hold without --reorder");
	if (!c->hold_ns)
		c->hold_ns = HOLD_DEFAULT_NS;
	return 0;
}

/*
 * Set how long each slot makes a packet wait. Jitter spreads the slots evenly, in an order that
 * comes from the seed.
 */
static void fill_slots(const struct fault_config *c, __u64 *slot_ns)
{
	__u64 state = c->seed | 1, swap;
	int i, j;

	memset(slot_ns, 0, FAULT_SLOTS * sizeof(*slot_ns));
	for (i = 0; c->delay_ns && i < FAULT_DELAY_SLOTS; i++)
		slot_ns[i] = c->delay_ns - c->jitter_ns +
			     2 * c->jitter_ns * i / (FAULT_DELAY_SLOTS - 1);
	for (i = FAULT_DELAY_SLOTS - 1; c->jitter_ns && i > 0; i--) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		j = (state >> 33) % (i + 1);
		swap = slot_ns[i];
		slot_ns[i] = slot_ns[j];
		slot_ns[j] = swap;
	}
	for (i = FAULT_DELAY_SLOTS; c->reorder && i < FAULT_SLOTS; i++)
		slot_ns[i] = c->delay_ns + c->hold_ns;
}

static enum bpf_tc_attach_point attach_point(bool ingress)
{
	return ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS;
}

static int attach(unsigned int ifindex, bool ingress, int prog_fd)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = attach_point(ingress));
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .handle = FAULT_TC_HANDLE,
		    .priority = FAULT_TC_PRIORITY);

	return bpf_tc_attach(&hook, &opts);
}

/*
 * Make sure that there is a clsact. Return: 1 if it was made here, 0 if it was there, or a negative
 * errno.
 */
static int make_clsact(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int err = bpf_tc_hook_create(&hook);

	return !err ? 1 : err == -EEXIST ? 0 : err;
}

static void remove_clsact(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	bpf_tc_hook_destroy(&hook);
}

static int detach(unsigned int ifindex, bool ingress)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = attach_point(ingress));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FAULT_TC_HANDLE, .priority = FAULT_TC_PRIORITY);

	return bpf_tc_detach(&hook, &opts);
}

static bool clsact_unused(const char *dev)
{
	const char *argv[] = { "tc", "filter", "show", "dev", dev, NULL, NULL };
	bool in = true, out = true;

	argv[5] = "ingress";
	fault_run(argv, NULL, true, &in);
	argv[5] = "egress";
	fault_run(argv, NULL, true, &out);
	return !in && !out;
}

/* Return: id of the injector's program on the device, 0 if there is none. */
static __u32 find_program(unsigned int ifindex, bool ingress)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = attach_point(ingress));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = FAULT_TC_HANDLE, .priority = FAULT_TC_PRIORITY);

	return bpf_tc_query(&hook, &opts) ? 0 : opts.prog_id;
}

/* Copy the program's map whose name ends in @suffix. */
static int read_map(const struct bpf_prog_info *info, const __u32 *ids, const char *suffix,
		    void *to, size_t size)
{
	struct bpf_map_info map;
	__u32 length, key = 0, i;
	char *value, *dot;
	int fd, err = -ENOENT;

	for (i = 0; i < info->nr_map_ids && err == -ENOENT; i++) {
		fd = bpf_map_get_fd_by_id(ids[i]);
		if (fd < 0)
			continue;
		length = sizeof(map);
		memset(&map, 0, sizeof(map));
		if (!bpf_obj_get_info_by_fd(fd, &map, &length)) {
			dot = strrchr(map.name, '.');
			value = dot && !strcmp(dot, suffix) ? calloc(1, map.value_size) : NULL;
			if (value && map.value_size >= size) {
				err = bpf_map_lookup_elem(fd, &key, value);
				memcpy(to, value, size);
			}
			free(value);
		}
		close(fd);
	}
	return err;
}

static int read_state(__u32 id, struct fault__rodata *rodata, struct fault__bss *bss)
{
	struct bpf_prog_info info = {};
	__u32 ids[8], length = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id), err;

	if (fd < 0)
		return fd;
	info.nr_map_ids = sizeof(ids) / sizeof(ids[0]);
	info.map_ids = (uintptr_t)ids;
	err = bpf_obj_get_info_by_fd(fd, &info, &length);
	close(fd);
	if (err)
		return err;
	err = read_map(&info, ids, ".rodata", rodata, sizeof(*rodata));
	return err ? err : read_map(&info, ids, ".bss", bss, sizeof(*bss));
}

/* Did the injector of that direction make the clsact? */
static bool brought_clsact(unsigned int ifindex, bool ingress)
{
	struct fault__rodata rodata;
	struct fault__bss bss;
	__u32 id = find_program(ifindex, ingress);

	return id && !read_state(id, &rodata, &bss) && rodata.fault_config.made_clsact;
}

static int load(struct fault *skel, struct fault_config *c, const __u64 *slot_ns,
		struct fault_line *line)
{
	int err;

	if (c->delay_ns || c->reorder) {
		if (fault_line_make(line, (const uint64_t *)slot_ns))
			return -1;
		c->line = line->near_ifindex;
	}
	memcpy((void *)&skel->rodata->fault_config, c, sizeof(*c));
	memcpy((void *)skel->rodata->fault_slot_ns, slot_ns, FAULT_SLOTS * sizeof(*slot_ns));
	err = fault__load(skel);
	if (err)
		return fail("cannot load the program: %s", strerror(-err));
	if (!c->line)
		return 0;
	err = make_clsact(line->far_ifindex);
	if (err >= 0)
		err = attach(line->far_ifindex, true, bpf_program__fd(skel->progs.canary_line));
	return err < 0 ? fail("%s: cannot attach: %s", line->far, strerror(-err)) : 0;
}

static int add(const char *dev, int argc, char **argv)
{
	struct fault_line line;
	struct fault_config c;
	__u64 slot_ns[FAULT_SLOTS];
	struct fault *skel;
	int err, made;

	if (parse_add(&c, argc, argv))
		return 2;
	c.ifindex = if_nametoindex(dev);
	if (!c.ifindex)
		return fail("%s: %s", dev, strerror(errno)), 1;
	if (!is_root())
		return 1;
	made = make_clsact(c.ifindex);
	if (made < 0)
		return fail("%s: cannot add clsact: %s", dev, strerror(-made)), 1;
	c.made_clsact = made || brought_clsact(c.ifindex, !c.ingress);
	if (find_program(c.ifindex, c.ingress))
		return fail("%s has faults already: canary fault del %s", dev, dev), 1;

	fill_slots(&c, slot_ns);
	fault_line_name(&line, c.ifindex, c.ingress);
	skel = fault__open();
	err = skel ? load(skel, &c, slot_ns, &line) : fail("cannot open the program");
	if (!err) {
		err = attach(c.ifindex, c.ingress, bpf_program__fd(skel->progs.canary_fault));
		if (err)
			fail("%s: cannot attach: %s", dev, strerror(-err));
	}
	if (err) {
		fault_line_remove(&line);
		if (made)
			remove_clsact(c.ifindex);
	}
	fault__destroy(skel);
	return err ? 1 : 0;
}

struct del_asked {
	struct fault_config config;
	bool dir;
};

static int take_del(void *arg, const struct option_row *row, const char *text)
{
	struct del_asked *asked = arg;

	asked->dir = true;
	return take_fault(&asked->config, row, text);
}

static int del(const char *dev, int argc, char **argv)
{
	struct fault_line line;
	unsigned int ifindex = if_nametoindex(dev);
	struct del_asked asked = { 0 };
	const struct option_group groups[] = {
		{ OPTION_ROWS(dir_row), .take = take_del, .arg = &asked }, { 0 }
	};
	bool made = false;
	int dir, found = 0;

	if (options_parse(groups, argc, argv) != OPTIONS_OK || optind < argc)
		return usage(stderr);
	if (!ifindex)
		return fail("%s: %s", dev, strerror(errno)), 1;
	if (!is_root())
		return 1;
	for (dir = 0; dir < 2; dir++) {
		if (asked.dir && asked.config.ingress != dir)
			continue;
		if (!find_program(ifindex, dir))
			continue;
		made |= brought_clsact(ifindex, dir);
		if (detach(ifindex, dir))
			return fail("%s: cannot detach", dev), 1;
		fault_line_name(&line, ifindex, dir);
		fault_line_remove(&line);
		found++;
	}
	if (!found)
		return fail("%s has no faults", dev), 1;
	if (made && clsact_unused(dev))
		remove_clsact(ifindex);
	return 0;
}

static void show_json(struct json *j, const char *dev, const struct fault_config *c,
		      const struct fault_stats *s)
{
	json_object(j, NULL);
	json_string(j, "dev", dev);
	json_string(j, "dir", c->ingress ? "ingress" : "egress");
	json_u64(j, "seed", c->seed);
	json_bool(j, "only_canary", c->only_canary);
	json_u64(j, "drop_ppm", c->drop);
	json_u64(j, "burst", c->burst);
	json_u64(j, "duplicate_ppm", c->duplicate);
	json_u64(j, "reorder_ppm", c->reorder);
	json_u64(j, "corrupt_ppm", c->corrupt);
	json_u64(j, "delay_ns", c->delay_ns);
	json_u64(j, "jitter_ns", c->jitter_ns);
	json_u64(j, "hold_ns", c->hold_ns);
	json_object(j, "counters");
	json_u64(j, "seen", s->seen);
	json_u64(j, "dropped", s->dropped);
	json_u64(j, "duplicated", s->duplicated);
	json_u64(j, "reordered", s->reordered);
	json_u64(j, "delayed", s->delayed);
	json_u64(j, "corrupted", s->corrupted);
	json_u64(j, "line_full", s->line_full);
	json_u64(j, "errors", s->errors);
	json_end(j);
	json_end(j);
}

static void show_text(const char *dev, const struct fault_config *c, const struct fault_stats *s)
{
	printf("%s %s: seed %llu%s", dev, c->ingress ? "ingress" : "egress",
	       c->seed, c->only_canary ? " only-canary" : "");
	if (c->drop)
		printf(" drop %g%%", c->drop / 1e4);
	if (c->burst > 1)
		printf(" burst %u", c->burst);
	if (c->duplicate)
		printf(" duplicate %g%%", c->duplicate / 1e4);
	if (c->corrupt)
		printf(" corrupt %g%%", c->corrupt / 1e4);
	if (c->delay_ns)
		printf(" delay %gms", c->delay_ns / 1e6);
	if (c->jitter_ns)
		printf("~%gms", c->jitter_ns / 1e6);
	if (c->reorder)
		printf(" reorder %g%% hold %gms", c->reorder / 1e4, c->hold_ns / 1e6);
	printf("\n    seen %llu dropped %llu duplicated %llu corrupted %llu"
	       " delayed %llu reordered %llu line-full %llu errors %llu\n",
	       s->seen, s->dropped, s->duplicated,
	       s->corrupted, s->delayed, s->reordered,
	       s->line_full, s->errors);
}

static int show(const char *dev, bool json, int argc, char **argv)
{
	struct fault__rodata rodata;
	struct fault__bss bss;
	unsigned int ifindex = if_nametoindex(dev);
	const struct option_group groups[] = {
		{ OPTION_ROWS(json_row), .take = option_take, .arg = &json }, { 0 }
	};
	const struct fault_config *config;
	struct json j;
	int dir, err, found = 0;
	__u32 id;

	if (options_parse(groups, argc, argv) != OPTIONS_OK || optind < argc)
		return usage(stderr);
	if (!ifindex)
		return fail("%s: %s", dev, strerror(errno)), 1;
	if (!is_root())
		return 1;
	json_begin(&j, stdout, JSON_LINE);
	if (json)
		json_array(&j, NULL);
	for (dir = 0; dir < 2; dir++) {
		id = find_program(ifindex, dir);
		if (!id)
			continue;
		err = read_state(id, &rodata, &bss);
		if (err)
			return fail("%s: cannot read the counters: %s", dev, strerror(-err)), 1;
		config = (void *)&rodata.fault_config;
		if (json)
			show_json(&j, dev, config, &bss.fault_stats);
		else
			show_text(dev, config, &bss.fault_stats);
		found++;
	}
	if (json)
		json_end(&j);
	else if (!found)
		printf("%s has no faults\n", dev);
	return 0;
}

/* Run a command on @dev. What follows in @argv are options. */
static int run(const char *verb, bool json, int argc, char **argv)
{
	char title[64], *dev = argv[0];

	snprintf(title, sizeof(title), "canary fault %s", verb);
	argv[0] = title;	/* getopt() prints it before its messages */
	if (!strcmp(verb, "add"))
		return add(dev, argc, argv);
	if (!strcmp(verb, "del"))
		return del(dev, argc, argv);
	return show(dev, json, argc, argv);
}

int cmd_fault(int argc, char **argv)
{
	bool json = false;

	/* As for `ip -j`, -j may also precede the verb: `canary fault -j show DEV`. */
	if (argc > 1 && !strcmp(argv[1], "-j")) {
		json = true;
		argc--;
		argv++;
	}
	if (argc > 1 && (!strcmp(argv[1], "help") || !strcmp(argv[1], "-h") ||
			 !strcmp(argv[1], "--help")))
		return usage(stdout);
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "add") && strcmp(argv[1], "del") && strcmp(argv[1], "show")) {
		fail("unknown verb '%s'", argv[1]);
		return usage(stderr);
	}
	if (argc > 2 && (!strcmp(argv[2], "-h") || !strcmp(argv[2], "--help")))
		return usage(stdout);
	if (argc < 3) {
		fail("%s: which device?", argv[1]);
		return usage(stderr);
	}
	libbpf_set_print(no_chatter);
	return run(argv[1], json, argc - 2, argv + 2);
}
