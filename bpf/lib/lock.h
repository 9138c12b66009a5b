/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bounded try-lock of descriptors, restorations and the deadline queue. bpf_spin_lock will not
 * do: its holder may call neither helpers nor functions. A holder that lost its processor cannot
 * stop others. They give up, and what they then do is right, too.
 */
#ifndef CANARY_BPF_LIB_LOCK_H
#define CANARY_BPF_LIB_LOCK_H

/*
 * How long to wait. A holder needs 1 us, and more if memory is in no cache. To give up costs the
 * block far more: the switch waits for the contribution in vain, and members for the switch. The
 * loop reads the clock, since the verifier takes no longer loop, and since a holder is faster if
 * others leave its cache line alone.
 */
#define CSW_LOCK_NS	10000
#define CSW_LOCK_TRIES	512

/* An atomic instruction, which is a full barrier in BPF and here */
static __always_inline bool csw_trylock(__u32 *lock)
{
	return csw_swap(lock, 0, 1) == 0;
}

/* At least a release; csw_release() is how the platform does that */
static __always_inline void csw_unlock(__u32 *lock)
{
	csw_release(lock, 0);
}

CSW_FUNC int csw_lock_wait(csw_any any, __u32 *lock)
{
	__u64 until;
	int i;

	if (!lock)
		return 0;
	until = csw_now(CSW_CTX(any)) + CSW_LOCK_NS;
	CSW_LOOP
	for (i = 0; i < CSW_LOCK_TRIES; i++) {
		if (CSW_READ(*lock) == 0 && csw_trylock(lock))
			return 1;
		if (csw_now(CSW_CTX(any)) >= until)
			break;
	}
	return 0;
}

static __always_inline bool csw_lock(const void *ctx, __u32 *lock)
{
	return csw_trylock(lock) || csw_lock_wait(CSW_ANY(ctx), lock);
}

#endif /* CANARY_BPF_LIB_LOCK_H */
