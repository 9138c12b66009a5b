/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The protocol core as its drivers (kernel module, user engine, simulator, tests) see it.
 *
 * A struct cnr_comm is one member's view of one communicator. It is a state machine without clock,
 * I/O, locks or allocation. The driver passes packets, calls and the time in. After each
 * cnr_input(), cnr_post(), cnr_timer(), cnr_connect(), cnr_form() or cnr_close() the driver calls
 *
 *	cnr_drive(comm, now, driver, self)	sends packets, as far as cnr_host_room() goes; hands
 *						operations back to the application; frees vectors
 *						that nobody can ask for any more (driver.h),
 *	cnr_deadline(comm)			says for when to arm a timer for cnr_timer().
 *
 * Lifetime and memory: the driver allocates cnr_size() zeroed bytes, which hold everything. Vectors
 * belong to the driver. The core reads and writes them from cnr_post() until cnr_released() returns
 * them. Locking: none inside; calls for one communicator must not overlap. Context: anything that
 * may read memory; nothing sleeps.
 *
 * Time is in ns from any fixed origin and never goes back.
 */
#ifndef CANARY_CORE_CORE_H
#define CANARY_CORE_CORE_H

#include "platform.h"

#define CNR_WINDOW_DEFAULT	256
#ifndef CNR_WINDOW_MAX
#define CNR_WINDOW_MAX		1024	/* rings of many hosts could use more: see the simulator */
#endif
#ifndef CNR_MTU_LEAST
#define CNR_MTU_LEAST		576	/* what IPv4 wants; the simulator also tries less */
#endif
#define CNR_OPS			64	/* most operations posted, or kept for others */
#define CNR_DATA_KEY		((CANARY_ELEMENTS_MAX + 1) & ~1)
#define CNR_BYPASS_ATTEMPT	3	/* from this attempt on contributions bypass switches */

/* Why a communicator ended (canary_hdr.abort.why; PROTOCOL.md, "Errors") */
enum canary_abort {
	CANARY_ABORT_NONE	= 0,
	CANARY_ABORT_DEAD	= 1,
	CANARY_ABORT_LEFT	= 2,
	CANARY_ABORT_MISMATCH	= 3,
	CANARY_ABORT_REFUSED	= 4,
	CANARY_ABORT_PATH	= 5,
	CANARY_ABORT_RESTARTED	= 6,
};

enum cnr_state {
	CNR_NEW,		/* initialised; rank 0 may already be asked */
	CNR_JOINING,		/* rendezvous under way */
	CNR_CONNECTED,
	CNR_LINGERING,		/* closed by the application, still serving others */
	CNR_CLOSED,
	CNR_FAILED,		/* see cnr_failure() */
};

/*
 * Counters of a communicator, all u64, besides the drop reasons of parse.h.
 * User space reads them by position: new ones go to the end.
 */
