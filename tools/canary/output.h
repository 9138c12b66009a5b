/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of results. It is checked when a command begins, and made when there are results: who fails
 * or is interrupted before has left nothing and lost nothing of what was there. Who is interrupted
 * while the results are written may leave a part of them beside it (.canary-XXXXXX), or in it where
 * it is not replaced.
 */
#ifndef CANARY_OUTPUT_H
#define CANARY_OUTPUT_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * struct output - where results go
 * @said:	what complaints begin with: "" or "OPTION: "
 * @path:	as the user gave it; - is standard output
 * @file:	that is replaced or made, without symbolic links; NULL: results go to @fd
 * @fd:		standard output, or what is not replaced: a device, a pipe, a file of somebody
 *		else, with several names, or in a directory that may not be changed
 * @old:	what is there; st_mode is 0 if nothing is
 */
struct output {
	const char	*said;
	const char	*path;
	char		*file;
	int		fd;
	struct stat	old;
};

/* Return: 0, or -1 after having said what is wrong. No file is made or changed. */
int output_open(struct output *o, const char *said, const char *path);

/* All of the results; once. Return: as output_open() */
int output_write(struct output *o, const void *data, size_t len);

void output_close(struct output *o);

#endif /* CANARY_OUTPUT_H */
