// SPDX-License-Identifier: GPL-2.0
/*
 * How long softirqs wait for the module on one processor: the longest time that it worked without
 * letting other softirqs run.
 *
 * In softirq that is one call of the module (a packet, its timer, its tasklet), or all the work
 * that the kernel does before it looks whether others wait: timers that are due, tasklets, up to 64
 * packets. In a process it is the time in which the module holds the lock of its engine, or hands
 * packets to IP.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "selftests/bench/softirq.h"

/* Numbers of softirqs */
#define TASKLETS	6
#define HRTIMERS	8

char _license[] SEC("license") = "GPL";

__u64 longest[SOFTIRQ_KINDS];
__u64 began[SOFTIRQ_KINDS];
__u64 engine;		/* struct canary_comm; its first member is its lock */
bool serving;		/* it is serving softirqs */

static void stretch_begin(__u32 kind)
{
	barrier_var(kind);
	if (kind < SOFTIRQ_KINDS)
		began[kind] = bpf_ktime_get_ns();
}

static void stretch_end(__u32 kind)
{
	__u64 took;

	/* The compiler masks the index, but the verifier does not follow the mask. */
	barrier_var(kind);
	if (kind >= SOFTIRQ_KINDS || !began[kind])
		return;
	took = bpf_ktime_get_ns() - began[kind];
	began[kind] = 0;
	if (took > longest[kind])
		longest[kind] = took;
}

static __u32 pass_of(__u32 vector)
{
	return vector == HRTIMERS ? SOFTIRQ_TIMERS : vector == TASKLETS ? SOFTIRQ_TASKLETS :
	       SOFTIRQ_KINDS;
}

SEC("raw_tp/softirq_entry")
int softirqs_begin(struct bpf_raw_tracepoint_args *ctx)
{
	/* Sending lets other softirqs run. */
	stretch_end(SOFTIRQ_SEND);
	stretch_begin(pass_of(ctx->args[0]));
	serving = true;
	return 0;
}

SEC("raw_tp/softirq_exit")
int softirqs_end(struct bpf_raw_tracepoint_args *ctx)
{
	stretch_end(pass_of(ctx->args[0]));
	serving = false;
	return 0;
}

SEC("kprobe")
int BPF_KPROBE(engine_starts, __u64 comm)
{
	engine = comm;
	return 0;
}

/* Functions that are called in softirq. canary_send_queue() is called in both. */
SEC("kprobe")
int BPF_KPROBE(call_begins)
{
	__u32 kind = bpf_get_attach_cookie(ctx);

	if (serving != (kind == SOFTIRQ_SEND))
		stretch_begin(kind);
	return 0;
}

SEC("kretprobe")
int BPF_KRETPROBE(call_ends)
{
	stretch_end(bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("kprobe")
int BPF_KPROBE(lock_taken, __u64 lock)
{
	if (lock == engine && !serving)
		stretch_begin(SOFTIRQ_LOCK);
	return 0;
}

SEC("kprobe")
int BPF_KPROBE(lock_left, __u64 lock)
{
	if (lock == engine && !serving)
		stretch_end(SOFTIRQ_LOCK);
	return 0;
}