#define CNR_COUNTERS(X)									\
	X(contributions_out, "contributions-out",					\
	  "contributions sent, first attempts")						\
	X(contributions_in, "contributions-in",						\
	  "contribution packets accepted as leader")					\
	X(contributions_merged, "contributions-merged",					\
	  "of these, aggregates")							\
	X(blocks_led, "blocks-led",							\
	  "blocks finished as leader")							\
	X(blocks_done, "blocks-done",							\
	  "blocks whose result is here")						\
	X(results_out, "results-out",							\
	  "results sent to sources")							\
	X(results_in, "results-in",							\
	  "results accepted")								\
	X(results_again, "results-again",						\
	  "results sent again on request")						\
	X(retransmissions, "retransmissions",						\
	  "contributions sent again")							\
	X(requests_out, "requests-out",							\
	  "results or partial sums asked for")						\
	X(requests_in, "requests-in",							\
	  "results or partial sums that others asked for")				\
	X(failures_out, "failures-out",							\
	  "FAILURE messages sent")							\
	X(failures_in, "failures-in",							\
	  "FAILURE messages received")							\
	X(attempts, "attempts",								\
	  "blocks begun anew as leader")						\
	X(named, "named",								\
	  "blocks whose only missing rank was found by its tag")			\
	X(bypass, "bypass",								\
	  "blocks that fell back to bypass as leader")					\
	X(restorations_out, "restorations-out",						\
	  "restorations sent")								\
	X(waits_out, "waits-out",							\
	  "WAIT messages sent")								\
	X(waits_in, "waits-in",								\
	  "WAIT messages received")							\
	X(probes_out, "probes-out",							\
	  "PROBE messages sent")							\
	X(probes_in, "probes-in",							\
	  "PROBE messages answered")							\
	X(tag_mismatch, "tag-mismatch",							\
	  "complete blocks with a wrong tag")						\
	X(control_lost, "control-lost",							\
	  "messages not sent: control queue full")					\
	X(timeouts, "timeouts",								\
	  "block timers that fired")							\
	X(operations, "operations",							\
	  "operations completed without error")						\
	X(operations_failed, "operations-failed",					\
	  "operations completed with an error")						\
	X(bytes_out, "bytes-out",							\
	  "UDP payload bytes sent")							\
	X(bytes_in, "bytes-in",								\
	  "UDP payload bytes received")							\
	X(ring_out, "ring-out",								\
	  "partial sums sent on along the ring")					\
	X(ring_in, "ring-in",								\
	  "partial sums of the ring added to")						\
	X(ring_again, "ring-again",							\
	  "partial sums sent again along the ring")					\
	X(plans_out, "plans-out",							\
	  "PLAN messages sent")								\
	X(plans_in, "plans-in",								\
	  "PLAN messages received")							\
	X(operations_ring, "operations-ring",						\
	  "operations run as a ring")							\
	X(losses_told, "losses-told",							\
	  "results that later ones of their leader show to be lost, or late")		\
	X(asked_again, "asked-again",							\
	  "contributions that others were asked to send again")				\
	X(groups, "groups",								\
	  "blocks whose missing ranks were found by their tags")			\
	X(spoilt, "spoilt",								\
	  "complete blocks with aggregates that were wrong")				\
	X(refused, "refused",								\
	  "aggregates not taken, because of spoilt blocks")				\
	X(around, "around",								\
	  "blocks that went around switches from the start")

enum cnr_counter {
#define X(name, text, help) CNR_C_##name,
	CNR_COUNTERS(X)
#undef X
	CNR_COUNTER_COUNT
};

struct cnr_stats {
	u64 counter[CNR_COUNTER_COUNT];
	u64 drop[CANARY_DROPS];
};

#define CNR_BELIEVED_MAX	16

/** struct cnr_prefix - all addresses whose first @length bits are those of @addr */
struct cnr_prefix {
	struct canary_addr addr;
	u32	length;
};

/* Return: false if @addr has bits set behind the first @length, or if @length is too large */
static inline bool cnr_prefix_set(struct cnr_prefix *p, const struct canary_addr *addr, u32 length)
{
	p->addr = *addr;
	p->length = length;
	return canary_addr_is_prefix(addr, length);
}

struct cnr_out;

