// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads all programs into the kernel that runs here. For each it prints how many instructions the
 * verifier walked through, of the million that it allows. Prints TAP.
 */
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <sys/utsname.h>

#include <linux/canary_wire.h>
#include "bpf/fault/fault.h"
#include "bpf/shared.h"
#include "canary_backlog.skel.h"
#include "canary_switch.skel.h"
#include "fault.skel.h"
#include "../tap.h"

/* Half of the verifier's limit, as the next kernel may walk through more */
#define VERIFIED_MAX	500000U

static struct utsname kernel;

static void loaded(struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size);

	tap(!err && info.verified_insns && info.verified_insns <= VERIFIED_MAX,
	    "%s: %s: %u instructions verified", kernel.release, bpf_program__name(prog),
	    info.verified_insns);
}

static void load(const char *name, int err, const struct bpf_object *obj)
{
	struct bpf_program *prog;

	if (!tap(!err, "%s: %s is loaded", kernel.release, name)) {
		printf("# %s\n", strerror(-err));
		return;
	}
	bpf_object__for_each_program(prog, obj)
		loaded(prog);
}

int main(void)
{
	struct canary_backlog *backlog = canary_backlog__open();
	struct canary_switch *sw = canary_switch__open();
	struct fault *fault = fault__open();

	uname(&kernel);
	if (!tap(backlog && sw && fault, "objects are opened"))
		return tap_done("bpf/load_programs");
	load("canary_switch", canary_switch__load(sw), sw->obj);
	load("canary_backlog", canary_backlog__load(backlog), backlog->obj);
	tap(!canary_backlog__attach(backlog), "%s: canary_backlog is attached", kernel.release);
	load("fault", fault__load(fault), fault->obj);
	canary_backlog__destroy(backlog);
	canary_switch__destroy(sw);
	fault__destroy(fault);
	return tap_done("bpf/load_programs");
}
