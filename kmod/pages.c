// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of outgoing packets. They are cut from pages one after the other, as drivers do it for
 * incoming packets. Kernels that clear what they allocate (init_on_alloc) take longer to clear such
 * memory than to write the packet. So pages are used again when all of their packets are gone. Each
 * processor keeps some, and takes them in turn. By the time it comes back to a page, the packets
 * have usually left the machine.
 *
 * Context: softirqs are off; a struct canary_pages belongs to its processor.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include "canary.h"

#define CANARY_PAGES		16	/* pages that a processor keeps */
#define CANARY_PAGES_ORDER	get_order(SZ_32K)
#define CANARY_PAGES_SIZE	(PAGE_SIZE << CANARY_PAGES_ORDER)

/*
 * struct canary_pages - pages of a processor
 * @page:	compound pages, or NULL. The array has a reference, and each packet has one
 * @now:	the one from which packets are cut
 * @used:	how many bytes of it packets have
 */
struct canary_pages {
	struct page	*page[CANARY_PAGES];
	u32		now;
	u32		used;
};

static DEFINE_PER_CPU(struct canary_pages, canary_pages);

/* Turn to the next page. It is replaced if packets still lie in it. Return: NULL without memory */
static struct page *canary_pages_turn(struct canary_pages *p)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY | __GFP_NOMEMALLOC;
	struct page **page;

	p->now = (p->now + 1) % CANARY_PAGES;
	p->used = 0;
	page = &p->page[p->now];
	if (*page && page_ref_count(*page) != 1) {
		put_page(*page);
		*page = NULL;
	}
	if (!*page)
		*page = alloc_pages(gfp, CANARY_PAGES_ORDER);
	return *page;
}

/*
 * A device may want so much room in front of packets that they do not fit. The needs of tunnels in
 * tunnels add up, and who owns a network namespace can make them.
 * @size:	a multiple of SMP_CACHE_BYTES
 *
 * Return: @size bytes for build_skb(), which skb_free_frag() gives back; NULL without memory, or
 * if they do not fit
 */
void *canary_pages_cut(unsigned int size)
{
	struct canary_pages *p = this_cpu_ptr(&canary_pages);
	struct page *page = p->page[p->now];
	void *data;

	if (size > CANARY_PAGES_SIZE)
		return NULL;
	if (!page || p->used + size > CANARY_PAGES_SIZE)
		page = canary_pages_turn(p);
	if (!page)
		return napi_alloc_frag(size);
	get_page(page);
	data = page_address(page) + p->used;
	p->used += size;
	return data;
}

/* Context: nobody sends any more. */
void canary_pages_exit(void)
{
	struct canary_pages *p;
	u32 cpu, i;

	for_each_possible_cpu(cpu) {
		p = per_cpu_ptr(&canary_pages, cpu);
		for (i = 0; i < CANARY_PAGES; i++)
			if (p->page[i])
				put_page(p->page[i]);
	}
}
