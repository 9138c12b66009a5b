/* SPDX-License-Identifier: BSD-2-Clause */
/* Error messages: one line on standard error, which begins with the program's name. */
#ifndef CANARY_COMMON_COMPLAIN_H
#define CANARY_COMMON_COMPLAIN_H

/* complain() - print "WHO: ..." and a newline in one write. Return: -1 */
__attribute__((format(printf, 2, 3)))
int complain(const char *who, const char *format, ...);

/* complain_errno() - print "WHO: WHAT: " and the text of errno. Return: -1 */
int complain_errno(const char *who, const char *what);

int complain_memory(const char *who);

#endif /* CANARY_COMMON_COMPLAIN_H */
