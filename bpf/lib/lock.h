/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bounded try-lock of descriptors, restorations and the deadline queue. bpf_spin_lock will not
 * do: its holder may call neither helpers nor functions. A holder that lost its processor cannot
 * stop others. They give up, and what they then do is right, too.
 */
#ifndef CANARY_BPF_LIB_LOCK_H
#define CANARY_BPF_LIB_LOCK_H

/* About as long as it takes to add the largest block */
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

CSW_FUNC int csw_lock_wait(__u32 *lock)
{
	int i;

	if (!lock)
		return 0;
	CSW_LOOP
	for (i = 0; i < CSW_LOCK_TRIES; i++) {
		if (CSW_READ(*lock) == 0 && csw_trylock(lock))
			return 1;
	}
	return 0;
}

static __always_inline bool csw_lock(__u32 *lock)
{
	return csw_trylock(lock) || csw_lock_wait(lock);
}

#endif /* CANARY_BPF_LIB_LOCK_H */
