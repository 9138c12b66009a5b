/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a component of Open MPI, or a library in front of another MPI, needs around libcanary: the
 * settings, the decision which calls libcanary carries out, how a communicator of MPI gets one of
 * libcanary, counters and their table. No header of an MPI library is used here.
 *
 * All ranks of a communicator have to decide alike, or they wait for each other for ever. So a
 * decision depends only on what is the same at all of them: the settings (compared by
 * cmpi_fingerprint_alike()), the communicator, and the arguments of the call.
 *
 * "Host functions" are the functions of the MPI library that this replaces.
 */
#ifndef CANARY_CMPI_H
#define CANARY_CMPI_H

#include <canary.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- settings ---- */

/**
 * struct cmpi_settings - what the user may set; cmpi_setting_table has names and meanings
 *
 * One for a process, constant after cmpi_settings_take(). Texts belong to whoever gave them.
 */
struct cmpi_settings {
	unsigned int	enable;
	unsigned int	table;
	unsigned int	min_bytes;
	unsigned int	max_bytes;
	unsigned int	min_members;
	unsigned int	barrier;
	unsigned int	reduce;
	unsigned int	one_host;
	unsigned int	node_leaders;
	unsigned int	early;
	unsigned int	trial;
	unsigned int	dead_after;
	unsigned int	spin;
	unsigned int	mtu;
	const char	*comm;
	const char	*engine;
	const char	*key_file;
	const char	*interfaces;
	const char	*floats;
	const char	*algorithm;

	/* What is read from the texts */
	uint32_t	comm_first;
	uint32_t	comm_last;
	uint32_t	how;
};

/** enum cmpi_setting_kind - how the value of a setting is read; all but the last are numbers */
enum cmpi_setting_kind {
	CMPI_FLAG,	/* parse_flag() */
	CMPI_NUMBER,	/* from 0 to 2: also what parse_flag() takes */
	CMPI_BYTES,	/* 8192, 8K */
	CMPI_MS,	/* 10000, 10s */
	CMPI_US,
	CMPI_TEXT,
};

/**
 * struct cmpi_setting - a row of the table of settings
 * @name:	without the prefix that an MPI library adds
 * @help:	one sentence
 * @offset:	in struct cmpi_settings, of an unsigned int or, with CMPI_TEXT, of a text
 * @value:	the default
 * @min, @max:	of numbers
 * @decides:	all ranks have to have the same value
 */
struct cmpi_setting {
	const char		*name;
	const char		*help;
	size_t			offset;
	enum cmpi_setting_kind	kind;
	const char		*value;
	uint32_t		min, max;
	bool			decides;
};

/** cmpi_setting_table - all settings */
#define CMPI_SETTINGS	20
extern const struct cmpi_setting cmpi_setting_table[CMPI_SETTINGS];

/**
 * cmpi_setting_name() - what people call a setting
 * @prefix:	of the MPI library; NULL: the variable of the environment, CANARY_NAME
 * Return: @text
 */
#define CMPI_SETTING_NAME	64
const char *cmpi_setting_name(const struct cmpi_setting *row, const char *prefix,
			      char text[CMPI_SETTING_NAME]);

/** cmpi_setting_value() - the value in the environment, or else the default */
const char *cmpi_setting_value(const struct cmpi_setting *row);

/** cmpi_setting_given() - has this variable of the environment a value? Empty ones do not count */
bool cmpi_setting_given(const char *variable);

/**
 * cmpi_settings_take() - read all settings
 * @texts:	one for each row of the table, NULL or empty for the default; or NULL: those of
 *		cmpi_setting_value()
 * @prefix:	for cmpi_setting_name() of what is wrong
 * @why:	receives a sentence about the first one that is wrong; @len bytes
 * Return: 0 or -EINVAL. A number that is wrong then has its default; but @s->enable is 1.
 */
int cmpi_settings_take(struct cmpi_settings *s, const char *const *texts, const char *prefix,
		       char *why, size_t len);

/** cmpi_hash() - a number that most likely only these bytes have */
uint64_t cmpi_hash(const void *data, size_t bytes);

/* ---- who understands whom: greeting.c ---- */

