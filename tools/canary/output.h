/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result file. It is checked when a command begins, and made when there are results. So a command
 * that fails or is interrupted before that leaves nothing behind and destroys nothing. If it is
 * interrupted while it writes, a part of the results may remain: beside the file (.canary-XXXXXX),
 * or in a file that cannot be replaced.
 */
#ifndef CANARY_OUTPUT_H
#define CANARY_OUTPUT_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * struct output - where results go
 * @said:	prefix of error messages: "" or "OPTION: "
 * @path:	as the user gave it; - is standard output
 * @file:	file to make or to replace, without symbolic links; NULL: results go to @fd
 * @fd:		standard output, or a target that is not replaced: a device, a pipe, a file of
 *		somebody else, one with several names, or one in a directory that is not writable
 * @old:	status of the existing file; st_mode is 0 if there is none
 */
struct output {
	const char	*said;
	const char	*path;
	char		*file;
	int		fd;
	struct stat	old;
};

/*
 * output_open() - check @path. No file is made or changed. Return: 0, or -1 after an error message
 */
int output_open(struct output *o, const char *said, const char *path);

/* output_write() - write all results, once. Return: as output_open() */
int output_write(struct output *o, const void *data, size_t len);

void output_close(struct output *o);

#endif /* CANARY_OUTPUT_H */