/**
 * struct cnr_config - what a member knows when it is created; packets need the first fields
 * @comm:	communicator
 * @rank:	0 .. @members - 1
 * @members:	1 .. CANARY_MEMBERS_MAX
 * @window:	most blocks in flight, a power of two 1 .. CNR_WINDOW_MAX; 0 = default. The members
 *		agree on the smallest window that any of them offers
 * @shapes:	bits 1 << enum canary_shape: the shapes of all operations that will be posted; 0:
 *		only allreduces. A shape in which one rank may lead all blocks needs memory for that
 * @shards:	most packets that a member sends for a block, of kinds with CANARY_K_SHARDS. That
 *		needs memory; 0: there are no such operations
 * @mtu:	IP packet size that the path to rank 0 takes, at least 576
 * @addr:	own address, as others reach it (rank 0 takes others' from their packets)
 * @port:	own port
 * @root:	address of rank 0
 * @root_port:	port of rank 0
 * @key:	pre-shared key, zeros for none
 * @seed:	random; epoch, first block, salt and nonces come from it
 * @rto_min:	ns; 0 = default (5 ms)
 * @dead_after:	ns of silence that make a rank dead; 0 = default (5 s)
 * @linger:	ns that a closed member serves others, at most; 0 = default (60 s)
 * @algorithm:	enum canary_algorithm; that of rank 0 holds for all
 * @trees:	with CANARY_ALG_STATIC, the number of trees; else 0. Blocks take them in turn. That
 *		of rank 0 holds for all
 * @run:	with CANARY_ALG_TREE, how many blocks a member leads in a row: a power of two 1 ..
 *		CANARY_RUN_MAX; 0 means 1. It is halved until a window has room for a run of each
 *		member. That of rank 0 holds for all
 * @given:	all members have this @run, as where the session is formed from a table. Otherwise
 *		members but rank 0 have memory for the longest run. A WELCOME with a longer run than
 *		there is memory for is refused
 * @tree:	by tree: its path (canary_hdr.contribution.path), the same at all ranks. A tree that
 *		has no entry here uses its number as path
 * @slice:	how many members the core may look at in one call, for drivers that must not take
 *		long. It leaves what would take longer to cnr_work(). 0: no limit
 * @lossless:	links wait instead of dropping, so only @window limits the blocks in flight
 * @data_key:	NULL; or CNR_DATA_KEY words for the key of data. A driver that has many members of
 *		one session may give all of them the same words, since all write the same there
 * @seldom:	NULL; or zeroed memory of cnr_seldom_size(), aligned to 16. The core puts there what
 *		packets hardly touch where switches add up. cnr_size() is then the rest
 * @peers:	NULL; or zeroed memory for where the ranks are, one struct canary_peer each. All
 *		members of one session in one driver may share it, since all write the same there.
 *		They have the same @root and @root_port, and believe what any of them was told
 * @place:	NULL; or a function that says where the core may make the data of @out. The @addr,
 *		@port and @len of that packet are known already. It returns memory for @len bytes,
 *		4-byte aligned, or NULL. If cnr_out.payload is there when that packet is sent, the
 *		driver has to copy nothing. Data that are in a vector already stay there, and it is
 *		not called for them. Context: in cnr_poll()
 * @driver:	its first argument
 * @believed:	prefixes: aggregates (contributions of more than one member) are only taken from
 *		sources in one of them
 * @believe:	how many prefixes @believed has; 0 = aggregates are taken from anybody
 * @first_block: tests only: overrides the random first block if @fixed_first is set
 * @fixed_first: see @first_block
 */
struct cnr_config {
	u32	comm;
	u16	rank;
	u16	members;
	u16	window;
	u16	mtu;
	u16	slice;
	u8	shapes;
	u8	shards;
	__be16	port;
	bool	lossless;
	u8	algorithm;
	u32	first_block;
	u64	rto_min;
	u64	dead_after;
	u64	linger;
	struct canary_addr addr;
	struct canary_addr root;
	__be16	root_port;
	bool	fixed_first;
	u8	trees;
	u8	run;
	bool	given;
	u8	key[16];
	u8	seed[32];
	u8	tree[CANARY_TREES_MAX];
	u32	*data_key;
	void	*seldom;
	struct canary_peer *peers;
	void	*(*place)(void *driver, const struct cnr_out *out);
	void	*driver;
	struct cnr_prefix believed[CNR_BELIEVED_MAX];
	u32	believe;
};

static inline bool cnr_trees_fit(u32 algorithm, u32 trees)
{
	return algorithm == CANARY_ALG_STATIC ? trees && trees <= CANARY_TREES_MAX : !trees;
}

