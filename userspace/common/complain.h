/* SPDX-License-Identifier: BSD-2-Clause */
/* Complaints: one line on standard error that begins with who complains. */
#ifndef CANARY_COMMON_COMPLAIN_H
#define CANARY_COMMON_COMPLAIN_H

/* "WHO: ..." and the end of the line, at once. Return: -1 */
__attribute__((format(printf, 2, 3)))
int complain(const char *who, const char *format, ...);

/* The same of what failed, with errno. Return: -1 */
int complain_errno(const char *who, const char *what);

int complain_memory(const char *who);

#endif /* CANARY_COMMON_COMPLAIN_H */
