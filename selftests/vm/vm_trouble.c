// SPDX-License-Identifier: GPL-2.0
/*
 * A module that causes the trouble that it is asked for. It tests the guest runner: no test of
 * canary.ko can notice what the runner misses.
 */

#include <linux/bug.h>
#include <linux/module.h>

static char *how = "none";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "none, warn, oops, leak or race");

static char *where = "vm_trouble";
module_param(where, charp, 0444);
MODULE_PARM_DESC(where, "whose the race is");

#define RULER "=================================================================="

static int __init vm_trouble_init(void)
{
	pr_info("vm_trouble: %s\n", how);
	WARN_ON(!strcmp(how, "warn"));
	if (!strcmp(how, "oops"))
		WRITE_ONCE(*(int *)8, 0);
	if (!strcmp(how, "leak"))
		pr_err("vm_trouble: 1 object leaked\n");
	if (!strcmp(how, "race"))
		pr_err("%s\nBUG: KCSAN: data-race in a / b\n\n%s\n a+0x1/0x2 [%s]\n%s\n", RULER,
		       "read to 0xffff of 8 bytes by task 1 on cpu 0:", where, RULER);
	return 0;
}

static void __exit vm_trouble_exit(void)
{
}

module_init(vm_trouble_init);
module_exit(vm_trouble_exit);
MODULE_DESCRIPTION("Trouble for the test of the guest runner");
MODULE_LICENSE("GPL");
