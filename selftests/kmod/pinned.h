/* SPDX-License-Identifier: GPL-2.0 */
/* Operations on the application's own memory (CANARY_DESTINATION), and counts of pinned pages */
#ifndef PINNED_H
#define PINNED_H

#include "api.h"

#define PAGE		4096

/* Deviations of a message; 0 is the usual value, the sum of int32 */
struct form {
	int type, len, iovs;
	uint64_t tag;
	int flags;
	uint8_t op, dtype, how;
};

long pinned(void);
bool given_back(long before);
void *pages(size_t bytes);
ssize_t post_form(int fd, void *from, void *to, size_t size, const struct form *form);
ssize_t ended(int fd);
ssize_t post(int fd, void *from, void *to, size_t size);
uint32_t value(unsigned int rank, unsigned int i);
void fill(uint32_t *v, size_t bytes, unsigned int rank);
bool is_sum(const uint32_t *v, size_t bytes);

#endif /* PINNED_H */
