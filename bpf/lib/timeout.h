/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The timeout, from first contribution to sending on: constant, or following the skew of arrivals
 * that is seen, within the administrator's bounds. One for all blocks of the switch.
 */
#ifndef CANARY_BPF_LIB_TIMEOUT_H
#define CANARY_BPF_LIB_TIMEOUT_H

static __always_inline __u64 csw_timeout(const void *ctx)
{
	const struct csw_config *c = csw_config(ctx);
	__u64 timeout = 0;

	/* What somebody who still adapted has left there does not hold for ever. */
	if (c->timeout_max)
		timeout = CSW_READ(csw_queue_ctl(ctx)->timeout);
	return timeout ? timeout : c->timeout_ns;
}

/*
 * The last contribution that was expected for @d is here, or a straggler: mean and deviation as of
 * round trips (RFC 6298). The root switch waits several timeouts, so there each counts for its
 * part: what others waited must not make all wait longer. Two processors at once lose a sample.
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
