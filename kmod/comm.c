// SPDX-License-Identifier: GPL-2.0
/*
 * The engine drives one protocol core. Something happens to it: a packet, a call, the timer, or
 * room in the UDP socket. Then canary_comm_pump() or, in a process, canary_comm_drive() carries out
 * what the core wants.
 */

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "canary.h"
#include "core/driver.h"
#include "trace.h"

/*
 * Hand ended operations to the application, in order. An operation in the application's own buffers
 * waits until the core has released them.
 */
static bool canary_comm_hand_over(struct canary_comm *comm)
{
	struct canary_vector *v, *next;
	bool any = false;

	list_for_each_entry_safe(v, next, &comm->ended, done) {
		if (v->pinned && !v->released)
			break;
		list_move_tail(&v->done, &comm->done);
		comm->pending--;
		any = true;
	}
	return any;
}

/*
 * As soon as the core knows the epoch, packets may have it. If another engine of this port has that
 * session already, rank 0 lies. No packet could reach this engine, so it ends.
 */
static void canary_comm_know(struct canary_comm *comm, u64 now)
{
	u32 epoch = cnr_session(comm->core);

	if (!epoch || comm->session.given || canary_endpoint_know(comm, epoch))
		return;
	cnr_close(comm->core, now, true);
	if (comm->sk)
		WRITE_ONCE(comm->sk->sk_err, EADDRINUSE);
}

/* Tell the face what has changed. Without a face, end the engine when it has lingered. */
static void canary_comm_events(struct canary_comm *comm, bool any)
{
	enum cnr_state state = cnr_state(comm->core);
	struct sock *sk = comm->sk;

	if (!sk) {
		comm->state = state;
		if (state == CNR_CLOSED || state == CNR_FAILED)
			canary_comm_schedule_end(comm);
		return;
	}
	if (any) {
		sk->sk_data_ready(sk);
		sk->sk_write_space(sk);
	}
	if (state == comm->state)
		return;
	comm->state = state;
	if (state == CNR_CONNECTED)
		comm->connected = true;
	if (state == CNR_FAILED) {
		enum canary_abort why;

		WRITE_ONCE(sk->sk_err, -cnr_failure(comm->core, &why));
		sk_error_report(sk);
	}
	sk->sk_state_change(sk);
}

/*
 * Arm the timer, unless it fires earlier anyway: the core does not mind that. Whatever the core
 * wants, the timer never fires twice within CANARY_TIMER_GAP, since softirqs keep everything else
 * from running.
 */
static void canary_comm_arm(struct canary_comm *comm)
{
	u64 deadline = max(cnr_deadline(comm->core), comm->fired + CANARY_TIMER_GAP);

	if (comm->dead || deadline >= comm->armed)
		return;
	comm->armed = deadline;
	hrtimer_start(&comm->timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS_SOFT);
}

/*
 * Is the UDP socket full, or our part of this host's queues? Then we wait until half of it has left
 * the machine, so that others get in. canary_comm_space() looks at each packet that leaves.
 * Context: canary_comm.lock is held.
 */
static bool canary_comm_blocked(struct canary_comm *comm, u64 now)
{
	int most = min3(cnr_host_room(comm->core, now), (u32)READ_ONCE(comm->usk->sk_sndbuf),
			(u32)INT_MAX);

	if (sk_wmem_alloc_get(comm->usk) < (comm->draining ? most / 2 : most)) {
		comm->draining = false;
		return false;
	}
	comm->draining = true;
	set_bit(CANARY_COMM_BLOCKED, &comm->flags);
	/*
	 * There may have been room just before the bit was set, so look again. The bit has to be
	 * set before this look: pairs with sock_wfree() and canary_train_free(), which make room
	 * before they wake the wait queue.
	 */
	smp_mb__after_atomic();
	if (sk_wmem_alloc_get(comm->usk) >= most / 2)
		return true;
	clear_bit(CANARY_COMM_BLOCKED, &comm->flags);
	comm->draining = false;
	return false;
}

/* What the core's driver functions get while canary_comm.lock is held */
struct canary_round {
	struct canary_comm *comm;
	struct sk_buff_head *queue;	/* packets to be sent */
	struct list_head *freed;	/* vectors to be freed */
	u64	now;
	u32	most;			/* packets that may still be taken */
	bool	blocked;
	bool	any;			/* an operation ended or was released */
};

static bool canary_round_room(void *driver)
{
	struct canary_round *r = driver;

	if (!r->most)
		return false;
	r->blocked = canary_comm_blocked(r->comm, r->now);
	return !r->blocked;
}

