// SPDX-License-Identifier: GPL-2.0
/*
 * Vectors in the caller's memory. Contributions are read where they are, and results are written
 * where the caller wants them. Pages are pinned from sendmsg() until nobody can ask for the results
 * any more. Only then does the operation complete, so the caller gets its buffers back entirely.
 *
 * Pinned pages count against RLIMIT_MEMLOCK of the caller's user (CAP_IPC_LOCK: no limit), as for
 * other sockets. The kernel maps the pages a second time, in one piece, for the core.
 *
 * Meanwhile the caller may write to the buffers, fork, unmap or exit: it is its own memory. So
 * nothing here trusts data that are read twice. Data that change between their checksum and their
 * packet are found by the checksum. Results are as they were when they were made, or nobody
 * believes them (cnr_op.hashes). Nothing that is written after the completion gets into a packet:
 * packets are copies (send.c).
 */

#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "canary.h"

static u32 canary_pin_pages(unsigned long addr, size_t bytes)
{
	return (offset_in_page(addr) + bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

/* Undo canary_pin(). May sleep. @pin may be empty or half made. */
static void canary_pin_undo(struct canary_pin *pin)
{
	if (pin->map)
		vunmap(pin->map);
	if (pin->pinned)
		unpin_user_pages_dirty_lock(pin->pages, pin->pinned, pin->write);
	kvfree(pin->pages);
}

/*
 * Pin @n pages from @addr on, in parts, so that a signal that kills need not wait for all of them.
 */
static int canary_pin_get(struct canary_pin *pin, unsigned long addr, u32 n)
{
	const unsigned int flags = FOLL_LONGTERM | (pin->write ? FOLL_WRITE : 0);
	int got;

	while (pin->pinned < n) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast((addr & PAGE_MASK) +
					  ((unsigned long)pin->pinned << PAGE_SHIFT),
					  min_t(u32, n - pin->pinned, 512), flags,
					  pin->pages + pin->pinned);
		if (got <= 0)
			return got ?: -EFAULT;
		pin->pinned += got;
	}
	return 0;
}

/*
 * Pin and map @bytes from @addr on. Return: 0, or an error; the caller then has to call
 * canary_pin_undo()
 */
static int canary_pin(struct canary_pin *pin, unsigned long addr, size_t bytes, bool write)
{
	u32 n = canary_pin_pages(addr, bytes);
	int err;

	pin->write = write;
	pin->pages = kvmalloc_array(n, sizeof(*pin->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pin->pages)
		return -ENOBUFS;
	err = canary_pin_get(pin, addr, n);
	if (err)
		return err;
	pin->map = vmap(pin->pages, n, VM_MAP, PAGE_KERNEL);
	if (!pin->map)
		return -ENOBUFS;
	pin->data = pin->map + offset_in_page(addr);
	return 0;
}

/* Find the address of a message that is in one piece. Return: 0, or -EINVAL if it is not */
static int canary_pin_source(const struct iov_iter *iter, size_t bytes, unsigned long *addr)
{
	if (!user_backed_iter(iter) || iov_iter_single_seg_count(iter) < bytes)
		return -EINVAL;
#ifdef CANARY_ITER_IOV_ADDR
	*addr = (unsigned long)iter_iov_addr(iter);
#else
	*addr = iter_is_ubuf(iter) ? (unsigned long)iter->ubuf : (unsigned long)iter->iov->iov_base;
	*addr += iter->iov_offset;
#endif
	return 0;
}

/* Do two ranges overlap partly? The same range twice is all right. */
static bool canary_pin_overlap(unsigned long a, unsigned long b, size_t bytes)
{
	return a != b && (a < b ? b - a : a - b) < bytes;
}

/* Return: what a pinned vector costs the kernel */
size_t canary_pin_charge(u32 bytes, u32 blocks)
{
	size_t pages = (bytes >> PAGE_SHIFT) + 2;

	return sizeof(struct canary_vector) + pages * 2 * sizeof(struct page *) +
	       (size_t)blocks * sizeof(u64);
}

static int canary_pin_vector(struct canary_vector *v, unsigned long from, unsigned long to,
			     u32 blocks)
{
	size_t bytes = v->bytes;
	int err;

	v->hashes = kvmalloc_array(blocks, sizeof(*v->hashes), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!v->hashes)
		return -ENOBUFS;
	err = mm_account_pinned_pages(&v->locked, from == to ? bytes : 2 * bytes);
	if (err)
		return err;
	err = canary_pin(&v->to, to, bytes, true);
	if (!err && from != to)
		err = canary_pin(&v->from, from, bytes, false);
	if (err)
		return err;
	v->data = v->to.data;
	if (from != to)
		v->source = v->from.data;
	return 0;
}

/*
 * Make a vector of the caller's memory.
 * @iter:	the contributions
 * @to:		address for the results; it may be that of the contributions
 * @blocks:	how many blocks it may have
 * @charge:	what was reserved for it
 * Context: process, the caller's. Return: the vector, or an error pointer
 */
struct canary_vector *canary_vector_pin(const struct iov_iter *iter, u64 to, u32 bytes, u32 blocks,
					size_t charge)
{
	struct canary_vector *v;
	unsigned long from;
	int err;

	might_sleep();
	err = canary_pin_source(iter, bytes, &from);
	if (err)
		return ERR_PTR(err);
	if (to != (unsigned long)to || to + bytes < to)
		return ERR_PTR(-EFAULT);
	if ((from | to) % sizeof(u32) || canary_pin_overlap(from, to, bytes))
		return ERR_PTR(-EINVAL);
	v = kzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);
	if (!v)
		return ERR_PTR(-ENOBUFS);
	INIT_LIST_HEAD(&v->all);
	INIT_LIST_HEAD(&v->done);
	v->charge = charge;
	v->bytes = bytes;
	v->pinned = true;
	err = canary_pin_vector(v, from, to, blocks);
	if (err) {
		canary_vector_unpin(v);
		kfree(v);
		return ERR_PTR(err);
	}
	return v;
}

/* Give the pages back. May sleep. */
void canary_vector_unpin(struct canary_vector *v)
{
	might_sleep();
	canary_pin_undo(&v->from);
	canary_pin_undo(&v->to);
	mm_unaccount_pinned_pages(&v->locked);
	kvfree(v->hashes);
}