/**
 * struct cmpi_fingerprint - what has to be the same at processes that use Canary together. The rest
 * of texts is 0.
 * @version:	of Canary. CANARY_TEST_VERSION stands for another one
 * @setting:	a hash of each setting that decides
 * @wrong:	why this process cannot use Canary, and so nobody can with it; or ""
 */
struct cmpi_fingerprint {
	char		version[24];
	uint32_t	setting[CMPI_SETTINGS];
	char		wrong[128];
};

/** cmpi_fingerprint_fill() - set that of this process */
void cmpi_fingerprint_fill(struct cmpi_fingerprint *f, const struct cmpi_settings *s,
			   const char *wrong);

/** cmpi_fingerprint_alike() - can two processes use Canary together? */
bool cmpi_fingerprint_alike(const struct cmpi_fingerprint *a, const struct cmpi_fingerprint *b);

/**
 * cmpi_fingerprint_differs() - what is wrong at @other, as seen from @mine: the rest of a sentence
 * that begins with a process
 * @prefix:	for cmpi_setting_name()
 * Return: @text
 */
#define CMPI_DIFFERS	256
const char *cmpi_fingerprint_differs(const struct cmpi_fingerprint *mine,
				     const struct cmpi_fingerprint *other, const char *prefix,
				     char text[CMPI_DIFFERS]);

/**
 * struct cmpi_greeting - what processes tell each other before anything else. Padding is 0.
 * @addr:	what own_address() says; zeros if there is none
 */
struct cmpi_greeting {
	struct cmpi_fingerprint	fingerprint;
	struct canary_addr	addr;
};

/** cmpi_greeting_fill() - set that of this process. @wrong: as in struct cmpi_fingerprint */
void cmpi_greeting_fill(struct cmpi_greeting *g, const struct cmpi_settings *s, const char *wrong);

/** cmpi_greeting_alike() - do two processes understand each other? */
bool cmpi_greeting_alike(const struct cmpi_greeting *a, const struct cmpi_greeting *b);

/**
 * cmpi_greeting_one_host() - are two processes on one host? That is, with the same address. Those
 * without one are not: then forming a communicator fails, and says why.
 */
bool cmpi_greeting_one_host(const struct cmpi_greeting *a, const struct cmpi_greeting *b);

/* ---- the decision ---- */

enum cmpi_call {
	CMPI_ALLREDUCE,
	CMPI_IALLREDUCE,
	CMPI_REDUCE,
	CMPI_BARRIER,
	CMPI_CALLS
};

/* Why a call goes which way; in this order they are looked at, and shown */
#define CMPI_WHYS(X)								\
	X(CANARY,	"canary",	"carried out by canary")		\
	X(MEMBERS,	"members",	"too few processes")			\
	X(ONE_HOST,	"one-host",	"all processes on one host")		\
	X(PEERS,	"peers",	"not all processes can use canary")	\
	X(OFF,		"off",		"off for this function")		\
	X(TYPE,		"type",		"type that canary does not have")	\
	X(OPERATOR,	"operator",	"operator that canary does not have")	\
	X(SHORT,	"short",	"below the threshold (min_bytes)")		\
	X(LONG,		"long",		"longer than max_bytes")		\
	X(NOT_FORMED,	"not-formed",	"before the communicator was formed")	\
	X(REFUSED,	"refused",	"communicator could not be formed")

enum cmpi_why {
#define X(id, name, text) CMPI_##id,
	CMPI_WHYS(X)
#undef X
	CMPI_WHY_COUNT
};

/** cmpi_why_name(), cmpi_why_text() - one word for programs, some for people */
const char *cmpi_why_name(enum cmpi_why why);
const char *cmpi_why_text(enum cmpi_why why);

/**
 * struct cmpi_args - what a decision is about
 * @call:	the function
 * @dtype:	enum canary_dtype, or 0 if canary does not have it; not used by barriers
 * @op:		enum canary_operator, or 0
 * @count:	elements
 */
struct cmpi_args {
	enum cmpi_call	call;
	uint32_t	dtype;
	uint32_t	op;
	size_t		count;
};