static void canary_round_send(void *driver, const struct cnr_out *out)
{
	struct canary_round *r = driver;

	r->most--;
	canary_send_add(r->comm, out, r->queue);
}

/* The operation goes to the application, if there still is one. */
static void canary_round_completed(void *driver, const struct cnr_done *done)
{
	struct canary_vector *v = (struct canary_vector *)(uintptr_t)done->cookie;
	struct canary_round *r = driver;

	v->error = done->error;
	v->attempts = done->attempts;
	v->method = done->method;
	v->seq = done->seq;
	trace_completion(r->comm, v);
	if (r->comm->sk)
		list_add_tail(&v->done, &r->comm->ended);
	else
		canary_vector_put_locked(r->comm, v, r->freed);
	r->any = true;
}

static void canary_round_released(void *driver, const struct cnr_done *done)
{
	struct canary_vector *v = (struct canary_vector *)(uintptr_t)done->cookie;
	struct canary_round *r = driver;

	v->released = true;
	canary_vector_put_locked(r->comm, v, r->freed);
	r->any = true;
}

static const struct cnr_driver canary_driver = {
	.room		= canary_round_room,
	.send		= canary_round_send,
	.completed	= canary_round_completed,
	.released	= canary_round_released,
};

/* Carry out some of what the core wants, at most @most packets, and unlock. */
static enum canary_left canary_comm_round(struct canary_comm *comm, u64 now, u32 most,
					  bool in_process)
	__releases(comm->lock)
{
	enum canary_left left = CANARY_LEFT_NOTHING;
	struct canary_round r = { .comm = comm, .now = now, .most = most };
	struct sk_buff_head queue;
	LIST_HEAD(freed);
	bool held;

	__skb_queue_head_init(&queue);
	if (comm->core) {
		r.queue = &queue;
		r.freed = &freed;
		if (comm->state == CNR_NEW || comm->state == CNR_JOINING)
			canary_comm_know(comm, now);
		canary_trains_begin(comm, now);
		held = comm->train_most > 1 && cnr_vector_hold(CANARY_PAYLOAD_MAX / sizeof(u32));
		if (cnr_drive(comm->core, now, &canary_driver, &r) != CNR_LEFT_NOTHING)
			left = r.blocked ? CANARY_LEFT_BLOCKED : CANARY_LEFT_MORE;
		if (held)
			cnr_vector_release();
		canary_send_unplace(comm);
		canary_trains_end(comm);
		r.any |= canary_comm_hand_over(comm);
		canary_comm_events(comm, r.any);
		canary_comm_arm(comm);
		/* When the engine ends, a process sends the goodbyes, not the tasklet. */
		if (left == CANARY_LEFT_MORE && !in_process && !comm->dead) {
			set_bit(CANARY_COMM_MORE, &comm->flags);
			tasklet_schedule(&comm->go_on);
		}
	}
	spin_unlock_bh(&comm->lock);
	if (!skb_queue_empty(&queue))
		canary_send_queue(comm, &queue);
	canary_vectors_free(&freed, false);
	return left;
}

/*
 * Carry out what the core wants, and unlock. What is more than a batch is left to the tasklet.
 * Others have their turn between its runs, in the end processes, too (ksoftirqd).
 * @now:	ktime_get_ns(), read under the lock Context: softirq; canary_comm.lock is held and
 *		will be released.
 */
static void canary_comm_pump(struct canary_comm *comm, u64 now)
	__releases(comm->lock)
{
	bool few = test_bit(CANARY_COMM_MORE, &comm->flags);

	canary_comm_round(comm, now, few ? CANARY_FEW : CANARY_BATCH, false);
}

/*
 * The same after packets came together. Until the tasklet has run, only a few packets are sent for
 * each: answers to what just came go first. Where there are trains, others may be waiting behind a
 * single packet. Then the tasklet does it after all of them have come: only then has the core
 * several to send to one member. A packet that was dropped does not start it: strangers may send
 * very many of them.
 * @late:	their turn is over (turn.c), so only a few are sent, too
 * @n:		how many came
 * @taken:	the core took the last one
 *
 * Context: as canary_comm_pump().
 */