static inline bool cnr_run_fits(u32 algorithm, u32 run)
{
	return run <= 1 || (algorithm == CANARY_ALG_TREE && CANARY_RUN_OK(run));
}

/* CANARY_ALGORITHM, as applications say it */
static inline bool cnr_algorithm_is(u32 value)
{
	u32 algorithm = value & 0xff, number = value >> 8;

	if (algorithm == CANARY_ALG_TREE)
		return cnr_run_fits(algorithm, number);
	return algorithm <= CANARY_ALG_MAX && cnr_trees_fit(algorithm, number);
}

static inline void cnr_config_algorithm(struct cnr_config *cfg, u32 value)
{
	u32 i;

	cfg->algorithm = value;
	cfg->run = cfg->algorithm == CANARY_ALG_TREE ? value >> 8 : 0;
	cfg->trees = cfg->algorithm == CANARY_ALG_TREE ? 0 : value >> 8;
	for (i = 0; i < cfg->trees; i++)
		cfg->tree[i] = i;
}

/* What the core is going to do with the elements that it asks cnr_op.at() for */
enum cnr_use {
	CNR_USE_INPUT,		/* read what this member contributes, or the sum so far */
	CNR_USE_RESULT,		/* overwrite it with the result */
	CNR_USE_BOTH,		/* add to it, and leave the result there */
	CNR_USE_SERVE,		/* read the result, to send it */
};

/**
 * struct cnr_op - an operation to post
 * @data:	@elements of cnr_element() bytes, 4-byte aligned: the results
 * @source:	NULL; or the contributions, like @data, which the core does not write to. If NULL,
 *		the contributions are in @data, and results replace them
 * @target:	NULL; or where the results go, like @data, which then has only those that others may
 *		ask for. It may be @source. The core writes to it until the operation completes, and
 *		cnr_done.in_target says whether the results are there. Without @at and @hashes
 * @at:		NULL; or a function for drivers that do not hold the vector at @data as a whole. It
 *		returns where the @n elements from number @first on are. They stay there until the
 *		next call. @n elements are never more than the data of one packet. A ring asks again
 *		for what came out of CNR_USE_BOTH, until the result is there. Of sums of complex
 *		numbers, @first and @n count halves of elements
 * @hashes:	NULL; or room for 64 bits a block (cnr_op_blocks()), if others may write to @data
 *		meanwhile. Nobody then believes a result that they changed. If somebody asks for
 *		such a result again, the communicator ends
 * @memory:	cnr_memory() bytes, 8-byte aligned, for what the encoding keeps; NULL if
 *		cnr_memory() is 0. They are zeros when the operation is first posted
 * @more:	NULL; or further vectors that this member contributes, @mores of them, like @source.
 *		cnr_gather() has taken those that it can
 * @places:	with @more: where the own vector and @more are in the order of all vectors, for
 *		products. The places of all members are 0 .. @addends - 1, each one once
 * @elements:	vector length; 0 makes a barrier
 * @addends:	0: each member contributes one vector, and its place is its rank; else the number
 *		of vectors of all members together, the same at all members, and @places is set
 * @mores:	see @more
 * @op:		enum canary_operator
 * @dtype:	enum canary_dtype
 * @shape:	enum canary_shape, one of cnr_config.shapes
 * @how:	CANARY_HOW_*, of those that cnr_how() tells
 * @root:	a rank, if the shape has a root; else 0
 * @cookie:	returned with completion and release
 */
struct cnr_op {
	void	*data;
	const void *source;
	void	*target;
	void	*(*at)(const struct cnr_op *op, u32 first, u32 n, enum cnr_use use);
	u64	*hashes;
	void	*memory;
	const void *const *more;
	const u16 *places;
	u32	elements;
	u16	addends;
	u16	mores;
	u8	op;
	u8	dtype;
	u8	shape;
	u8	how;
	u32	root;
	u64	cookie;
};

