/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of all commands that join a communicator, and what these commands do with one. */
#ifndef CANARY_COMM_OPTIONS_H
#define CANARY_COMM_OPTIONS_H

#include <canary.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/common/option.h"

struct comm_options {
	struct canary_params	params;
	const char		*members_file;
	uint32_t		timeout_ms;	/* of the rendezvous */
	uint32_t		epoch;		/* 0, or there is none: @members_file is the table */
	uint8_t			salt[CANARY_SALT];	/* of the table */
	bool			have_comm, have_rank, have_members, have_root, have_salt,
				have_timeout;
};

void comm_options_init(struct comm_options *o);

/* Rows for options_parse() and options_help(). comm_option_take() takes their values. */
#define COMM_OPTION_COLUMN	23
extern const struct option_row comm_option_rows[];
extern const size_t comm_option_count;

#define COMM_OPTION_ROWS	.row = comm_option_rows, .n = comm_option_count, \
				.stride = sizeof(comm_option_rows[0])

/* @o is a struct comm_options. Return: 0, or -1 after an error message. */
int comm_option_take(void *o, const struct option_row *row, const char *text);

/* Print the help of these options. Commands print it after their own. */
void comm_options_help(FILE *to);

/*
 * comm_options_end() - take what was not given from mpirun, srun, torchrun, and check that the
 * options are complete. Return: 0, or -1 after an error message.
 */
int comm_options_end(struct comm_options *o);

/* What --how says */
#define COMM_HOW_HELP	"sums of floating-point numbers: exact, elementwise, narrow, or\n" \
			"several, separated by commas (the length decides); sums of\n" \
			"integers: saturate (they wrap around)"

/*
 * comm_operation_check() - is there this operator on that type, in this way (CANARY_HOW_*)?
 * Return: 0, or -1 after an error message.
 */
int comm_operation_check(enum canary_dtype dtype, enum canary_operator op, uint32_t how);

/*
 * comm_join() - open and connect a communicator
 * Return: it, or NULL. Then @err is the errno and canary_errmsg() tells why. @failed is what has to
 * be closed, or NULL.
 */
struct canary *comm_join(const struct comm_options *o, struct canary **failed, int *err);

#endif /* CANARY_COMM_OPTIONS_H */