void canary_comm_answer(struct canary_comm *comm, u64 now, bool late, u32 n, bool taken)
	__releases(comm->lock)
{
	bool few = late || test_bit(CANARY_COMM_MORE, &comm->flags);

	if (n > 1 || !taken || comm->train_most < 2) {
		n = min_t(u32, n, CANARY_BATCH / CANARY_FEW);
		canary_comm_round(comm, now, few ? n * CANARY_FEW : CANARY_BATCH, false);
		return;
	}
	/* When the engine ends, a process sends what is left. */
	if (!comm->dead && !test_and_set_bit(CANARY_COMM_MORE, &comm->flags))
		tasklet_schedule(&comm->go_on);
	spin_unlock_bh(&comm->lock);
}

/*
 * The same in a process. It goes on by itself, since others may run meanwhile. It does not do so
 * for ever, as packets of other members may keep it busy. Context: process; canary_comm.lock is
 * held and will be released.
 */
enum canary_left canary_comm_drive(struct canary_comm *comm)
	__releases(comm->lock)
{
	enum canary_left left;
	u32 n;

	for (n = 1;; n++) {
		left = canary_comm_round(comm, ktime_get_ns(), CANARY_BATCH, n < CANARY_BATCHES);
		might_sleep();
		if (left != CANARY_LEFT_MORE || n == CANARY_BATCHES)
			return left;
		cond_resched();
		spin_lock_bh(&comm->lock);
	}
}

/*
 * Put the engine off until @when, if @when is not 0: others have their turn first. An engine that
 * ends is never put off. Return: true if it was put off
 */
static bool canary_comm_put_off(struct canary_comm *comm, u64 when)
{
	lockdep_assert_held(&comm->lock);
	if (!when || comm->dead)
		return false;
	if (when < comm->armed) {
		comm->armed = when;
		hrtimer_start(&comm->timer, ns_to_ktime(when), HRTIMER_MODE_ABS_SOFT);
	}
	return true;
}

static enum hrtimer_restart canary_comm_timer(struct hrtimer *timer)
{
	struct canary_comm *comm = container_of(timer, struct canary_comm, timer);
	u64 when = canary_turn_begin(CANARY_TURN_TIMER, comm, ktime_get_ns());

	spin_lock_bh(&comm->lock);
	comm->armed = CNR_NEVER;
	if (canary_comm_put_off(comm, when)) {
		spin_unlock_bh(&comm->lock);
		return HRTIMER_NORESTART;
	}
	comm->fired = ktime_get_ns();
	if (comm->core)
		cnr_timer(comm->core, comm->fired);
	canary_comm_pump(comm, comm->fired);
	canary_turn_end(CANARY_TURN_TIMER);
	return HRTIMER_NORESTART;
}

/*
 * The UDP socket's wait queue says that there is room. Nothing may be transmitted from here, as a
 * device may just be giving packets back. So the tasklet goes on.
 */
static int canary_comm_space(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct canary_comm *comm = container_of(entry, struct canary_comm, space);

	if (test_and_clear_bit(CANARY_COMM_BLOCKED, &comm->flags))
		tasklet_schedule(&comm->go_on);
	return 0;
}

static void canary_comm_go_on(struct tasklet_struct *tasklet)
{
	struct canary_comm *comm = from_tasklet(comm, tasklet, go_on);
	u64 when = canary_turn_begin(CANARY_TURN_TASKLET, comm, ktime_get_ns());

	spin_lock_bh(&comm->lock);
	clear_bit(CANARY_COMM_MORE, &comm->flags);
	if (canary_comm_put_off(comm, when)) {
		spin_unlock_bh(&comm->lock);
		return;
	}
	canary_comm_pump(comm, ktime_get_ns());
	canary_turn_end(CANARY_TURN_TASKLET);
}

/*
 * Take the core away, and free it. Its counters stay in the namespace. A process that adds up
 * counters meanwhile sees them exactly once.
 */
static void canary_comm_drop_core(struct canary_comm *comm)
{
	struct canary_net *cn = canary_net(comm->net);
	struct cnr_comm *core;
	size_t size;

	mutex_lock(&cn->lock);
	spin_lock_bh(&comm->lock);
	core = comm->core;
	size = comm->core_size;
	comm->core = NULL;
	comm->core_size = 0;
	comm->state = CNR_NEW;
	comm->connected = false;
	canary_send_forget_routes(comm);
	if (core)
		canary_stats_fold(comm, cnr_stats(core));
	spin_unlock_bh(&comm->lock);
	mutex_unlock(&cn->lock);
	canary_endpoint_forget(comm);
	if (!core)
		return;
	canary_members_give(comm->net, comm->counted);
	/* The core holds keys. */
	memzero_explicit(core, size);
	kvfree(core);
	canary_memory_give(comm->net, size);
}

