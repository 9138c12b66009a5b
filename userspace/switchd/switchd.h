/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch daemon for its callers: options in, exit status out. To look at running switches, only
 * switchd_show() is needed.
 */
#ifndef CANARY_SWITCHD_H
#define CANARY_SWITCHD_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>
#include "userspace/common/address.h"
#include "bpf/shared.h"

#define SWITCHD_RUN_DIR		"/run/canary"
#define SWITCHD_NAME_MAX	63
#define SWITCHD_PORTS_MAX	64
#define SWITCHD_ADMIT_MAX	256
#define SWITCHD_SET_MAX		16384	/* characters of a "set" request */
#define SWITCHD_PATH_MAX	256

#define SWITCHD_TREES_MAX	256
#define SWITCHD_TIMEOUT_MIN	10000ULL	/* ns */
#define SWITCHD_TIMEOUT_MAX	1000000000ULL

enum switchd_clock {
	SWITCHD_CLOCK_SLEEP,	/* sleep until the next deadline */
	SWITCHD_CLOCK_POLL,	/* never sleep: one processor belongs to this switch */
};

struct switchd_port_option {
	char name[IFNAMSIZ];
	bool mode_given;
	enum csw_mode mode;
};

/* Configured fan-in of the leaders in a prefix: so many members' contributions come by here */
struct switchd_fan_in {
	struct canary_addr leader;
	uint32_t prefixlen;		/* of 128 bits */
	uint32_t expect;
};

/*
 * An admission rule: sources in the prefix may make the switch act for these communicators, by that
 * port ("": by any)
 */
struct switchd_admit {
	uint32_t first, last;
	struct canary_addr source;
	uint32_t prefixlen;		/* of 128 bits */
	char port[IFNAMSIZ];
};

struct switchd_admission {
	bool on;				/* false: everybody is admitted */
	unsigned int rules;
	struct switchd_admit rule[SWITCHD_ADMIT_MAX];
};

struct switchd_options {
	char config[SWITCHD_PATH_MAX];		/* file of settings; "": none */
	char rules[SWITCHD_PATH_MAX];		/* file of admission rules; "": none */
	bool config_missing, rules_missing;	/* there are no such files */
	bool save;				/* write the file of rules */
	char name[SWITCHD_NAME_MAX + 1];	/* "": the name of the host */
	struct canary_addr address;		/* zeros: the first global /32 of lo */
	struct switchd_port_option port[SWITCHD_PORTS_MAX];
	unsigned int ports;
	enum csw_mode mode;			/* of ports without a mode of their own */
	enum switchd_clock clock;
	bool timeout_auto;			/* the bounds follow the rates of the ports */
	uint64_t timeout_ns;			/* initial value if it adapts */
	uint64_t timeout_min, timeout_max;	/* bounds if it adapts, else 0 */
	uint32_t root_waits;
	uint64_t lifetime_ns;
	uint32_t slots;
	uint32_t children;
	enum csw_fan_in_mode fan_in;
	struct switchd_fan_in fan_ins[CSW_FAN_IN_CONFIG_MAX];	/* configured */
	unsigned int fan_in_count;
	struct switchd_admission admission;
	enum csw_choice choice;			/* among equal-cost next hops */
	uint64_t flowlet_ns;
	uint32_t spread;
	uint32_t trees, first_tree;
	uint32_t queue;				/* bytes that may wait at a port; 0: as it says */
	bool restore;				/* honour restorations */
	enum csw_forward_by forward;
	bool sysctl;				/* set what checks would only warn about */
	bool realtime;				/* clock thread under SCHED_FIFO */
	bool verbose;
};

/* Set defaults. */
void switchd_options_init(struct switchd_options *o);

/* The text of a rule */
#define SWITCHD_RULE_TEXT	128
void switchd_admit_text(const struct switchd_admit *rule, char *text, size_t len);
/* Do all rules name ports of the switch? */
int switchd_admission_check(const struct switchd_admission *a, const struct switchd_options *o,
			    char *err, size_t len);

/* Let the timeout begin in the middle of its bounds, which is their geometric mean. */
void switchd_timeout_begin(struct switchd_options *o);

/* Is the lifetime longer than the timeout? */
int switchd_timeout_check(const struct switchd_options *o, char *err, size_t len);

/* Is a number of trees only given with the choice "static"? */
int switchd_trees_check(const struct switchd_options *o, char *err, size_t len);

/* Check what concerns several options: are there ports, is the lifetime longer than the timeout? */
int switchd_options_check(struct switchd_options *o, char *err, size_t len);

/* Name (setting.h) and value of a setting. The value of one that has none is not looked at. */
struct switchd_setting {
	const char *name, *value;
};

/* Options of `canary switch run`, in their order. Those of --config's file stand in its place. */
struct switchd_given {
	const struct switchd_setting *setting;
	unsigned int n;
};

/*
 * switchd_options_read() - set defaults, then what is given, and what files say that are named there
 * @tell:	gets a sentence for each mistake, with FILE:LINE if it is in a file
 * Return: 0, or -1 after a mistake; then @o is invalid. switchd_options_check() has to follow
 */
int switchd_options_read(struct switchd_options *o, const struct switchd_given *given,
			 void (*tell)(void *arg, const char *text), void *arg);

/* Write all rules to @file, as --rules reads them. Return: 0, or -errno; then it is as it was */
int switchd_rules_save(const char *file, const struct switchd_admission *a);

/*
 * Run until SIGTERM or SIGINT. SIGHUP reads everything again, files with settings from @given, too.
 * Return: exit status of the process
 */
int switchd_run(const struct switchd_options *o, const struct switchd_given *given);

/* Could a switch take these @n settings? Return: 0, or -1 with a message in @err */
int switchd_settings_check(const struct switchd_setting *setting, unsigned int n, char *err,
			   size_t len);

/*
 * Change settings of the running switch @name (NULL: of the only one of this network namespace, or
 * of @all of this machine). It takes all @n of them, in this order, or none. Return: exit status
 */
int switchd_set(const char *name, bool all, const struct switchd_setting *setting, unsigned int n);

/*
 * Print the state of the switch @name (NULL: of those of this network namespace, or of @all of this
 * machine). Return: exit status
 */
int switchd_show(const char *name, bool all, bool json);

/* Inode of this process's network namespace; 0 if it is not known */
uint64_t switchd_netns(void);

#endif /* CANARY_SWITCHD_H */