/**
 * struct cnr_done - an operation that completed or was released
 * @cookie:	of cnr_post()
 * @data:	of cnr_post()
 * @elements:	of cnr_post()
 * @error:	0 or a negative errno (-EHOSTDOWN: dead ranks, -ECONNRESET: ranks left,
 *		-EPROTO: ranks run another operation, -EMSGSIZE: large packets of ranks
 *		vanish, -ESTALE: ranks were started again, -ECONNABORTED: closed here)
 * @seq:	sequence number of the operation, from 0
 * @attempts:	blocks that needed another attempt, as seen here
 * @method:	enum canary_method
 * @in_target:	the results are in cnr_op.target. A ring needs all of them in @data, and leaves them
 *		there
 */
struct cnr_done {
	u64	cookie;
	void	*data;
	u32	elements;
	int	error;
	u32	seq;
	u32	attempts;
	u8	method;
	bool	in_target;
};

/**
 * struct cnr_out - a packet to send
 * @hdr:	complete header
 * @addr:	destination
 * @port:	destination port
 * @len:	bytes of @payload
 * @payload:	follows the header; valid until the next call for this communicator
 * @again:	this is a retransmission (for tracing)
 * @hashed:	of the core: in place of the mac, @hdr still has the hash of the data
 */
struct cnr_out {
	struct canary_hdr hdr;
	struct canary_addr addr;
	__be16	port;
	u16	len;
	bool	again;
	bool	hashed;
	const void *payload;
};

/**
 * struct cnr_in - a packet received
 * @hdr:	points to the header. @len bytes from here (with @payload: the header only) are
 *		readable, contiguous and 4-byte aligned. The core parses them (canary_parse()); the
 *		driver has checked nothing
 * @len:	length of the UDP payload
 * @payload:	NULL; or where the bytes after the header are, if they do not follow it in memory.
 *		They are contiguous and 4-byte aligned, too
 * @addr:	source address
 * @port:	source port
 */
struct cnr_in {
	const struct canary_hdr *hdr;
	const void *payload;
	u32	len;
	struct canary_addr addr;
	__be16	port;
};

/*
 * What somebody does wrong. Kinds 1 to 6 are about a JOIN. REFUSED carries them, and user space
 * knows them by number (CANARY_TROUBLES).
 */
enum cnr_trouble_kind {
	CNR_TROUBLE_NONE	= 0,
	CNR_TROUBLE_KEY		= 1,	/* another pre-shared key */
	CNR_TROUBLE_COMM	= 2,	/* another communicator: @value */
	CNR_TROUBLE_MEMBERS	= 3,	/* another number of members: @value */
	CNR_TROUBLE_RANK	= 4,	/* a rank that another process has, or none */
	CNR_TROUBLE_EPOCH	= 5,	/* of an earlier run */
	CNR_TROUBLE_OFFER	= 6,	/* packet size or window out of range */
	CNR_TROUBLE_FORGED	= 7,	/* packets that fail authentication, later on */
	CNR_TROUBLE_VERSION	= 8,	/* another version of the protocol: @value */
	CNR_TROUBLE_UNKNOWN	= 9,	/* an unknown kind or flag: @value */
	CNR_TROUBLE_TABLE	= 10,	/* formed from another table, or with another key */
};

#define CNR_TROUBLES	8	/* remembered, by kind and source */

/**
 * struct cnr_trouble - who did something wrong, and how often; a hint for people
 * @kind:	enum cnr_trouble_kind
 * @rank:	the rank that it claims to be; 0 if it speaks another version
 * @addr:	source of the latest packet
 * @port:	its port
 * @value:	see enum cnr_trouble_kind
 * @count:	packets
 */
struct cnr_trouble {
	u8	kind;
	u8	pad;
	u16	rank;
	struct canary_addr addr;
	__be16	port;
	u16	pad2;
	u32	value;
	u32	count;
};

