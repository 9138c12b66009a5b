// SPDX-License-Identifier: BSD-2-Clause
/* A sum over all ranks by libcanary: library RANK MEMBERS ADDRESS-OF-RANK-0 */
#include <canary.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	float vector[4] = { 0.1, 10, 100, 1000 };
	const char *rank, *members, *root;
	struct canary_params params;
	struct canary *comm;
	int i;

	if (argc != 4) {
		fprintf(stderr, "usage: library RANK MEMBERS ADDRESS-OF-RANK-0\n");
		return 2;
	}
	rank = argv[1];
	members = argv[2];
	root = argv[3];
	canary_params_init(&params);
	if (canary_params_set(&params, "comm", "2") ||		/* the same at all ranks */
	    canary_params_set(&params, "rank", rank) ||
	    canary_params_set(&params, "members", members) ||
	    canary_params_set(&params, "root", root) ||
	    canary_open(&params, &comm)) {
		fprintf(stderr, "%s\n", canary_errmsg());
		return 2;
	}
	if (canary_connect(comm, 30000) ||	/* waits for all ranks, 30 s at most */
	    canary_allreduce(comm, vector, vector, 4, CANARY_FLOAT32, CANARY_OP_SUM)) {
		fprintf(stderr, "%s\n", canary_errmsg());
		return 1;
	}
	for (i = 0; i < 4; i++)
		printf("%g%c", vector[i], i < 3 ? ' ' : '\n');
	canary_close(comm);
	return 0;
}