/* ---- communicators ---- */

struct cmpi_node;

enum cmpi_state {
	CMPI_NEW,	/* nothing was worth forming it yet */
	CMPI_FORMING,	/* under way, see cmpi_forming_begin() */
	CMPI_FORMED,
	CMPI_FAILED,	/* it was found not to work: host functions from now on */
};

struct cmpi_forming;

/**
 * struct cmpi_comm - what this knows about a communicator of MPI
 *
 * It belongs to the communicator, and is only used by calls on it, of which MPI permits one at a
 * time. While it is CMPI_FORMING, the MPI library's progress changes it.
 *
 * @members, @rank: of the communicator
 * @one_host:	all members are on one host
 * @peers:	all members have this component, with the same fingerprint
 * @min_bytes:	if settings.min_bytes is 0: shorter vectors do not go through canary. The same at
 *		all ranks
 * @measured:	@min_bytes was measured, when a call waited to form it, or by the first call after
 *		it was formed that waits
 * @missed:	calls that were not carried out because it is not formed
 * @canary:	the member, to be used if @state is CMPI_FORMED; NULL if another rank is the member
 * @node:	NULL: all ranks are members; else the ranks on this host have one member
 * @pid:	the process that opened @canary
 * @forming:	NULL unless @state is CMPI_FORMING
 * @stopped:	0; or the error of a call that could not begin, and of all that follow; @why says why
 */
struct cmpi_comm {
	unsigned int	members;
	unsigned int	rank;
	bool		one_host;
	bool		peers;
	enum cmpi_state	state;
	size_t		min_bytes;
	bool		measured;
	unsigned int	missed;
	struct canary	*canary;
	struct cmpi_node *node;
	pid_t		pid;
	struct cmpi_forming *forming;
	int		stopped;
	char		why[160];
};

/**
 * cmpi_decide() - should this call go through canary, as far as it alone is concerned?
 * Return: CMPI_CANARY, or the first reason against it. The same at all ranks; but where forming
 * went on behind the program's back and failed, some may not know yet that it is CMPI_REFUSED.
 */
enum cmpi_why cmpi_decide(const struct cmpi_settings *s, const struct cmpi_comm *c,
			  const struct cmpi_args *args);

/** CMPI_LEAST_BYTES - shorter vectors are not worth forming a communicator for them */
#define CMPI_LEAST_BYTES	8192

/** CMPI_UNMEASURED - where canary begins if nothing can be measured, in bytes */
#define CMPI_UNMEASURED		16384

/** CMPI_NEVER - the threshold where canary was faster with no length */
#define CMPI_NEVER		INT_MAX

/**
 * cmpi_threshold() - what was measured for communicators of so many members
 * Return: bytes, CMPI_NEVER, or 0 if nothing was.
 */
int cmpi_threshold(unsigned int members);

/** cmpi_threshold_keep() - remember that, where there is room */
void cmpi_threshold_keep(unsigned int members, int min_bytes);

/** cmpi_thresholds_print() - print all of it, a line each, to stderr */
void cmpi_thresholds_print(void);

/** cmpi_usable() - may any call on this communicator go through canary? The same at all ranks */
bool cmpi_usable(const struct cmpi_settings *s, const struct cmpi_comm *c);

/**
 * struct cmpi_later - host functions on the communicator that do not wait. They return 0, or an
 * error of the MPI library
 * @exchange:	begin to collect @bytes of each rank, as a collective call at this place among the
 *		program's. Reserve a place behind it, for @agree about @value
 * @agree:	begin to make *@value the least one of all ranks
 * @ended:	has ended what was begun last?
 */
struct cmpi_later {
	int (*exchange)(void *arg, const void *mine, void *all, size_t bytes, int *value);
	int (*agree)(void *arg);
	int (*ended)(void *arg, bool *ended);
};

struct cmpi_queue;

