// SPDX-License-Identifier: BSD-2-Clause
/* canary-sim: simulates one scenario. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim.h"
#include "util.h"

static void usage(void)
{
	struct scenario any;

	scenario_defaults(&any);	/* names what there is */
	puts("Usage: canary-sim [OPTION]... [SCENARIO] [KEY=VALUE]...\n"
	     "\n"
	     "Simulates the scenario and prints what came out as JSON. A scenario is a file of lines\n"
	     "\"key value\"; KEY=VALUE goes before what it says. Times end with ps, ns, us, ms or s,\n"
	     "rates with bit, kbit, mbit, gbit or tbit, shares with % or ppm, sizes with B, KiB, MiB,\n"
	     "GiB or nothing.\n"
	     "\n"
	     "  --links FILE  what each link carried, as CSV\n"
	     "  --vectors DIR only write the vector of each rank, and what has to come out of them\n"
	     "  --speed       tell the simulator's own speed and memory, too\n"
	     "  --quiet       no progress bar (there is one if standard error is a terminal)\n"
	     "  --check       only check the scenario (with --links: and list the links)\n"
	     "\n"
	     "Exit status: 0; 1 if a result was wrong or did not come; 2 if the scenario is.\n"
	     "\n"
	     "Keys of a scenario (what holds without them); their range:");
	config_help(scenario_keys);
	puts("\nKeys of a topology, a file of its own (topology=FILE):");
	config_help(shape_keys);
}

struct options {
	const char *links;
	const char *vectors;
	const char *scenario;
	bool speed;
	bool quiet;
	bool check;
};

static bool has(const struct config_key *keys, const char *name)
{
	while (keys->name && strcmp(keys->name, name))
		keys++;
	return keys->name;
}

/*
 * Does the file at @path look like the other kind of file? The first key that only one of @own and
 * @other has decides. Then one message is enough, instead of one for each line. Only regular files
 * are looked into, as a pipe can be read only once.
 */
static bool mixed_up(const char *path, const struct config_key *own,
		     const struct config_key *other, const char *advice)
{
	char line[1024], key[32];
	bool mixed = false;
	struct stat st;
	FILE *file;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	file = fopen(path, "r");
	while (file && !mixed && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %31[a-z_]", key) != 1 || has(own, key) == has(other, key))
			continue;
		if (has(own, key))
			break;
		fprintf(stderr, "canary-sim: %s: '%s' %s\n", path, key, advice);
		mixed = true;
	}
	if (file)
		fclose(file);
	return mixed;
}

/* Read the scenario file, then the command line. All errors are reported at once. */
static bool read_scenario(struct scenario *cfg, const struct options *o, int argc, char **argv)
{
	bool good = true;
	char where[32];
	int i;

	scenario_defaults(cfg);
	if (o->scenario && mixed_up(o->scenario, scenario_keys, shape_keys,
				    "is of a topology, this is to be a scenario: topology=FILE?"))
		return false;
	if (o->scenario)
		good = config_file(scenario_keys, cfg, o->scenario);
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--links") || !strcmp(argv[i], "--vectors")) {
			i++;
			continue;
		}
		if (argv[i][0] == '-' || !strchr(argv[i], '='))
			continue;
		snprintf(where, sizeof(where), "argument %d", i);
		good &= config_line(scenario_keys, cfg, argv[i], where);
	}
	return good && !mixed_up(cfg->topology, shape_keys, scenario_keys,
				 "is of a scenario, this is to be a topology: without topology=?");
}

static int parse(struct options *o, int argc, char **argv)
{
	int i;

	memset(o, 0, sizeof(*o));
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			usage();
			exit(0);
		} else if (!strcmp(argv[i], "--links")) {
			if (i + 1 == argc || argv[i + 1][0] == '-') {
				fprintf(stderr, "canary-sim: --links: to which file?\n");
				return 2;
			}
			o->links = argv[++i];
		} else if (!strcmp(argv[i], "--vectors")) {
			if (i + 1 == argc || argv[i + 1][0] == '-') {
				fprintf(stderr, "canary-sim: --vectors: to which folder?\n");
				return 2;
			}
			o->vectors = argv[++i];
		} else if (!strcmp(argv[i], "--speed")) {
			o->speed = true;
		} else if (!strcmp(argv[i], "--quiet")) {
			o->quiet = true;
		} else if (!strcmp(argv[i], "--check")) {
			o->check = true;
		} else if (argv[i][0] == '-' || (!strchr(argv[i], '=') && o->scenario)) {
			fprintf(stderr, "canary-sim: what is '%s'? (--help)\n", argv[i]);
			return 2;
		} else if (!strchr(argv[i], '=')) {
			o->scenario = argv[i];
		}
	}
	return 0;
}

static int links_to(const struct sim *s, FILE *file, const char *path)
{
	bool failed;

	report_links(s, file);
	failed = ferror(file);
	if (fclose(file) || failed) {
		perror(path);
		return 2;
	}
	return 0;
}

/* Run a scenario that is valid. Return: exit status */
static int run(struct sim *s, const struct options *o)
{
	FILE *links = o->links ? fopen(o->links, "w") : NULL;
	int status = 0;
	bool good;

	if (o->links && !links) {
		perror(o->links);
		return 2;
	}
	good = o->check || sim_run(s, !o->quiet && isatty(2));
	if (links)
		status = links_to(s, links, o->links);
	if (!o->check)
		report_json(s, stdout, o->speed);
	return good ? status : 1;
}

int main(int argc, char **argv)
{
	struct sim *s = sim_zalloc(1, sizeof(*s));
	struct options o;
	int status = parse(&o, argc, argv);

	if (!status && (!read_scenario(&s->cfg, &o, argc, argv) || !sim_build(s)))
		status = 2;
	if (status) {
		free(s);
		return status;
	}
	if (o.vectors)
		status = held_write(s, o.vectors) ? 0 : 2;
	else
		status = run(s, &o);
	sim_free(s);
	free(s);
	return status;
}
