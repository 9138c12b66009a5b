// SPDX-License-Identifier: BSD-2-Clause
/* A sum over all ranks by libcanary: library RANK MEMBERS ADDRESS-OF-RANK-0 */
#include <canary.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int32_t vector[4] = { 1, 10, 100, 1000 };
	struct canary_params params;
	struct canary *comm;
	int i;

	canary_params_init(&params);
	if (argc != 4 || canary_params_set(&params, "comm", "2") ||
	    canary_params_set(&params, "rank", argv[1]) ||
	    canary_params_set(&params, "members", argv[2]) ||
	    canary_params_set(&params, "root", argv[3]) ||
	    canary_open(&params, &comm)) {
		fprintf(stderr, "library RANK MEMBERS ADDRESS-OF-RANK-0: %s\n", canary_errmsg());
		return 2;
	}
	if (canary_connect(comm, 30000) ||	/* waits for all ranks, 30 s at most */
	    canary_allreduce(comm, vector, vector, 4, CANARY_INT32, CANARY_OP_SUM)) {
		fprintf(stderr, "%s\n", canary_errmsg());
		return 1;
	}
	for (i = 0; i < 4; i++)
		printf("%d%c", vector[i], i < 3 ? ' ' : '\n');
	canary_close(comm);
	return 0;
}