/**
 * struct cmpi_host - the host functions on the communicator, and waiting
 * @allgather:	collect @bytes of each rank. Return: 0, or an error of the MPI library
 * @least:	*@value becomes the least one of all ranks. Return: likewise
 * @sum:	sum up @count doubles of all ranks, in place. Return: likewise. NULL: do not measure
 * @progress:	let the MPI library make progress; NULL if it needs no such call. It has to call
 *		cmpi_forming_advance() if there is @later
 * @later:	NULL: MPI_Iallreduce does not form
 * @queue:	NULL if there are no requests
 * @arg:	is passed to them
 */
struct cmpi_host {
	int (*allgather)(void *arg, const void *mine, void *all, size_t bytes);
	int (*least)(void *arg, int *value);
	int (*sum)(void *arg, double *v, size_t count);
	void (*progress)(void);
	const struct cmpi_later *later;
	struct cmpi_queue *queue;
	void *arg;
};

/**
 * cmpi_form() - form the communicator of libcanary; all ranks call it in the same order as other
 * calls on the communicator
 * @job:	some number of the job; with it, a number is chosen from settings.comm
 *
 * The ranks exchange where they are, form, and sum up a vector that they know, for settings.trial
 * ms at most. Then they agree whether it was right everywhere. If not, @c->state is CMPI_FAILED
 * at all ranks, and the first rank where it was not says why in a line on stderr.
 *
 * Return: 0, whatever @c->state is; -ENOMEM; else an error of the MPI library.
 */
int cmpi_form(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
	      uint32_t job);

/**
 * cmpi_forming_begin() - likewise, but without waiting; with host->later
 * Then @c->state is CMPI_FORMING, until cmpi_forming_advance() has found out. Nothing is measured.
 * Return: 0; -ENOMEM or an error of the MPI library, with CMPI_FAILED.
 */
int cmpi_forming_begin(struct cmpi_comm *c, const struct cmpi_settings *s,
		       const struct cmpi_host *host, uint32_t job);

/**
 * cmpi_forming_advance() - go on forming, as far as that does not wait. One thread at a time
 * Return: NULL: it is under way; else, @c->state is CMPI_FORMED or CMPI_FAILED, and what is left is
 * to be given to cmpi_forming_free()
 */
struct cmpi_forming *cmpi_forming_advance(struct cmpi_comm *c);

/** cmpi_forming_free() - it may take seconds, so call it without a lock. NULL does nothing */
void cmpi_forming_free(struct cmpi_forming *f);

/**
 * cmpi_measure() - measure from which length on canary is faster than the host functions
 * All ranks of @c, which is formed, call it. It sums up some vectors of some lengths. What is known
 * of another communicator of as many members is taken from there. If canary does not work meanwhile
 * at some rank, @c is closed at all ranks, and a line was printed where it did not.
 * Return: 0, with @c->min_bytes set; else an error of the MPI library.
 */
int cmpi_measure(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host);

/**
 * cmpi_close() - end it. In a child of fork() it only forgets it. Where it is CMPI_FORMING, memory
 * that the MPI library may still write to stays.
 */
void cmpi_close(struct cmpi_comm *c);

/** cmpi_close_all() - close the port of the process, after all communicators */
void cmpi_close_all(void);

/* ---- who carries out calls: the member, or the node leader (carry.c) ---- */

/** cmpi_closed() - has it no member any more? Then calls fail */
bool cmpi_closed(const struct cmpi_comm *c);

/** cmpi_post() - begin a call. Return: as canary_post_call() */
int cmpi_post(struct cmpi_comm *c, const struct canary_call *call, uint64_t *id);

/**
 * cmpi_spoil() - end the communicator of a member, at all members
 * @ms:	how long to wait until they have heard
 */
void cmpi_spoil(struct canary *canary, unsigned int ms);

/** cmpi_test() - has it ended? Return: as canary_test() */
int cmpi_test(struct cmpi_comm *c, uint64_t id);

/** cmpi_await() - wait for it. Return: as canary_wait() */
int cmpi_await(struct cmpi_comm *c, uint64_t id, unsigned int ms);

/** cmpi_doze() - sleep until there may be news of a call. Return: false if that did not work */
bool cmpi_doze(struct cmpi_comm *c, unsigned int ms);

/** cmpi_room() - as canary_room() */
int cmpi_room(struct cmpi_comm *c, unsigned int ms);

