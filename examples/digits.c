// SPDX-License-Identifier: BSD-2-Clause
/*
 * Data-parallel training: each process has a shard of the handwritten digits, computes the gradient
 * over it, and the network adds the gradients up.
 *
 * All processes end with the same weights, bit for bit, and so does the next run, whatever the
 * network does. That is so for floating-point gradients, too, if only the shards are the same: the
 * bits of a sum follow from the numbers alone. A process alone (--reference) gets them, too.
 */
#include <canary.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gradients.h"
#include "softmax.h"

#define DATA_DEFAULT	"/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
#define COUNT_PAUSE_NS	60000000

/* What is added up at the end of an epoch, to be told */
struct tally {
	int32_t	loss;		/* 8 bits after the point */
	int32_t	right;		/* digits recognised while training */
	int32_t	tested;		/* digits recognised in the test */
};

/*
 * One process. Shards of the digits have the numbers 0 to members - 1, as ranks have. A process may
 * have another shard than its rank, so ranks can change places while data stay where they are.
 */
struct job {
	struct canary_params	params;
	struct canary		*comm;		/* NULL: reference, which has all shards */
	struct dataset		data;
	const char		*path, *json;
	const struct gradients	*type;
	int			epochs, batch, timeout_ms, shard;
	bool			reference, have_comm, have_rank, have_members, have_root;
	struct model		model;
	struct tally		tally;
	void			*vectors;	/* its gradient; the reference has all */
	double			loss, train_accuracy, accuracy, seconds;
	int			steps;
	bool			identical;
	int32_t			contributions, blocks;	/* of all ranks */
};

static int usage(FILE *to)
{
	fprintf(to,
		"usage: digits --comm ID --rank R --members N --root ADDR[:PORT] [OPTIONS]\n"
		"       digits --reference [--members N] [OPTIONS]\n"
		"\n"
		"Trains on handwritten digits; the network adds up the gradients of all ranks.\n"
		"\n"
		"  --data FILE    digits.csv.gz (default: where Debian's python3-sklearn has it)\n"
		"  --epochs N     times through the data, 1 to 10000 (default 30)\n"
		"  --batch N      digits of all ranks together a step, 1 to %d (default 256)\n"
		"  --json FILE    result as JSON, - for standard output\n"
		"  --gradients T  how they are added up: float32 (default), bfloat16, int32\n"
		"  --shard S      which part of the digits is here (default: as the rank)\n"
		"  --reference    one process, no network; the weights are those of N processes\n"
		"  --timeout TIME patience for the rendezvous, as 500ms or 30s (default 30s)\n"
		"  --bind ADDR[:PORT], --engine auto|kernel|user, --key HEX32, --window, --mtu,\n"
		"  --dead-after, --linger, --rto-min: see canary-allreduce(8)\n", SAMPLES_MOST);
	return to == stdout ? 0 : 2;
}

/* A number in [min, max]; -1 after having complained. */
static int number(const char *name, const char *text, long min, long max, int *value)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || n < min || n > max) {
		fprintf(stderr, "digits: %s: has to be %ld to %ld\n", name, min, max);
		return -1;
	}
	*value = n;
	return 0;
}

static int timeout(const char *text, int *ms)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10), factor;

	factor = !strcmp(end, "ms") ? 1 : !strcmp(end, "s") ? 1000 : 0;
	if (!isdigit((unsigned char)text[0]) || !factor || n > 3600000 / factor) {
		fprintf(stderr, "digits: timeout: has to be 0ms to 3600s, with ms or s\n");
		return -1;
	}
	*ms = n * factor;
	return 0;
}

static int parameter(struct job *j, const char *name, const char *value)
{
	if (canary_params_set(&j->params, name, value)) {
		fprintf(stderr, "digits: %s\n", canary_errmsg());
		return -1;
	}
	j->have_comm |= !strcmp(name, "comm");
	j->have_rank |= !strcmp(name, "rank");
	j->have_members |= !strcmp(name, "members");
	j->have_root |= !strcmp(name, "root");
	return 0;
}

