// SPDX-License-Identifier: GPL-2.0
/*
 * For guests whose time counts instructions. There, the clock of an idle processor jumps to the
 * next timer. The guest is idle while it waits for a file of the machine. Opening a file would take
 * from 10 ms to a minute of its time, depending on how busy the machine is.
 *
 * This module keeps the processor from being idle while a 9p request is pending. It uses an
 * instruction that takes the machine long, so that hardly any time passes in the guest.
 */

#include <linux/atomic.h>
#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <uapi/linux/sched/types.h>

/* An unused port: firmware writes its progress there. */
#define SLOW_PORT	0x80

/*
 * Number of reads of the port without a request or a reply, which take a second or more. After that
 * a reply was missed: a clock that jumps is better than one that stands still.
 */
#define PATIENCE	1000000

static DECLARE_WAIT_QUEUE_HEAD(vm_wait_queue);
static atomic_t vm_wait_pending = ATOMIC_INIT(0);
static unsigned int vm_wait_patience;
static struct task_struct *vm_wait_task;

static int vm_wait_request(struct kprobe *probe, struct pt_regs *regs)
{
	WRITE_ONCE(vm_wait_patience, PATIENCE);
	atomic_inc(&vm_wait_pending);
	wake_up(&vm_wait_queue);
	return 0;
}

static int vm_wait_reply(struct kprobe *probe, struct pt_regs *regs)
{
	WRITE_ONCE(vm_wait_patience, PATIENCE);
	/* Replies to requests from before this module was loaded do not count. */
	atomic_dec_if_positive(&vm_wait_pending);
	return 0;
}

static struct kprobe vm_wait_probes[] = {
	{ .symbol_name = "p9_virtio_request", .pre_handler = vm_wait_request },
	{ .symbol_name = "p9_virtio_zc_request", .pre_handler = vm_wait_request },
	{ .symbol_name = "p9_client_cb", .pre_handler = vm_wait_reply },
	{ .symbol_name = "p9_virtio_cancelled", .pre_handler = vm_wait_reply },
};

static void vm_wait_spin(void)
{
	while (atomic_read(&vm_wait_pending) > 0 && !kthread_should_stop()) {
		inb(SLOW_PORT);
		cond_resched();
		if (!--vm_wait_patience) {
			pr_info("vm_wait: %d replies missed\n", atomic_read(&vm_wait_pending));
			atomic_set(&vm_wait_pending, 0);
		}
	}
}

/* SCHED_IDLE: everything else that has work goes first. */
static int vm_wait_thread(void *unused)
{
	static const struct sched_attr attr = { .sched_policy = SCHED_IDLE };
	int err = sched_setattr_nocheck(current, &attr);

	if (err)
		pr_err("vm_wait: cannot become idle: %d\n", err);
	while (!kthread_should_stop()) {
		wait_event_interruptible(vm_wait_queue, atomic_read(&vm_wait_pending) > 0 ||
					 kthread_should_stop());
		vm_wait_spin();
	}
	return 0;
}

static void vm_wait_unregister(int probes)
{
	while (probes--)
		unregister_kprobe(&vm_wait_probes[probes]);
}

static int __init vm_wait_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(vm_wait_probes); i++) {
		err = register_kprobe(&vm_wait_probes[i]);
		if (err) {
			pr_err("vm_wait: no %s: %d\n", vm_wait_probes[i].symbol_name, err);
			goto fail;
		}
	}
	vm_wait_task = kthread_run(vm_wait_thread, NULL, "vm_wait");
	if (IS_ERR(vm_wait_task)) {
		err = PTR_ERR(vm_wait_task);
		goto fail;
	}
	return 0;

fail:
	vm_wait_unregister(i);
	return err;
}

static void __exit vm_wait_exit(void)
{
	vm_wait_unregister(ARRAY_SIZE(vm_wait_probes));
	kthread_stop(vm_wait_task);
}

module_init(vm_wait_init);
module_exit(vm_wait_exit);
MODULE_DESCRIPTION("Stops an instruction-counting guest's clock while it waits for 9p");
MODULE_LICENSE("GPL");
