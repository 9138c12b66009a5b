/* SPDX-License-Identifier: BSD-2-Clause */
/* Backends of the cases: the logic compiled natively, and the real programs in the kernel. */
#ifndef SELFTESTS_BPF_BACKEND_H
#define SELFTESTS_BPF_BACKEND_H

#include "world.h"

#define OUT_MAX		40

struct setting {
	bool shaped, learn, admit, stack, bare, foreign, groups;
	uint32_t slots, queue, children, root_waits, configured, credit;
	uint64_t timeout, lifetime, min, max;
	uint32_t more_queues;
};

/* Frames that left, in any order */
struct outputs {
	int n;
	struct frame frame[OUT_MAX];
};

/*
 * struct backend - a switch
 *
 * @drivers:		its ports have drivers, which may take no metadata (struct setting, bare),
 *			or put metadata of others in front of each frame (foreign)
 * @wanted:		how often a group was missed since reset
 * @processor:		the next frames come on that one. Return: false if there is none
 * @start:		called once; returns why it cannot start, or NULL
 * @reset:		make a switch that was started just now, at time 1 s
 * @at:			set the time since reset
 * @receive, @flush:	return an action; write what comes out
 */
struct backend {
	const char *name;
	bool drivers;
	const char *(*start)(void);
	void (*reset)(const struct setting *s);
	void (*at)(uint64_t ns);
	void (*receive)(const struct frame *in, struct outputs *out);
	void (*flush)(struct outputs *out);
	uint64_t (*counter)(uint32_t index);
	const struct csw_descriptor *(*descriptor)(uint32_t slot);
	struct csw_queue_ctl *(*queue_ctl)(void);
	bool (*processor)(uint32_t number);	/* back to 0 in the end */
	void (*lose_copies)(void);	/* until reset, by port 1 is lost what is broadcast; or NULL */
	uint32_t (*woken)(void);
	uint32_t (*wanted)(void);
	void (*hold)(uint32_t slot, bool locked);	/* as if another processor had it */
	struct csw_config *(*config)(void);
	void (*captive)(int port, bool captive);	/* holds until reset */
	void (*backlog)(int port, const struct csw_backlog *b);	/* NULL: nobody knows */
};

extern const struct backend backend_native, backend_kernel;

/* Print one line of TAP. test_switch.c counts those of all files. */
__attribute__((format(printf, 2, 3)))
bool check(bool good, const char *fmt, ...);

/* copies.c: results that are broadcast, and a switch that does so where groups are */
extern const struct setting with_groups;
void copies_run(const struct backend *b);

/* choice.c: which of several next hops */
void choice_run(const struct backend *b);

/* ports.c: ports with a master */
void ports_run(const struct backend *b);

/* queue.c: what is held, and for how long */
void queue_run(const struct backend *b);

/* stopped.c: processors that are stopped, in a backend that runs in this process */
void stopped_run(const struct backend *b);

static inline void output(struct outputs *out, int port, const void *bytes, uint32_t length)
{
	struct frame *f;

	if (out->n >= OUT_MAX)
		return;
	f = &out->frame[out->n++];
	f->port = port;
	f->length = length;
	__builtin_memcpy(f->bytes, bytes, length < FRAME_MAX ? length : FRAME_MAX);
}

#endif /* SELFTESTS_BPF_BACKEND_H */