struct cnr_comm;

/* Milliseconds: the longest cnr_table.start_within that drivers take */
#define CNR_START_WITHIN_MAX	3600000U

/**
 * struct cnr_table - where the members are, and what makes their session unique. It has to be the
 * same at all members that form a communicator from it, except @start_within and @seed
 * @peer:	address and port of each rank. If it is cnr_config.peers, it is used in place
 * @members:	how many
 * @epoch:	not 0. Drivers that share a port tell sessions apart by it
 * @salt:	random. It may be zeros where there is no pre-shared key
 * @start_within: ns within which all ranks form the communicator after this one; 0 = default (60 s)
 * @seed:	random, of this member alone
 * @digest:	of @peer, by cnr_table_check()
 */
struct cnr_table {
	struct canary_peer *peer;
	u32	members;
	u32	epoch;
	u8	salt[CANARY_SALT];
	u64	start_within;
	u8	seed[16];
	u64	digest[2];
};

/** cnr_table_room() - bytes that cnr_table_check() needs for @members */
size_t cnr_table_room(u32 members);

/**
 * cnr_table_check() - can a communicator be formed from @t? It looks at all members once
 * @room:	cnr_table_room() zeroed bytes; not needed any more afterwards
 * @rank:	receives the first rank whose entry is wrong; the number of members if none is
 *
 * Return: 0; -EAFNOSUPPORT: an address is not IPv4; -ENOTUNIQ: another rank has the same address
 * and port; -EINVAL: an address or port where no member can be, no epoch, or no members.
 */
int cnr_table_check(struct cnr_table *t, u16 *room, u32 *rank);

/** cnr_check() - is @cfg in range? Return: 0, or -EINVAL with *@what naming the field. */
int cnr_check(const struct cnr_config *cfg, const char **what);

/** cnr_size() - bytes that cnr_init() needs for @cfg (which cnr_check() accepted) */
size_t cnr_size(const struct cnr_config *cfg);

/** cnr_seldom_size() - bytes that cnr_config.seldom needs */
size_t cnr_seldom_size(const struct cnr_config *cfg);

/**
 * cnr_init() - make a communicator in @mem, cnr_size() zeroed bytes aligned to 64
 * Return: the communicator (it is @mem); there is nothing to undo, the memory is just freed.
 */
struct cnr_comm *cnr_init(void *mem, const struct cnr_config *cfg);

/** cnr_connect() - start the rendezvous. Return: 0, -EISCONN, -EALREADY. */
int cnr_connect(struct cnr_comm *c, u64 now);

/**
 * cnr_form() - form the communicator from @t, in place of cnr_connect()
 *
 * cnr_table_check() has accepted @t. The communicator is CONNECTED at once, and waits for nobody.
 * Operations can be posted. They begin when all members have formed it. struct cnr_config has what
 * a rendezvous would agree on: @comm, @members, @mtu, @window, @algorithm, @trees, @key. They have
 * to be the same at all members, and the path to each member has to take @mtu. @seed has to be
 * another one each time: it tells processes of one rank apart.
 *
 * Return: 0, -EISCONN, -EALREADY; -EINVAL: another number of members; -ENOKEY: a pre-shared key,
 * but no salt; -EADDRNOTAVAIL: cnr_config has another address or port than @t.
 */
int cnr_form(struct cnr_comm *c, u64 now, const struct cnr_table *t);

enum cnr_state cnr_state(const struct cnr_comm *c);

/** cnr_session() - Return: the epoch, or 0 while it is not known. Once known, it never changes */
u32 cnr_session(const struct cnr_comm *c);

/**
 * cnr_missing() - ranks missing (JOINING) or at fault (FAILED)
 * @ranks:	receives up to @max of them, as far as this member knows them by name; or NULL
 * Return: how many were written; without @ranks, how many there are in all.
 */
