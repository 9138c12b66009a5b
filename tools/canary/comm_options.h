/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that all commands have that join a communicator, and what they all do with one. */
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
	bool			have_comm, have_rank, have_members;
};

void comm_options_init(struct comm_options *o);

/* Rows for options_parse() and options_help(), of which comm_option_take() takes what is given */
#define COMM_OPTION_COLUMN	23
extern const struct option_row comm_option_rows[];
extern const size_t comm_option_count;

#define COMM_OPTION_ROWS	.row = comm_option_rows, .n = comm_option_count, \
				.stride = sizeof(comm_option_rows[0])

/* @o is a struct comm_options. Return: 0, or -1 after having said what is wrong. */
int comm_option_take(void *o, const struct option_row *row, const char *text);

/* The help of a command that joins a communicator, behind what it says of itself */
void comm_options_help(FILE *to);

/* comm_options_end() - all options are there: check that they are enough. 0 or -1. */
int comm_options_end(struct comm_options *o);

/* comm_join() - open and connect. NULL: canary_errmsg() tells; @err is the errno. */
struct canary *comm_join(const struct comm_options *o, struct canary **failed, int *err);

#endif /* CANARY_COMM_OPTIONS_H */
