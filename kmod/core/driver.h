/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What all drivers do after each call of the core: send what it wants sent, and hand back what it
 * is done with. It is inline, so a driver can say what it does in functions at no cost.
 *
 * Locking and context: as cnr_poll().
 */
#ifndef CANARY_CORE_DRIVER_H
#define CANARY_CORE_DRIVER_H

#include "core.h"

/**
 * struct cnr_driver - what a driver does with what the core has for it
 * @room:	may another packet be sent now? NULL: always
 * @send:	send it; its payload is good until this returns
 * @completed:	an operation completed. It may post the next one
 * @released:	the core does not need the vector any longer. It comes after @completed
 *
 * The first argument of all is what cnr_drive() was given.
 */
struct cnr_driver {
	bool (*room)(void *driver);
	void (*send)(void *driver, const struct cnr_out *out);
	void (*completed)(void *driver, const struct cnr_done *done);
	void (*released)(void *driver, const struct cnr_done *done);
};

/* Why cnr_drive() returned, and what is left to do */
enum cnr_left {
	CNR_LEFT_NOTHING,	/* nothing before the next call, or cnr_deadline() */
	CNR_LEFT_WORK,		/* more work can be done at once: cnr_work() did some */
	CNR_LEFT_PACKETS,	/* there was no room; packets may wait */
};

/* Hand back operations that completed, and vectors that the core needs no longer. */
static __always_inline void cnr_hand_back(struct cnr_comm *c, const struct cnr_driver *d,
					  void *driver)
{
	struct cnr_done done;

	while (cnr_completion(c, &done))
		d->completed(driver, &done);
	while (cnr_released(c, &done))
		d->released(driver, &done);
}

/* Send as far as there is room. If nothing is left to send, do some of the work. Then hand back. */
static __always_inline enum cnr_left cnr_drive(struct cnr_comm *c, u64 now,
					       const struct cnr_driver *d, void *driver)
{
	enum cnr_left left = CNR_LEFT_PACKETS;
	struct cnr_out out;

	while (!d->room || d->room(driver)) {
		if (!cnr_poll(c, now, &out)) {
			left = cnr_work(c, now) ? CNR_LEFT_WORK : CNR_LEFT_NOTHING;
			break;
		}
		d->send(driver, &out);
	}
	cnr_hand_back(c, d, driver);
	return left;
}

#endif /* CANARY_CORE_DRIVER_H */
