/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of a switch in one table. From a row come the option of `canary switch run` with its
 * help and default, what `canary switch set` takes, what `canary switch show` prints, the JSON, and
 * the value in the data plane. A new setting is a new row in setting.c, a member of struct
 * switchd_options, and a paragraph in canary-switch(8), which `make check` asks for.
 */
#ifndef CANARY_SWITCHD_SETTING_H
#define CANARY_SWITCHD_SETTING_H

#include "switchd.h"
#include "userspace/common/json.h"
#include "userspace/common/option.h"

struct switchd;

#define SETTING_RUN	1	/* an option of `run` */
#define SETTING_SET	2	/* `set` may change it while the switch runs */

/* Where `show` prints it. Lines are in the order of their rows. */
enum setting_shown {
	SHOWN_NOWHERE,
	SHOWN_JSON,		/* only in JSON */
	SHOWN_HEAD,
	SHOWN_SLOTS,
	SHOWN_CHOICE,
	SHOWN_FAN_IN,
	SHOWN_ADMISSION,
	SHOWN_CLOCK,
};

/* What has to be done when it changes */
enum setting_part {
	PART_VALUES,		/* nothing more: csw_config has it */
	PART_FAN_INS,
	PART_RULES,
};

/*
 * struct setting - a row
 *
 * @option:			name, help, range, default, and member of struct switchd_options
 * @where:			SETTING_RUN, SETTING_SET
 * @config, @config_size:	member of struct csw_config that gets the value; 0: no member simply
 *				gets it
 * @whole, @whole_size:		members that have the value, if option.size is 0 and `set` cannot change
 *				it
 * @take:			parses the value if it is not simply stored
 * @check:			needed if a valid value may be refused by a switch with all defaults
 * @said:			name in `show`, if that differs
 * @text, @json:		print it if it is not simply the stored value. In JSON, names have
 *				'_' and times are in us
 */
struct setting {
	struct option_row option;
	unsigned int where;
	enum setting_part part;
	size_t config, config_size;
	size_t whole, whole_size;
	int (*take)(struct switchd_options *o, const char *text, char *err, size_t len);
	int (*check)(const char *text, char *err, size_t len);
	enum setting_shown shown;
	const char *said;
	void (*text)(struct switchd *sw, FILE *out);
	void (*json)(struct switchd *sw, struct json *j);
};

extern const struct setting settings[];
extern const unsigned int settings_count;

/* Return: NULL if no setting of @where has that name */
const struct setting *setting_find(const char *name, unsigned int where);

/* Parse @text into @o. Return: 0, or -1 with a message for people in @err */
int setting_take(const struct setting *s, struct switchd_options *o, const char *text, char *err,
		 size_t len);

/*
 * settings_keep_fixed() - put into @o what `set` cannot change, as it is in @from
 * @names:	gets the names of those that were different, each after a blank
 * Return: number of these
 */
unsigned int settings_keep_fixed(struct switchd_options *o, const struct switchd_options *from,
				 char *names, size_t len);

/* Set every member of @c that a row names. The last row comes first. */
void settings_configure(const struct switchd_options *o, struct csw_config *c);

/* Print the settings of that line, each after a blank. For JSON, print all. */
void settings_text(struct switchd *sw, FILE *out, enum setting_shown shown);
void settings_json(struct switchd *sw, struct json *j);

/* value.c: parse a value of the option @said (such as "--trees: first one"), as setting_take() */
int setting_quantity(const char *said, const char *text, const struct parse_unit *units,
		     uint64_t min, uint64_t max, uint64_t *value, char *err, size_t len);
int setting_number(const char *said, const char *text, uint32_t min, uint32_t max,
		   uint32_t *value, char *err, size_t len);

struct switchd_prefix {
	struct canary_addr addr;
	uint32_t bits;
};

/*
 * switchd_prefix() - parse ADDRESS[/LEN]; bits behind LEN may be set
 * @expected:	for the message, what it should be
 * Return: 0, or -1 with a sentence.
 */
int switchd_prefix(const char *option, const char *expected, const char *text,
		   struct switchd_prefix *prefix, char *err, size_t len);

/* switchd_refuse() - write a message for people to @err. Return: -1 */
__attribute__((format(printf, 3, 4)))
int switchd_refuse(char *err, size_t len, const char *fmt, ...);

/*
 * switchd_each() - call @fn for each element of a list with commas, until it refuses one. Return: 0
 * or -1
 */
int switchd_each(void *arg, const char *text, char *err, size_t len,
		 int (*fn)(void *arg, char *one, char *err, size_t len));

/* words.c: names of values, in the order of their enumerations, with NULL at the end */
extern const char *const mode_words[], *const fan_in_words[], *const clock_words[],
	   *const forward_words[], *const choice_words[];

/* options.c: values that are more than a number or a word */
int option_ports(struct switchd_options *o, const char *text, char *err, size_t len);
int option_config(struct switchd_options *o, const char *text, char *err, size_t len);
int option_rules(struct switchd_options *o, const char *text, char *err, size_t len);
int option_name(struct switchd_options *o, const char *text, char *err, size_t len);
int option_address(struct switchd_options *o, const char *text, char *err, size_t len);
int option_timeout(struct switchd_options *o, const char *text, char *err, size_t len);
int option_slots(struct switchd_options *o, const char *text, char *err, size_t len);
int option_fan_in(struct switchd_options *o, const char *text, char *err, size_t len);
int option_trees(struct switchd_options *o, const char *text, char *err, size_t len);

/*
 * admission_rules.c: add or remove rules. After an error @o is invalid. The last function checks
 * that they are rules at all.
 */
int option_admit(struct switchd_options *o, const char *text, char *err, size_t len);
int option_revoke(struct switchd_options *o, const char *text, char *err, size_t len);
int option_admit_check(const char *text, char *err, size_t len);
int option_revoke_check(const char *text, char *err, size_t len);

/* setting_state.c: state that `show` prints with a setting */
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