static int option(struct job *j, int opt, const char *name, const char *value)
{
	switch (opt) {
	case 'd':
		j->path = value;
		return 0;
	case 'e':
		return number(name, value, 1, 10000, &j->epochs);
	case 'b':
		return number(name, value, 1, SAMPLES_MOST, &j->batch);
	case 's':
		return number(name, value, 0, CANARY_MEMBERS_MAX - 1, &j->shard);
	case 'g':
		j->type = gradients_find(value);
		if (j->type)
			return 0;
		fprintf(stderr, "digits: gradients: '%s' is none of float32, bfloat16, int32\n",
			value);
		return -1;
	case 'j':
		j->json = value;
		return 0;
	case 'r':
		j->reference = true;
		return 0;
	case 't':
		return timeout(value, &j->timeout_ms);
	}
	return parameter(j, name, value);
}

static int parse(struct job *j, int argc, char **argv)
{
	static const struct option options[] = {
		{ "comm",	required_argument, NULL, 'p' },
		{ "rank",	required_argument, NULL, 'p' },
		{ "members",	required_argument, NULL, 'p' },
		{ "root",	required_argument, NULL, 'p' },
		{ "bind",	required_argument, NULL, 'p' },
		{ "engine",	required_argument, NULL, 'p' },
		{ "key",	required_argument, NULL, 'p' },
		{ "window",	required_argument, NULL, 'p' },
		{ "mtu",	required_argument, NULL, 'p' },
		{ "dead-after",	required_argument, NULL, 'p' },
		{ "linger",	required_argument, NULL, 'p' },
		{ "rto-min",	required_argument, NULL, 'p' },
		{ "data",	required_argument, NULL, 'd' },
		{ "epochs",	required_argument, NULL, 'e' },
		{ "batch",	required_argument, NULL, 'b' },
		{ "json",	required_argument, NULL, 'j' },
		{ "gradients",	required_argument, NULL, 'g' },
		{ "shard",	required_argument, NULL, 's' },
		{ "reference",	no_argument, NULL, 'r' },
		{ "timeout",	required_argument, NULL, 't' },
		{ "help",	no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int opt, index;

	while ((opt = getopt_long(argc, argv, "h", options, &index)) != -1) {
		if (opt == 'h')
			exit(usage(stdout));
		if (opt == '?')
			return usage(stderr);
		if (option(j, opt, options[index].name, optarg))
			return 2;
	}
	if (optind < argc)
		return usage(stderr);
	if (!j->reference &&
	    (!j->have_comm || !j->have_rank || !j->have_members || !j->have_root)) {
		fprintf(stderr, "digits: --comm, --rank, --members and --root are needed\n");
		return 2;
	}
	if (j->shard < 0)
		j->shard = j->params.rank;
	if (j->shard >= j->params.members) {
		fprintf(stderr, "digits: shard: has to be 0 to %d\n", j->params.members - 1);
		return 2;
	}
	if (j->reference && j->params.members > j->type->members) {
		fprintf(stderr, "digits: members: a reference of %s knows up to %d\n",
			j->type->name, j->type->members);
		return 2;
	}
	return 0;
}

/* Sum over all ranks, in place. A process alone has it already. */
static int sum(struct job *j, void *vector, size_t count, enum canary_dtype dtype)
{
	if (!j->comm)
		return 0;
	if (!canary_allreduce(j->comm, vector, vector, count, dtype, CANARY_OP_SUM))
		return 0;
	fprintf(stderr, "digits: rank %u: %s\n", j->params.rank, canary_errmsg());
	return -1;
}

/* Is sample number @i in a shard that this process has? The shards take samples in turn. */
static bool is_here(const struct job *j, int i)
{
	return !j->comm || i % j->params.members == j->shard;
}

/* The gradient over what is in @shard of the samples @first to @first + @n - 1 */
static void shard_gradient(struct job *j, int shard, int first, int n, void *vector)
{
	float gradient[WEIGHTS] = { 0 }, loss = 0;
	int i;

	for (i = shard; i < n; i += j->params.members) {
		const struct sample *s = &j->data.train[first + i];

		j->tally.right += softmax_gradient(&j->model, s, gradient, &loss) == s->digit;
	}
	j->tally.loss += (int32_t)(loss * 256);
	gradients_round(j->type, gradient, WEIGHTS, vector);
}

/* Learn from the samples @first to @first + @n - 1. */
static int step(struct job *j, int first, int n)
{
	float gradient[WEIGHTS];
	int shard;

	if (j->comm) {
		shard_gradient(j, j->shard, first, n, j->vectors);
		if (sum(j, j->vectors, WEIGHTS, j->type->dtype))
			return -1;
	} else {
		for (shard = 0; shard < j->params.members; shard++)
			shard_gradient(j, shard, first, n,
				       (char *)j->vectors + shard * WEIGHTS * j->type->size);
		gradients_alone(j->type, j->vectors, j->params.members, WEIGHTS);
	}
	gradients_read(j->type, j->vectors, WEIGHTS, gradient);
	softmax_step(&j->model, gradient, n);
	j->steps++;
	return 0;
}

/* Test the model, and add up what is to be told. */
static int test(struct job *j)
{
	int i;

	for (i = 0; i < j->data.tests; i++)
		if (is_here(j, i))
			j->tally.tested += softmax_guess(&j->model, &j->data.test[i]) ==
					   j->data.test[i].digit;
	if (sum(j, &j->tally, sizeof(j->tally) / sizeof(int32_t), CANARY_INT32))
		return -1;
	j->loss = j->tally.loss / 256.0 / j->data.trains;
	j->train_accuracy = (double)j->tally.right / j->data.trains;
	j->accuracy = (double)j->tally.tested / j->data.tests;
	return 0;
}

static int train(struct job *j)
{
	int epoch, first, n;

	for (epoch = 1; epoch <= j->epochs; epoch++) {
		memset(&j->tally, 0, sizeof(j->tally));
		for (first = 0; first < j->data.trains; first += n) {
			n = j->data.trains - first;
			if (n > j->batch)
				n = j->batch;
			if (step(j, first, n))
				return -1;
		}
		if (test(j))
			return -1;
		if (j->params.rank == 0)
			printf("epoch %3d  loss %.4f  training %.4f  test %.4f\n", epoch, j->loss,
			       j->train_accuracy, j->accuracy);
		fflush(stdout);
	}
	return 0;
}

/* Do all ranks have the same weights? The hash is summed up in parts that cannot wrap. */
static int compare(struct job *j)
{
	uint64_t hash = softmax_digest(&j->model);
	int32_t part[8], different = 0;
	int i;

	j->identical = true;
	if (!j->comm)
		return 0;
	for (i = 0; i < 8; i++)
		part[i] = hash >> 8 * i & 0xff;
	if (sum(j, part, 8, CANARY_INT32))
		return -1;
	for (i = 0; i < 8; i++)
		different |= part[i] != (int32_t)(j->params.members * (hash >> 8 * i & 0xff));
	if (sum(j, &different, 1, CANARY_INT32))
		return -1;
	j->identical = !different;
	return 0;
}

static uint64_t counter(struct canary *c, const char *name)
{
	struct canary_stat stats[256];
	int i, n = canary_stats(c, stats, 256);

	for (i = 0; i < n && i < 256; i++)
		if (!stats[i].drop && !strcmp(stats[i].name, name))
			return stats[i].value;
	return 0;
}

/* How many packets did leaders receive for their blocks, over all ranks? */
static int count_blocks(struct job *j)
{
	int32_t n[2] = { 0 };

	if (j->comm) {
		/* who is ahead shall not add to our count yet: all count first, then go on */
		nanosleep(&(struct timespec){ .tv_nsec = COUNT_PAUSE_NS / 2 }, NULL);
		n[0] = counter(j->comm, "contributions-in");
		n[1] = counter(j->comm, "blocks-led");
		nanosleep(&(struct timespec){ .tv_nsec = COUNT_PAUSE_NS / 2 }, NULL);
	}
	if (sum(j, n, 2, CANARY_INT32))
		return -1;
	j->contributions = n[0];
	j->blocks = n[1];
	return 0;
}

static void write_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', f);
		if ((unsigned char)*s >= ' ')
			putc(*s, f);
	}
	putc('"', f);
}