/** cmpi_errmsg() - a sentence about the call that failed last */
const char *cmpi_errmsg(const struct cmpi_comm *c);

/** cmpi_now_us() - a clock that is never set, in microseconds */
uint64_t cmpi_now_us(void);

/**
 * cmpi_wait() - wait for an operation, while the MPI library makes progress
 * @spin_us:	how long to poll before sleeping
 * Return: 0, or as canary_wait()
 */
int cmpi_wait(struct cmpi_comm *c, uint64_t id, void (*progress)(void), unsigned int spin_us);

/* ---- node leaders: the ranks on one host have one member (node.h) ---- */

#define CMPI_NODE_WHY	160	/* bytes of a sentence */

/**
 * struct cmpi_offer - what each rank tells the others, a part of what they exchange
 * @host:	a number that all ranks on a host have in common, and no others
 * @token:	of its memory. Process @pid has it as descriptor @fd
 * @ok:		0: there is none, @why says why
 * @alone:	members of its engine cannot contribute several vectors
 */
struct cmpi_offer {
	uint64_t	host;
	uint64_t	token;
	int32_t		pid;
	int32_t		fd;
	uint32_t	ok;
	uint32_t	alone;
	char		why[CMPI_NODE_WHY];
};

/**
 * cmpi_node_offer() - make an offer, and @c->node, which keeps what was offered
 * @port:	has the address and the engine of this process
 */
void cmpi_node_offer(struct cmpi_comm *c, const struct cmpi_settings *s, struct canary *port,
		     struct cmpi_offer *offer);

/**
 * cmpi_node_join() - all ranks have made their offers
 * @all:	by rank, each one @stride bytes behind the one before
 *
 * @c->node is NULL then if all ranks are members: one host has all of them, or none has several; or
 * a rank has no memory to share, which prints a line about it.
 *
 * Return: 0; or an error with a sentence in @why, of this rank alone
 */
int cmpi_node_join(struct cmpi_comm *c, const struct cmpi_offer *all, size_t stride,
		   char why[CMPI_NODE_WHY]);

/** cmpi_node_ready() - all ranks have joined; @n may be NULL */
void cmpi_node_ready(struct cmpi_node *n);

/** cmpi_node_leads() - is this rank the member of its host? */
bool cmpi_node_leads(const struct cmpi_node *n);

/** cmpi_node_members() - Return: how many members there are; *@own: which of them is this host's */
unsigned int cmpi_node_members(const struct cmpi_node *n, unsigned int *own);

/** cmpi_node_rank() - Return: the rank that is this member */
unsigned int cmpi_node_rank(const struct cmpi_node *n, unsigned int member);

/** cmpi_node_carry() - it has a member of libcanary now */
void cmpi_node_carry(struct cmpi_node *n, struct canary *canary);

/** cmpi_node_drive() - go on with calls though nobody waits for them */
void cmpi_node_drive(struct cmpi_node *n);

/** cmpi_node_stop(), cmpi_node_free() - before, and after, the member is closed; @n may be NULL */
void cmpi_node_stop(struct cmpi_node *n);
void cmpi_node_free(struct cmpi_node *n);

/* As in carry.c */
int cmpi_node_post(struct cmpi_node *n, const struct canary_call *call, uint64_t *id);
int cmpi_node_test(struct cmpi_node *n, uint64_t id);
int cmpi_node_wait(struct cmpi_node *n, uint64_t id, unsigned int ms);
void cmpi_node_doze(struct cmpi_node *n, unsigned int ms);
const char *cmpi_node_error(struct cmpi_node *n);

/** cmpi_complain() - one line on stderr about an operation that failed */
void cmpi_complain(const struct cmpi_comm *c, enum cmpi_call call, int err);

/* ---- what happens to a call ---- */

/**
 * cmpi_use() - decide about a call, form the communicator if that is due, and count
 * A call of CMPI_IALLREDUCE must not wait for other ranks. It only begins to form, and only with
 * host->later. Those that come meanwhile wait in the queue, which counts them.
 * @host, @job:	as for cmpi_form()
 * @why:	receives CMPI_CANARY if canary carries it out, or the queue of a communicator has to
 *		take it that is CMPI_FORMING
 * Return: 0, -ENOMEM, or an error of the MPI library.
 */