u32 cnr_missing(const struct cnr_comm *c, u16 *ranks, u32 max);

/** cnr_troubles() - the latest troubles, newest first. Return: how many were written to @list */
u32 cnr_troubles(const struct cnr_comm *c, struct cnr_trouble *list, u32 max);

/** cnr_failure() - Return: negative errno of a FAILED communicator, else 0; *@why is set. */
int cnr_failure(const struct cnr_comm *c, enum canary_abort *why);

/** cnr_element() - Return: bytes of an element of @dtype; 0: there is no @op on that type */
u32 cnr_element(u8 op, u8 dtype);

/** cnr_how() - Return: the CANARY_HOW_* that @op on @dtype may be asked for */
u32 cnr_how(u8 op, u8 dtype);

/**
 * cnr_lane() - Return: bytes that an element of @dtype takes in a contribution, without any
 * CANARY_HOW_*; 0: there is no @op on that type, or it depends on the vector and the communicator
 */
u32 cnr_lane(u8 op, u8 dtype);

/**
 * cnr_op_blocks() - how many blocks @op may have, once the communicator is connected: at least 1
 * @op: an operator that there is on the type
 */
u64 cnr_op_blocks(const struct cnr_comm *c, const struct cnr_op *op);

/** cnr_op_fits() - Return: whether @op has so few blocks that cnr_post() can ever take it */
bool cnr_op_fits(const struct cnr_comm *c, const struct cnr_op *op);

/** cnr_memory() - bytes that cnr_op.memory needs, once the communicator is connected */
size_t cnr_memory(const struct cnr_comm *c, const struct cnr_op *op);

/**
 * cnr_gather() - combine cnr_op.more with what is in cnr_op.data, if words of @op are its elements.
 * Then it is posted without. This takes long, and needs nothing of @c that ever changes, so no lock
 * Return: false if the core has to take cnr_op.more; then nothing was done
 */
bool cnr_gather(const struct cnr_comm *c, const struct cnr_op *op);

/**
 * cnr_post() - Return: 0, -EAGAIN (too many in flight), -ENOTCONN, -EINVAL, -EMSGSIZE (if
 * cnr_op_fits() says no), or cnr_failure()
 */
int __must_check cnr_post(struct cnr_comm *c, u64 now, const struct cnr_op *op);

/**
 * cnr_can_post() - may another operation be posted? After an -EAGAIN of cnr_post(), until the next
 * operation is posted: may one be posted that is as long?
 */
bool cnr_can_post(const struct cnr_comm *c);

/** cnr_input() - a packet came. Return: CANARY_DROP_NONE or why it was dropped (counted). */
enum canary_drop cnr_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);

/**
 * cnr_timer() - to be called at or after cnr_deadline(); harmless earlier
 *
 * After this call, and once all packets are polled, cnr_deadline() is later than @now. So no
 * packet, whoever sent it, makes the timer fire again before time goes on. Tests assert that.
 * Drivers bound the rate at which it fires nevertheless.
 */
void cnr_timer(struct cnr_comm *c, u64 now);

/** cnr_deadline() - Return: when cnr_timer() wants to be called, or CNR_NEVER */
u64 cnr_deadline(const struct cnr_comm *c);

/**
 * cnr_prefetch() - fetch into the cache what any packet is going to need
 * @c: the communicator
 *
 * For drivers of many members, which know early which member comes next.
 */
void cnr_prefetch(const struct cnr_comm *c);

/**
 * cnr_prefetch_block() - fetch into the cache what this packet is going to need
 * @c: the communicator
 * @h: a packet that is going to come in; NULL: the next one out
 */
void cnr_prefetch_block(const struct cnr_comm *c, const struct canary_hdr *h);

/** cnr_poll() - Return: true if *@out has a packet to send */
bool cnr_poll(struct cnr_comm *c, u64 now, struct cnr_out *out);