/*
 * Give the engine its name for packets: the communicator; with a table, which knows it,
 * communicator and epoch. Context: process; lock_sock is held. Return: 0, or -EADDRINUSE
 */
static int canary_comm_name(struct canary_comm *comm)
{
	bool known;

	if (!comm->table)
		return canary_endpoint_begin(comm);
	spin_lock_bh(&comm->lock);
	known = canary_endpoint_know(comm, comm->table->of.epoch);
	spin_unlock_bh(&comm->lock);
	return known ? 0 : -EADDRINUSE;
}

/*
 * Make a core, and begin the rendezvous; with CANARY_TABLE, form the communicator. It takes the
 * place of a core whose rendezvous failed. Context: process, lock_sock is held; the port is open.
 */
int canary_comm_start(struct canary_comm *comm, const struct cnr_config *cfg)
{
	/* The core needs an alignment of 64. kvmalloc() aligns to the power of two, or to pages. */
	size_t size = max_t(size_t, cnr_size(cfg), SZ_4K);
	void *mem;
	int err;

	might_sleep();
	canary_comm_drop_core(comm);
	err = canary_comm_name(comm);
	if (err)
		return err;
	comm->counted = comm->req.members;
	err = canary_members_take(comm->net, comm->counted);
	if (err)
		goto err_name;
	err = canary_memory_take(comm->net, size);
	if (err)
		goto err_count;
	mem = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem) {
		err = -ENOBUFS;
		goto err_memory;
	}
	spin_lock_bh(&comm->lock);
	comm->core = cnr_init(mem, cfg);
	comm->core_size = size;
	if (comm->table)
		err = cnr_form(comm->core, ktime_get_ns(), &comm->table->of);
	else
		err = cnr_connect(comm->core, ktime_get_ns());
	canary_comm_drive(comm);
	if (err)
		canary_comm_drop_core(comm);
	return err;

err_memory:
	canary_memory_give(comm->net, size);
err_count:
	canary_members_give(comm->net, comm->counted);
err_name:
	canary_endpoint_forget(comm);
	return err;
}

/*
 * Give up the core, and the port that connect() had chosen: after a failed rendezvous the next one
 * may want others. Context: process, lock_sock is held.
 */
void canary_comm_give_port(struct canary_comm *comm)
{
	might_sleep();
	canary_comm_drop_core(comm);
	remove_wait_queue(sk_sleep(comm->usk), &comm->space);
	canary_port_close(comm);
	comm->found = false;
}

/*
 * Send a goodbye to every member, however many there are. If the UDP socket is full, it gets time
 * to drain, but not much where the namespace waits for its engines.
 */
static void canary_comm_goodbye(struct canary_comm *comm)
{
	const struct canary_net *cn = canary_net(comm->net);
	unsigned int tries, waited = 0;
	enum canary_left left;

	for (tries = 0; tries < CANARY_GOODBYE_TRIES; tries++) {
		spin_lock_bh(&comm->lock);
		left = canary_comm_drive(comm);
		if (left == CANARY_LEFT_NOTHING || !comm->usock)
			break;
		if (left != CANARY_LEFT_BLOCKED)
			continue;
		if (READ_ONCE(cn->going) && ++waited > CANARY_GOODBYE_GOING)
			break;
		usleep_range(1000, 2000);
	}
}

/*
 * End the engine. The caller has set CANARY_COMM_ENDING. It says goodbye, stops everything that
 * could start something, in the order of who starts whom, and frees all of it. Context: process.
 */
static void canary_comm_end(struct canary_comm *comm)
{
	struct canary_net *cn = canary_net(comm->net);
	struct canary_vector *v;

	might_sleep();
	spin_lock_bh(&comm->lock);
	if (comm->core && cnr_state(comm->core) != CNR_CLOSED)
		cnr_close(comm->core, ktime_get_ns(), true);
	comm->dead = true;
	spin_unlock_bh(&comm->lock);
	canary_comm_goodbye(comm);

	if (comm->usock)
		remove_wait_queue(sk_sleep(comm->usk), &comm->space);
	tasklet_kill(&comm->go_on);
	hrtimer_cancel(&comm->timer);
	canary_comm_drop_core(comm);
	canary_table_set(comm, NULL);

	mutex_lock(&cn->lock);
	list_del(&comm->list);
	mutex_unlock(&cn->lock);
	if (comm->usock)
		canary_port_close(comm);
	list_for_each_entry(v, &comm->vectors, all)
		canary_memory_give(comm->net, v->charge);
	canary_vectors_free(&comm->vectors, true);
	/* Nothing of the engine is in the namespace any more. */
	if (atomic_dec_and_test(&cn->engines))
		wake_up_var(&cn->engines);
	memzero_explicit(&comm->req, sizeof(comm->req));
	kfree_rcu(comm, rcu);
	module_put(THIS_MODULE);
}