int cmpi_use(struct cmpi_comm *c, const struct cmpi_settings *s, const struct cmpi_host *host,
	     uint32_t job, const struct cmpi_args *args, enum cmpi_why *why);

/**
 * cmpi_describe() - a call as libcanary takes it
 * @sendbuf:	the same as @recvbuf if the call is in place
 */
struct canary_call cmpi_describe(const struct cmpi_settings *s, const struct cmpi_args *args,
				 const void *sendbuf, void *recvbuf);

/**
 * struct cmpi_request - an operation that goes on behind the program's back
 *
 * It is a part of what the MPI library's glue allocates. The queue has it until it has ended.
 *
 * @id:		of canary_post_call(), once @posted
 * @counted:	in the table
 * @ended:	by the host functions, though others before it may not have
 * @err:	how it ended: 0, or as canary_wait()
 */
struct cmpi_request {
	struct cmpi_request	*next;
	struct canary_call	call;
	uint64_t		id;
	bool			posted;
	bool			counted, ended;
	int			err;
};

/**
 * struct cmpi_queue - operations of a communicator that have not ended, in the order of the calls
 * @lock:	of the list, and of posting
 * @by_host:	carries out an operation by the host functions, if the communicator turned out to be
 *		CMPI_FAILED: begins it, at its place among the program's calls, and goes on.
 *		Return: has it ended? How, is up to it. NULL if no call meets CMPI_FORMING
 */
struct cmpi_queue {
	pthread_mutex_t		lock;
	struct cmpi_comm	*c;
	struct cmpi_request	*first, *last;
	bool			(*by_host)(struct cmpi_request *r);
};

/** cmpi_queue_init(), cmpi_queue_destroy() - @c outlives it */
void cmpi_queue_init(struct cmpi_queue *q, struct cmpi_comm *c);
void cmpi_queue_destroy(struct cmpi_queue *q);

/**
 * cmpi_queue_close() - end the communicator, which is not CMPI_FORMING, after an error. Other
 * threads may make progress meanwhile. Operations that are under way fail. Without the lock; it may
 * take seconds
 */
void cmpi_queue_close(struct cmpi_queue *q);

/**
 * cmpi_queue_post() - post those that had no room. The caller holds the lock, as for the two below.
 * Return: 0; -EAGAIN: there is no room yet, or it is CMPI_FORMING; or another error, which shows
 * when the request ends
 */
int cmpi_queue_post(struct cmpi_queue *q);

/** cmpi_queue_flush() - wait until all are posted. Without the lock. Return: 0, or an error */
int cmpi_queue_flush(struct cmpi_queue *q, void (*progress)(void));

/** cmpi_queue_add() - begin an operation, behind all others. Return: as cmpi_queue_post() */
int cmpi_queue_add(struct cmpi_queue *q, struct cmpi_request *r, const struct canary_call *call);

/** cmpi_queue_take() - take operations that have ended. Return: they, linked by next */
struct cmpi_request *cmpi_queue_take(struct cmpi_queue *q);

/**
 * cmpi_run() - carry out a call, behind all in the queue, and wait for it. Without the lock.
 * @result:	this rank wants the result; else what->recvbuf is not used
 * @progress:	as in struct cmpi_host, but not NULL
 * Return: 0, or an error of canary, about which a line was printed
 */
int cmpi_run(struct cmpi_queue *q, const struct cmpi_settings *s, const struct cmpi_args *args,
	     const struct canary_call *what, bool result, void (*progress)(void));

/* ---- counters ---- */

/** cmpi_count() - count a call of @bytes. Any thread may call it. */
void cmpi_count(enum cmpi_call call, enum cmpi_why why, size_t bytes);

/** cmpi_count_formed() - count a communicator that was formed, or not; @node: with node leaders */
void cmpi_count_formed(bool formed, bool node);

/** cmpi_print_table() - print the counters of this process to stderr, as rank @rank of the job */
void cmpi_print_table(unsigned int rank);

#endif /* CANARY_CMPI_H */