/**
 * cnr_host_refused() - a queue of our own host was full, and refused a packet
 * @waiting: bytes of this member's packets in that queue, as the host counts them
 */
void cnr_host_refused(struct cnr_comm *c, u64 now, u32 waiting);

/**
 * cnr_host_room() - Return: bytes that this member may have in queues of our own host
 *
 * There is no limit until cnr_host_refused() is called. There is always room for a packet.
 */
u32 cnr_host_room(const struct cnr_comm *c, u64 now);

/**
 * cnr_host_burst() - Return: packets that may leave together, at least 1
 *
 * It is 1 until a round trip has been measured, while cnr_host_room() limits what is in flight, and
 * for a time after much was lost.
 */
u32 cnr_host_burst(struct cnr_comm *c, u64 now);

/**
 * cnr_work() - go on with long work that cnr_config.slice has cut into pieces
 *
 * It has no deadline: the driver comes back as soon as others had their turn. Return: true if
 * something was done. There may be something to poll now, and more to do.
 */
bool cnr_work(struct cnr_comm *c, u64 now);

/** cnr_completion() - next operation that completed, in the order of posting */
bool cnr_completion(struct cnr_comm *c, struct cnr_done *done);

/**
 * cnr_released() - next completed operation whose vector the core needs no longer
 * Comes after cnr_completion() of the same operation.
 */
bool cnr_released(struct cnr_comm *c, struct cnr_done *done);

/**
 * cnr_close() - the application is done with it
 * Operations that are not complete end with -ECONNABORTED here and -ECONNRESET at the others.
 * Afterwards the driver goes on feeding and polling until cnr_state() is CNR_CLOSED.
 * @abort: do not linger: say goodbye (still to be polled) and be CLOSED at once
 */
void cnr_close(struct cnr_comm *c, u64 now, bool abort);

struct cnr_stats *cnr_stats(struct cnr_comm *c);

/** struct cnr_info - what there is to show of a communicator */
struct cnr_info {
	u32	comm;
	u32	epoch;
	u16	rank;
	u16	members;
	u16	window;
	u16	elements;
	u32	una;		/* earliest block that is not done here */
	u32	next;		/* next block to contribute */
	u32	posted;		/* first block not posted */
	u32	all_done;	/* nobody needs anything of blocks before it */
	u32	ops;		/* operations held */
	u64	srtt;		/* ns */
	u64	rto;		/* ns */
	u8	wanted;		/* enum canary_algorithm that was asked for here */
	u8	algorithm;	/* what rank 0 was told: AUTO, or what runs all operations */
	u8	last;		/* what ran last, short operations aside; AUTO: nothing yet */
	u8	why;		/* enum canary_why, of @last */
	u32	cwnd;		/* blocks that may be without result */
	u8	op;		/* of what runs, or ran last, without barriers; 0: none */
	u8	dtype;		/* of @op */
	bool	switches;	/* may switches combine its data? They pass what a ring runs */
	u8	number;		/* of @algorithm: of static trees, or of blocks in a run; 0: none */
};

void cnr_info(const struct cnr_comm *c, struct cnr_info *info);

const char *cnr_trouble_name(u32 kind);
const char *cnr_drop_name(enum canary_drop drop);
const char *cnr_counter_name(enum cnr_counter counter);
const char *cnr_algorithm_name(u32 algorithm);	/* "auto", "tree", "ring", "static" */
const char *cnr_why_name(u32 why);		/* a word or two, of enum canary_why */
const char *cnr_operator_name(u32 op);		/* of enum canary_operator; NULL: there is none */
const char *cnr_dtype_name(u32 dtype);		/* of enum canary_dtype; NULL: there is none */
const char *cnr_method_name(u32 method);	/* of enum canary_method; NULL: there is none */
const char *cnr_how_name(u32 bit);		/* of CANARY_HOW_* 1 << @bit; NULL: there is none */

#endif /* CANARY_CORE_CORE_H */