static void canary_comm_end_work(struct work_struct *work)
{
	canary_comm_end(container_of(work, struct canary_comm, end_work));
}

/* Let the work queue end the engine, unless it is being ended already. Context: any. */
void canary_comm_schedule_end(struct canary_comm *comm)
{
	if (!test_and_set_bit(CANARY_COMM_ENDING, &comm->flags))
		queue_work(canary_wq, &comm->end_work);
}

/*
 * Give up results that the application did not receive, which may be very many. @unread belongs to
 * the caller. Context: process; no engine ends meanwhile.
 */
static void canary_comm_give_up(struct canary_comm *comm, struct list_head *unread)
{
	struct canary_vector *v, *next;
	u32 n;

	while (!list_empty(unread)) {
		LIST_HEAD(freed);

		n = 0;
		spin_lock_bh(&comm->lock);
		list_for_each_entry_safe(v, next, unread, done) {
			list_del_init(&v->done);
			canary_vector_put_locked(comm, v, &freed);
			if (++n == CANARY_BATCH)
				break;
		}
		spin_unlock_bh(&comm->lock);
		canary_vectors_free(&freed, true);
	}
}

/* The face goes: linger, or end the engine. Context: process, from release(). */
void canary_comm_close(struct canary_comm *comm)
{
	LIST_HEAD(unread);
	bool end = true;

	might_sleep();
	spin_lock_bh(&comm->lock);
	comm->sk = NULL;
	/* Without a face nothing is added to the list any more. */
	list_splice_tail_init(&comm->done, &unread);
	list_splice_tail_init(&comm->ended, &unread);
	if (comm->core) {
		cnr_close(comm->core, ktime_get_ns(), !comm->linger);
		end = cnr_state(comm->core) == CNR_CLOSED;
	}
	/*
	 * Nobody else may end the engine until this function has carried out what the core wants.
	 */
	set_bit(CANARY_COMM_ENDING, &comm->flags);
	canary_comm_drive(comm);
	canary_comm_give_up(comm, &unread);
	canary_spares_end(comm);
	if (!end) {
		spin_lock_bh(&comm->lock);
		end = comm->state == CNR_CLOSED || comm->state == CNR_FAILED;
		if (!end)
			clear_bit(CANARY_COMM_ENDING, &comm->flags);
		spin_unlock_bh(&comm->lock);
	}
	if (end)
		canary_comm_end(comm);
}

/* Make the engine of a new socket. */
struct canary_comm *canary_comm_alloc(struct sock *sk)
{
	struct net *net = sock_net(sk);
	struct canary_net *cn = canary_net(net);
	struct canary_comm *comm;

	comm = kzalloc(sizeof(*comm), GFP_KERNEL_ACCOUNT);
	if (!comm)
		return NULL;
	/* This cannot fail, since the caller's socket holds a reference. */
	__module_get(THIS_MODULE);
	spin_lock_init(&comm->lock);
	comm->sk = sk;
	comm->net = net;
	comm->uid = READ_ONCE(sk->sk_uid);
	comm->state = CNR_NEW;
	comm->armed = CNR_NEVER;
	comm->linger = CANARY_LINGER_DEFAULT;
	comm->dead_after = CANARY_DEAD_DEFAULT;
	comm->joining.comm = comm;
	comm->session.comm = comm;
	INIT_LIST_HEAD(&comm->vectors);
	canary_spares_init(comm);
	INIT_LIST_HEAD(&comm->ended);
	INIT_LIST_HEAD(&comm->done);
#ifdef CANARY_HRTIMER_SETUP
	hrtimer_setup(&comm->timer, canary_comm_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(&comm->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	comm->timer.function = canary_comm_timer;
#endif
	init_waitqueue_func_entry(&comm->space, canary_comm_space);
	tasklet_setup(&comm->go_on, canary_comm_go_on);
	INIT_WORK(&comm->end_work, canary_comm_end_work);

	atomic_inc(&cn->engines);
	mutex_lock(&cn->lock);
	list_add_tail(&comm->list, &cn->comms);
	mutex_unlock(&cn->lock);
	return comm;
}
