// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of operations: what was given back is used again for lengths that fit, not kept beyond
 * the limit, and never handed out twice. Sanitizers see what is written outside, or leaks.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/user.h"
#include "selftests/tap.h"

#define KIB	1024UL
#define MIB	(1UL << 20)

static struct user_buffers kept;

/* How an operation gets memory */
static void *get(size_t bytes)
{
	void *data = user_buffer_take(&kept, bytes) ?: user_buffer_new(bytes);

	if (data)
		memset(data, 0x5a, bytes);
	return data;
}

/* Around all limits of classes: give a buffer, and ask for the same length */
static void check_lengths(void)
{
	int wrong_kept = 0, wrong_align = 0, too_long = 0;
	size_t power, step, bytes;
	int quarter, off;
	void *a, *b;

	for (power = 32 * KIB; power <= USER_BUFFERS_KEPT; power *= 2) {
		step = power / 4;
		for (quarter = 0; quarter < 4; quarter++) {
			for (off = -1; off <= 1; off++) {
				bytes = power + quarter * step + off;
				a = user_buffer_new(bytes);
				if (!a)
					continue;
				((char *)a)[bytes - 1] = 1;
				wrong_align += (uintptr_t)a % USER_BUFFER_ALIGN != 0;
				too_long += malloc_usable_size((char *)a - USER_BUFFER_ALIGN) >
					    bytes + bytes / 4 + 16 * KIB;
				user_buffer_give(&kept, a);
				b = user_buffer_take(&kept, bytes);
				wrong_kept += (b == a) != (bytes > 32 * KIB &&
							   bytes <= USER_BUFFERS_KEPT);
				user_buffer_free(b);
			}
		}
	}
	tap(!wrong_kept, "each length above 32 KiB and up to the limit is used again");
	tap(!wrong_align, "all have the alignment of vectors");
	tap(!too_long, "none is longer than its length and a quarter");
	tap(!kept.bytes, "nothing is counted as kept");
}

static void check_fits(void)
{
	void *large = get(MIB), *small = get(100 * KIB), *again;

	user_buffer_give(&kept, small);
	user_buffer_give(&kept, large);
	again = get(MIB - 1000);
	tap(again == large, "a buffer serves a length that is a little less");
	user_buffer_free(again);
	again = user_buffer_take(&kept, MIB);
	tap(!again, "a shorter one does not serve a longer length");
	user_buffer_free(again);
	again = user_buffer_take(&kept, 60 * KIB);
	tap(!again, "one of another class is left alone");
	user_buffer_free(again);
	user_buffers_empty(&kept);
}

/* Many at a time, in a changing order. Each has its number in all of its bytes. */
static void check_twice(void)
{
	enum { MANY = 64, TURNS = 20000 };
	unsigned char *have[MANY] = { NULL };
	size_t len[MANY] = { 0 };
	int i, turn, wrong = 0;
	unsigned int seed = 1;

	for (turn = 0; turn < TURNS; turn++) {
		seed = seed * 1103515245 + 12345;
		i = seed >> 16 & (MANY - 1);
		if (have[i]) {
			wrong += have[i][0] != i || have[i][len[i] - 1] != i;
			user_buffer_give(&kept, have[i]);
			have[i] = NULL;
			continue;
		}
		len[i] = 20 * KIB + (seed >> 8) % (60 * KIB);
		have[i] = user_buffer_take(&kept, len[i]) ?: user_buffer_new(len[i]);
		if (!have[i])
			continue;
		have[i][0] = i;
		have[i][len[i] - 1] = i;
	}
	tap(!wrong, "none of %d buffers is handed out twice", TURNS / 2);
	for (i = 0; i < MANY; i++)
		user_buffer_give(&kept, have[i]);
	tap(kept.bytes && kept.bytes <= MANY * 100 * KIB, "what comes back is kept");
	user_buffers_empty(&kept);
	tap(!kept.bytes, "until all are freed");
}

static void check_limit(void)
{
	size_t bytes = 0, most = 0;
	void *have[8] = { NULL };
	unsigned int i;

	for (i = 0; i < 8; i++)
		have[i] = user_buffer_new(USER_BUFFERS_KEPT / 4);
	for (i = 0; i < 8; i++) {
		user_buffer_give(&kept, have[i]);
		bytes = kept.bytes;
		most = bytes > most ? bytes : most;
	}
	tap(most == USER_BUFFERS_KEPT, "as much is kept as the limit says");
	have[0] = user_buffer_new(MIB);
	user_buffer_give(&kept, have[0]);
	tap(kept.bytes == MIB, "beyond it, old ones make room");
	tap(user_buffer_take(&kept, MIB) == have[0], "and the new one is there");
	user_buffer_free(have[0]);
	user_buffer_give(&kept, NULL);
	user_buffer_free(NULL);
	tap(!kept.bytes, "nothing can be given back, and nothing happens");
}

int main(void)
{
	check_lengths();
	check_fits();
	check_twice();
	check_limit();
	return tap_done("user/buffers");
}