static void write_stats(FILE *f, struct canary *c)
{
	struct canary_stat stats[256];
	int i, n = canary_stats(c, stats, 256);
	const char *s;

	fputs(",\"stats\":{", f);
	for (i = 0; i < n && i < 256; i++) {
		if (i)
			fputs(stats[i].drop && !stats[i - 1].drop ? ",\"drops\":{" : ",", f);
		putc('"', f);
		for (s = stats[i].name; *s; s++)
			putc(*s == '-' ? '_' : *s, f);
		fprintf(f, "\":%llu", (unsigned long long)stats[i].value);
	}
	fputs(n > 0 ? "}}" : "}", f);
}

static int report(struct job *j)
{
	FILE *f = strcmp(j->json, "-") ? fopen(j->json, "we") : stdout;

	if (!f) {
		perror(j->json);
		return -1;
	}
	fprintf(f, "{\"accuracy\":%.6f,\"train_accuracy\":%.6f,\"loss\":%.6f", j->accuracy,
		j->train_accuracy, j->loss);
	fprintf(f, ",\"gradients\":\"%s\"", j->type->name);
	fprintf(f, ",\"weights_hash\":\"%016llx\"", (unsigned long long)softmax_digest(&j->model));
	fprintf(f, ",\"rank\":%u,\"shard\":%d,\"ranks\":%u,\"ranks_identical\":%s", j->params.rank,
		j->shard, j->params.members, j->identical ? "true" : "false");
	fprintf(f, ",\"epochs\":%d,\"batch\":%d,\"steps\":%d,\"elements\":%d,\"seconds\":%.6f",
		j->epochs, j->batch, j->steps, WEIGHTS, j->seconds);
	fputs(",\"engine\":", f);
	write_string(f, j->comm ? canary_engine_name(j->comm) : "none");
	fputs(",\"engine_reason\":", f);
	write_string(f, j->comm ? canary_engine_reason(j->comm) : "reference");
	if (j->blocks)
		fprintf(f, ",\"blocks\":%d,\"contributions\":%d,\"contributions_per_block\":%.6f",
			j->blocks, j->contributions, (double)j->contributions / j->blocks);
	if (j->comm)
		write_stats(f, j->comm);
	fputs("}\n", f);
	if (f == stdout ? fflush(f) : fclose(f)) {
		perror(j->json);
		return -1;
	}
	return 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static int run(struct job *j)
{
	double start = now();

	if (train(j))
		return -1;
	j->seconds = now() - start;
	if (compare(j) || count_blocks(j))
		return -1;
	if (j->params.rank == 0) {
		printf("%s gradients: test accuracy %.4f\n", j->type->name, j->accuracy);
		printf("digest of the weights %016llx, %s at all %u ranks\n",
		       (unsigned long long)softmax_digest(&j->model),
		       j->identical ? "the same" : "DIFFERENT", j->params.members);
		if (j->blocks)
			printf("contributions that a leader received per block: %.3f\n",
			       (double)j->contributions / j->blocks);
	}
	if (j->json && report(j))
		return -1;
	return j->identical ? 0 : -1;
}

static int join(struct job *j)
{
	if (canary_open(&j->params, &j->comm) == 0) {
		if (canary_connect(j->comm, j->timeout_ms) == 0)
			return 0;
	}
	fprintf(stderr, "digits: rank %u: %s\n", j->params.rank, canary_errmsg());
	canary_close(j->comm);
	return -1;
}

int main(int argc, char **argv)
{
	struct job j = {
		.path = DATA_DEFAULT,
		.epochs = 30,
		.batch = 256,
		.timeout_ms = 30000,
		.shard = -1,
		.type = gradients_find("float32"),
	};
	int status;

	canary_params_init(&j.params);
	status = parse(&j, argc, argv);
	if (status)
		return status;
	if (dataset_read(&j.data, j.path))
		return 1;
	j.vectors = calloc(j.reference ? j.params.members : 1, WEIGHTS * j.type->size);
	if (!j.vectors) {
		perror("digits");
		return 1;
	}
	status = 1;
	if (j.reference || !join(&j)) {
		status = run(&j) ? 1 : 0;
		canary_close(j.comm);
	}
	free(j.vectors);
	dataset_free(&j.data);
	return status;
}
