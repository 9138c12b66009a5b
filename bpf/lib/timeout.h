/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The timeout, from the first contribution to sending on. It is constant, or it follows the skew of
 * arrivals within the administrator's bounds. All blocks of the switch have the same one.
 */
#ifndef CANARY_BPF_LIB_TIMEOUT_H
#define CANARY_BPF_LIB_TIMEOUT_H

static __always_inline __u64 csw_timeout(const void *ctx)
{
	const struct csw_config *c = csw_config(ctx);
	__u64 timeout = 0;

	/* If it does not adapt any more, ignore the last adapted one. */
	if (c->timeout_max)
		timeout = CSW_READ(csw_queue_ctl(ctx)->timeout);
	return timeout ? timeout : c->timeout_ns;
}

/*
 * Learn the skew from the last expected contribution for @d, or from a straggler. Mean and
 * deviation are computed as for round trips (RFC 6298). A root switch waits several timeouts, so
 * its skew is divided by their number: what it waited for other switches must not make all blocks
 * wait longer. If two processors learn at the same time, one sample is lost.
 */
CSW_FUNC int csw_learn_skew(csw_xdp *ctx, struct csw_descriptor *d)
{
	struct csw_queue_ctl *q = csw_queue_ctl(ctx);
	const struct csw_config *c = csw_config(ctx);
	__s64 sample, error, mean, deviation;
	__u64 timeout;

	if (!d || !c->timeout_max)
		return 0;
	sample = (csw_now(ctx) - d->born) / (d->waits + 1U);
	if (sample < 0 || sample > c->timeout_max)
		sample = c->timeout_max;
	mean = CSW_READ(q->mean);
	deviation = CSW_READ(q->deviation);
	if (!mean) {
		mean = sample;
		deviation = sample >> 1;
	} else {
		error = sample - mean;
		mean += error >> 3;
		deviation += ((error < 0 ? -error : error) - deviation) >> 2;
	}
	timeout = mean + 4 * deviation;
	if (timeout < c->timeout_min)
		timeout = c->timeout_min;
	if (timeout > c->timeout_max)
		timeout = c->timeout_max;
	q->mean = mean;
	q->deviation = deviation;
	*(volatile __u64 *)&q->timeout = timeout;
	return 0;
}

#endif /* CANARY_BPF_LIB_TIMEOUT_H */
