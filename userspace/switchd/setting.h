/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of a switch in one table: from a row come the option of `canary switch run`, its
 * help and default, what `canary switch set` takes, what `canary switch show` says, the JSON, and
 * what the data plane gets. One more setting is one more row in setting.c, its member of struct
 * switchd_options, and a paragraph in canary-switch(8), without which `make check` fails.
 */
#ifndef CANARY_SWITCHD_SETTING_H
#define CANARY_SWITCHD_SETTING_H

#include "switchd.h"
#include "userspace/common/json.h"
#include "userspace/common/option.h"

struct switchd;

#define SETTING_RUN	1	/* an option of `run` */
#define SETTING_SET	2	/* of `set`: it can change while the switch runs */

/* Where `show` has it: lines in the order of their rows */
enum setting_shown {
	SHOWN_NOWHERE,
	SHOWN_JSON,		/* there alone */
	SHOWN_HEAD,
	SHOWN_SLOTS,
	SHOWN_CHOICE,
	SHOWN_FAN_IN,
	SHOWN_ADMISSION,
	SHOWN_CLOCK,
};

/* What else there is to do when it changes */
enum setting_part {
	PART_VALUES,		/* nothing: csw_config has it */
	PART_FAN_INS,
	PART_RULES,
};

/*
 * struct setting - a row
 * @option:	its name, help, range, default, and member of struct switchd_options
 * @where:	SETTING_RUN, SETTING_SET
 * @config, @config_size: member of struct csw_config that gets the value; 0: none simply does
 * @take:	if it is not simply stored
 * @check:	if not all that would be taken somewhere would be by a switch with all defaults
 * @said:	what `show` calls it, if not by its name
 * @text, @json: if they are not simply the stored value. JSON has '_' in names, and times in us.
 */
struct setting {
	struct option_row option;
	unsigned int where;
	enum setting_part part;
	size_t config, config_size;
	int (*take)(struct switchd_options *o, const char *text, char *err, size_t len);
	int (*check)(const char *text, char *err, size_t len);
	enum setting_shown shown;
	const char *said;
	void (*text)(struct switchd *sw, FILE *out);
	void (*json)(struct switchd *sw, struct json *j);
};

extern const struct setting settings[];
extern const unsigned int settings_count;

/* NULL: there is none of that name that belongs to @where */
const struct setting *setting_find(const char *name, unsigned int where);

/* Take @text into @o. Return 0, or -1 with a message for people in @err. */
int setting_take(const struct setting *s, struct switchd_options *o, const char *text, char *err,
		 size_t len);

/* Every member of @c that a row names, the last row first */
void settings_configure(const struct switchd_options *o, struct csw_config *c);

/* Settings that are @shown there, each with a blank before it; all of them for JSON */
void settings_text(struct switchd *sw, FILE *out, enum setting_shown shown);
void settings_json(struct switchd *sw, struct json *j);

/* value.c: a value of the option @said (as "--trees: first one"), as setting_take() */
int setting_quantity(const char *said, const char *text, const struct parse_unit *units,
		     uint64_t min, uint64_t max, uint64_t *value, char *err, size_t len);
int setting_number(const char *said, const char *text, uint32_t min, uint32_t max,
		   uint32_t *value, char *err, size_t len);

struct switchd_prefix {
	struct canary_addr addr;
	uint32_t bits;
};

/*
 * switchd_prefix() - ADDRESS[/LEN]; it may have ones behind LEN
 * @expected: what it is if it is not that
 * Return: 0, or -1 with a sentence.
 */
int switchd_prefix(const char *option, const char *expected, const char *text,
		   struct switchd_prefix *prefix, char *err, size_t len);

/* switchd_refuse() - a message for people to @err. Return: -1 */
__attribute__((format(printf, 3, 4)))
int switchd_refuse(char *err, size_t len, const char *fmt, ...);

/* switchd_each() - @fn for each of a list with commas, until one is refused. Return: 0 or -1 */
int switchd_each(void *arg, const char *text, char *err, size_t len,
		 int (*fn)(void *arg, char *one, char *err, size_t len));

/* words.c: what people call values, in the order of their enumerations; NULL at the end */
extern const char *const mode_words[], *const fan_in_words[], *const clock_words[],
	   *const forward_words[], *const choice_words[];

/* options.c: values that are more than a number or a word */
int option_ports(struct switchd_options *o, const char *text, char *err, size_t len);
int option_name(struct switchd_options *o, const char *text, char *err, size_t len);
int option_address(struct switchd_options *o, const char *text, char *err, size_t len);
int option_timeout(struct switchd_options *o, const char *text, char *err, size_t len);
int option_slots(struct switchd_options *o, const char *text, char *err, size_t len);
int option_fan_in(struct switchd_options *o, const char *text, char *err, size_t len);
int option_trees(struct switchd_options *o, const char *text, char *err, size_t len);

/*
 * admission_rules.c: rules are added or taken back; on errors @o is of no use. Are they rules at
 * all?
 */
int option_admit(struct switchd_options *o, const char *text, char *err, size_t len);
int option_revoke(struct switchd_options *o, const char *text, char *err, size_t len);
int option_admit_check(const char *text, char *err, size_t len);
int option_revoke_check(const char *text, char *err, size_t len);

/* setting_state.c: states that belong to a setting */
void text_address(struct switchd *sw, FILE *out);
void json_address(struct switchd *sw, struct json *j);
void text_timeout(struct switchd *sw, FILE *out);
void json_timeout(struct switchd *sw, struct json *j);
void text_lifetime(struct switchd *sw, FILE *out);
void text_fan_in(struct switchd *sw, FILE *out);
void json_fan_in(struct switchd *sw, struct json *j);
void text_trees(struct switchd *sw, FILE *out);
void json_trees(struct switchd *sw, struct json *j);
void text_admission(struct switchd *sw, FILE *out);
void json_admission(struct switchd *sw, struct json *j);
void json_clock(struct switchd *sw, struct json *j);

#endif /* CANARY_SWITCHD_SETTING_H */
