/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcanary: allreduce whose additions happen inside the switches of the network.
 *
 *	struct canary_params p;
 *	struct canary *c;
 *
 *	canary_params_init(&p);
 *	canary_params_set(&p, "comm", "7"); ... rank, members, root
 *	canary_open(&p, &c);
 *	canary_connect(c, 30000);
 *	canary_allreduce(c, in, out, count, CANARY_FLOAT32, CANARY_OP_SUM);
 *	canary_close(c);
 *
 * A communicator is a group of processes, its members. Each member has a rank. Section numbers here
 * refer to "Canary: Congestion-Aware In-Network Allreduce Using Dynamic Trees" (De Sensi et al.).
 * PROTOCOL.md says how members and switches talk.
 *
 * Errors: functions that return int return 0 (or what is documented) on success and a negative
 * errno on failure. canary_errmsg() has a sentence about it.
 *
 * Threads: communicators are independent of each other. Any thread may call any function but
 * canary_close() on a communicator at any time. But all members have to post their operations in
 * the same order, so usually one thread posts. canary_close() must be the last call. A communicator
 * does not survive fork() in the child.
 *
 * Signals: waiting goes on after a signal handler has returned, and no call returns -EINTR. A
 * thread that the library starts blocks all signals.
 */
#ifndef CANARY_H
#define CANARY_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/* enum canary_operator, enum canary_dtype, CANARY_PORT_BASE, CANARY_PORTS, CANARY_MEMBERS_MAX */
#include <linux/canary_wire.h>
/* struct canary_prefix, CANARY_ADDR_IP4() */
#include <linux/canary.h>

#ifdef __cplusplus
extern "C" {
#endif

/** CANARY_BYTES_MAX - longest vector, in bytes */
#define CANARY_BYTES_MAX	0xfffffffcU

/** CANARY_COUNT_MAX - the same in elements of 4 bytes */
#define CANARY_COUNT_MAX	(CANARY_BYTES_MAX / 4)

/** CANARY_FOREVER - a timeout that never ends */
#define CANARY_FOREVER		(-1)

/** struct canary - one member's view of a communicator; opaque */
struct canary;

/**
 * enum canary_engine - what runs the host side of the protocol
 *
 * @CANARY_ENGINE_AUTO:		the kernel engine if it is there, else the user engine
 * @CANARY_ENGINE_KERNEL:	socket(AF_CANARY), module canary
 * @CANARY_ENGINE_USER:		a UDP socket and a thread of this process; needs no privilege
 */
enum canary_engine {
	CANARY_ENGINE_AUTO	= 0,
	CANARY_ENGINE_KERNEL	= 1,
	CANARY_ENGINE_USER	= 2,
};

/**
 * enum canary_zerocopy - may the kernel engine work on the application's buffers?
 *
 * @CANARY_ZEROCOPY_AUTO:	if that is cheaper than copies: from 1 MiB on. If the kernel refuses
 *				(RLIMIT_MEMLOCK), the engine copies
 * @CANARY_ZEROCOPY_ON:		for any length; if the kernel refuses, canary_allreduce() fails
 * @CANARY_ZEROCOPY_OFF:	never
 *
 * This concerns canary_allreduce(), and canary_post() in place. In other cases the application may
 * use its buffer again before the operation has ended, so it has to be copied.
 */
enum canary_zerocopy {
	CANARY_ZEROCOPY_AUTO	= 0,
	CANARY_ZEROCOPY_ON	= 1,
	CANARY_ZEROCOPY_OFF	= 2,
};

/** CANARY_SPIN_AUTO - canary_params.spin: for short vectors only, as long as suits the engine */
#define CANARY_SPIN_AUTO	(~0U)

/**
 * struct canary_params - what a member has to know about its communicator
 *
 * @size:	sizeof(struct canary_params), set by canary_params_init()
 * @comm:	communicator, any number; the same at all members
 * @rank:	0 .. @members - 1
 * @members:	1 .. CANARY_MEMBERS_MAX; the same at all members
 * @engine:	enum canary_engine
 * @root:	address of rank 0, in network order; port 0 means CANARY_PORT_BASE. An IPv6 address
 *		gives -EAFNOSUPPORT so far
 * @bind:	own address. No address means that of the route to @root. Port 0 means a free port
 *		of CANARY_PORT_BASE .. CANARY_PORT_BASE + CANARY_PORTS - 1. Rank 0 is bound to @root
 * @key:	pre-shared key; all zero means none. Without a key, accidents are noticed, but
 *		attacks are not. A member with another key is not let in. canary_errmsg() says so at
 *		both ends, as far as rank 0 can be believed without a common key
 * @window:	most blocks in flight: a power of two, 1 .. 1024; 0 = default (256). The smallest
 *		value of all members is used
 * @mtu:	largest IP packet in bytes, 576 .. 9000; 0 = what the route to @root takes. A block
 *		(section 3.1.3) is what fits the smallest value of all members
 * @dead_after:	ms of silence after which a rank is dead, 100 .. 3600000; 0 = default (5000)
 * @linger:	longest time in ms that canary_close() serves members that lack results, 0 ..
 *		3600000 (kernel engine: at most 60000); default 60000
 * @rto_min:	least time in us before a result is asked for, 100 .. 1000000; 0 = default (5000).
 *		The kernel engine has its own value
 * @max_vector:	longest vector in bytes that the kernel engine is set up for, a multiple of 4,
 *		up to 256 MiB; 0 = default (16 MiB). A longer vector raises it. The user engine has
 *		no such limit
 * @algorithm:	enum canary_algorithm. CANARY_ALG_TREE: dynamic trees through switches.
 *		CANARY_TREE_RUNS(R): dynamic trees in which a member leads R blocks in a row: 1, 2,
 *		4, 8 or 16. R is halved until a window has room for a run of each member. Sums are
 *		faster where processors are the limit. Where links lose packets, or queues are
 *		short, they took up to 2.4 times as long.
 *		CANARY_ALG_RING: hosts alone, in a ring. CANARY_STATIC_TREES(T): 1 .. 32 trees in
 *		which switches choose nothing, and which blocks use in turn, to compare with.
 *		CANARY_ALG_AUTO (default): rank 0 decides for each operation, by its length and by
 *		what it has observed. The value of rank 0 holds for all members. canary_get_info()
 *		says what was run, and why
 * @zerocopy:	enum canary_zerocopy; the user engine copies
 * @aggregates:	number of elements in @aggregate; 0 = default: aggregates are believed from anybody
 * @aggregate:	where the switches are. Packets with the data of several members do not prove where
 *		they come from. As a leader, take them from these sources only. If the list lacks a
 *		switch, sums stay right, but take far longer than without any switch: every block of
 *		that switch waits in vain, then all ranks are asked again
 * @share:	NULL, or another communicator of this process, in any state. From then on, both have
 *		its address, UDP port and engine. @bind is 0 or the same. Ports are few, so a
 *		process in many communicators shares one. Ranks of one communicator cannot share a
 *		port: while one joins, canary_connect() of another one returns -EADDRINUSE. The port
 *		stays until the last one is closed. The user engine has one thread for all of them
 * @table:	0; else canary_form() takes the place of canary_connect(). Then @root is ignored.
 *		@bind has to have an address unless @share does. @mtu (0 = 1500), @window,
 *		@algorithm and @key have to be the same at all members, as @comm and @members have
 * @spin:	time in us that a waiting thread polls for a result before it sleeps, 0 .. 1000000. It
 *		yields the processor in between. Default CANARY_SPIN_AUTO: with the user engine, 50
 *		for vectors of up to 4 KiB, else 0
 */
struct canary_params {
	size_t			size;
	uint32_t		comm;
	uint16_t		rank;
	uint16_t		members;
	uint32_t		engine;
	struct canary_peer	root;
	struct canary_peer	bind;
	uint8_t			key[16];
	uint16_t		window;
	uint16_t		mtu;
	uint32_t		dead_after;
	uint32_t		linger;
	uint32_t		rto_min;
	uint32_t		max_vector;
	uint32_t		algorithm;
	uint32_t		zerocopy;
	uint32_t		aggregates;
	struct canary_prefix	aggregate[CANARY_AGGREGATES_MAX];
	struct canary		*share;
	uint32_t		table;
	uint32_t		spin;
};

/**
 * canary_params_init_size() - canary_params_init() for a caller that may be older than the library
 * @params:	is overwritten
 * @size:	sizeof(struct canary_params) of the caller; no more is written
 */
void canary_params_init_size(struct canary_params *params, size_t size);

/**
 * canary_params_init() - defaults: rank 0 of 1 member, automatic engine, no key
 * @params:	is overwritten
 */
static inline void canary_params_init(struct canary_params *params)
{
	canary_params_init_size(params, sizeof(*params));
}

/**
 * canary_params_set() - set one parameter from text
 * @params:	initialised
 * @name:	a member of the struct above, with dashes for underscores: "comm", "rank",
 *		"members", "engine" (auto, kernel, user), "root" and "bind" (ADDRESS[:PORT], no host
 *		names), "key" (32 hexadecimal digits), "key-file" (a file with them that others
 *		cannot read), "window", "mtu", "dead-after" and "linger" (number with ms or s),
 *		"rto-min" and "spin" (number with us or ms; "spin" also auto), "max-vector" (bytes, K,
 *		M or G may follow),
 *		"algorithm" (auto, tree, tree:RUN, ring, static:TREES), "zerocopy" (auto, on, off),
 *		"aggregates" (any, or up to 16 ADDRESS[/LENGTH], separated by commas)
 * @value:	numbers are decimal, or hexadecimal after 0x
 *
 * Return: 0; -ENOENT: there is no such parameter; -EINVAL: not a number, address, ..., or @params
 * is not initialised, or smaller than this library's; -ERANGE: outside of the range above.
 * canary_errmsg() names range and value.
 */
int canary_params_set(struct canary_params *params, const char *name, const char *value);

/**
 * canary_params_members() - take members, root and bind from a file
 * @params:	with its rank set
 * @path:	one line for each rank: RANK ADDRESS[:PORT]; empty lines and # comments are ignored.
 *		The ranks are 0 .. members - 1, each once, in any order
 *
 * Return: 0; a negative errno of open(2); -EINVAL: a line is wrong, a rank is missing or occurs
 * twice, an address with its port occurs twice, the rank of @params is not listed.
 */
int canary_params_members(struct canary_params *params, const char *path);

/* What canary_params_launcher() takes */
#define CANARY_LAUNCHER_COMM	0x1U	/* the number of the communicator, from the job's */
#define CANARY_LAUNCHER_RANK	0x2U
#define CANARY_LAUNCHER_MEMBERS	0x4U
#define CANARY_LAUNCHER_ROOT	0x8U	/* address of rank 0 */
#define CANARY_LAUNCHER_ALL	0xfU

/**
 * canary_params_launcher() - take parameters from what started this process
 * @params:	initialised. An address in @root is kept. At rank 0, one in @bind is told to others
 * @what:	CANARY_LAUNCHER_*, the same at all ranks of the job. CANARY_LAUNCHER_ROOT is for who
 *		has rank and members from there, too
 *
 * These are known, and tried in this order:
 *
 *	torchrun: RANK, WORLD_SIZE, MASTER_ADDR, if TORCHELASTIC_RUN_ID is set
 *	openmpi:  OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE of mpirun
 *	pmi:      PMI_RANK, PMI_SIZE of MPICH's mpiexec, or of srun --mpi=pmi2
 *	slurm:    SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST of srun
 *	torchrun: as above, without that variable
 *
 * The variable CANARY_LAUNCHER may be the name of one of them, or "none".
 *
 * Address of rank 0: openmpi and slurm ask PMIx if PMIX_NAMESPACE is set, and pmi asks PMI_FD. Rank
 * 0 then tells others where it is: a port that is free, and the first address of an interface that is
 * up and no loopback, or of the first one in CANARY_INTERFACES: names or prefixes, with commas.
 * All ranks call this function, and it returns when all have. Otherwise the host is MASTER_ADDR, or
 * the first one of Slurm's list, and the port follows from the job. It may then be taken.
 *
 * Number of the communicator: a hash of the launcher's number for the job. Two jobs have the same
 * one by a chance of one in 2^32. The variable CANARY_COMM, FIRST[-LAST], is the range that it is
 * in.
 *
 * The exchange is done once in a process. A process of MPI calls this between MPI_Init() and
 * MPI_Finalize(), where there is PMIx. With pmi it cannot use the exchange.
 *
 * Return: 1: done; 0: there is no launcher, @params is as it was; -EINVAL: a variable is missing,
 * no number, or out of range; -EADDRNOTAVAIL: no address; -EADDRINUSE: all ports are taken; -EBUSY:
 * not in a process of MPI, or not now; -EPROTO, -EPIPE: the exchange failed; -ENOENT, -ENOSYS: no
 * PMIx.
 */
int canary_params_launcher(struct canary_params *params, unsigned int what);

/**
 * canary_launcher_name() - what started this process, by its variables
 * Return: "openmpi", "pmi", "slurm", "torchrun"; NULL: none of these.
 */
const char *canary_launcher_name(void);

/**
 * canary_open() - create a member; nothing is sent yet
 * @params:	copied
 * @comm:	receives the member; canary_close() ends it
 *
 * Return: 0; -EINVAL, -ERANGE: a parameter is wrong; -EAFNOSUPPORT: the kernel engine is asked for
 * and not there; -EADDRINUSE: the port, or all ports, are taken; -EADDRNOTAVAIL: the address does
 * not belong to this machine; -ENETUNREACH: no route to @root; -EEXIST: the kernel has this
 * communicator and rank already; -ENOMEM, -EMFILE, ...
 */
int canary_open(const struct canary_params *params, struct canary **comm);

/**
 * canary_connect() - rendezvous: returns when every rank has joined (PROTOCOL.md, "Rendezvous")
 * @comm:	from canary_open()
 * @timeout_ms:	CANARY_FOREVER, or how long to wait
 *
 * Return: 0; -ETIMEDOUT: ranks are missing, canary_missing() names them, and the call may be
 * repeated; -EISCONN; -EUSERS: more members than the sysctl net.canary.members_max allows to the
 * sockets of this network namespace (kernel engine); -EADDRINUSE: params.share; errors of an
 * operation (canary_wait()).
 */
int canary_connect(struct canary *comm, int timeout_ms);

/**
 * struct canary_table - where the members are, and what distinguishes a session from others. All
 * but @start_within is the same at all members.
 *
 * @epoch:		not 0. Sessions at one port differ in it. If a process is started again with
 *			the same table, all members end with -ESTALE. If all are, they sum up anew
 * @start_within:	ms by which a member may come later than this one, 1 .. 3600000; 0 = 60000
 * @salt:		random, drawn with @epoch. It may be zeros where there is no pre-shared key
 * @peer:		address and port of each member, by rank: params.members of them
 * @reserved:		0. So set the other members of the struct by an initializer
 */
struct canary_table {
	uint32_t			epoch;
	uint32_t			start_within;
	uint8_t				salt[CANARY_SALT];
	const struct canary_peer	*peer;
	uint32_t			reserved[4];
};

/**
 * canary_table_members() - take addresses and ports from a file
 * @path:	as for canary_params_members()
 * @peer:	receives those of the first @max ranks
 * @max:	room in @peer
 *
 * Return: number of ranks in the file; errors as of canary_params_members().
 */
int canary_table_members(const char *path, struct canary_peer *peer, unsigned int max);

/**
 * canary_form() - form the communicator from a table, in place of canary_connect()
 * @comm:	from canary_open(), with params.table. canary_get_info() has its address and port,
 *		for the table
 * @table:	not needed any more when this returns
 *
 * Returns at once, and waits for nobody. So it costs little to begin a communicator inside another
 * one, in which the members have exchanged their addresses, or one of a launcher that knows them.
 * Members send some small packets. Operations begin when all members are there. If members have
 * different tables or parameters, operations end with -EHOSTDOWN, after @start_within.
 * canary_errmsg() says who seems to have another one, but not where the port is shared
 * (params.share) and the epoch differs.
 *
 * A member may form the communicator later than others, which wait in their first operation. A
 * member that never does is dead after @start_within, and later on after params.dead_after. If a
 * member is closed before others came, they find that it is dead.
 *
 * Return: 0; -EINVAL: params.table is not set, no epoch, a reserved value is not 0, an address
 * where no member can be; -ENOKEY: a pre-shared key, but no salt; -EAFNOSUPPORT: an IPv6
 * address; -ENOTUNIQ: two members have the same address and port; -EADDRNOTAVAIL: the own entry
 * is not where this member is; -EADDRINUSE: this session is at this port already; -EMSGSIZE: the
 * path to another member does not take params.mtu; -ENETUNREACH: there is none; -EISCONN;
 * -EUSERS, -ENOBUFS (kernel engine), -ENOMEM.
 */
int canary_form(struct canary *comm, const struct canary_table *table);

/**
 * canary_missing() - ranks that have not joined, or that ended the communicator
 * @comm:	any state
 * @ranks:	receives up to @max ranks, may be NULL if @max is 0
 * @max:	room in @ranks
 *
 * Before the rendezvous is complete, ranks other than 0 only know what rank 0 tells them. If rank 0
 * does not answer, it is the one that is missing.
 *
 * Return: number of ranks written (those beyond 64 may not be known by name); with @max 0, how many
 * there are in all. 0 if none is known.
 */
unsigned int canary_missing(struct canary *comm, uint16_t *ranks, unsigned int max);

/**
 * canary_allreduce() - reduce a vector over all members, and wait for the result
 * @comm:	connected
 * @sendbuf:	@count elements of canary_dtype_size() bytes, at any address; own contribution
 * @recvbuf:	@count elements; receives the result, the same bits at every member. It may be
 *		@sendbuf (in place); it must not overlap it otherwise
 * @count:	elements, the same at all members: 0 .. CANARY_BYTES_MAX / canary_dtype_size();
 *		0 makes a barrier
 * @dtype:	type of the elements, the same at all members, in the byte order of the machine:
 *		integers of 8, 16, 32 or 64 bits, with or without a sign, in two's complement;
 *		CANARY_FLOAT16, CANARY_BFLOAT16, CANARY_FLOAT32, CANARY_FLOAT64;
 *		CANARY_INT16_INDEX, CANARY_INT32_INDEX, CANARY_INT64_INDEX, CANARY_FLOAT32_INDEX,
 *		CANARY_FLOAT64_INDEX: struct { value; int32_t index; };
 *		CANARY_COMPLEX64, CANARY_COMPLEX128: real and imaginary part, of CANARY_FLOAT32 or
 *		CANARY_FLOAT64
 * @op:		what is done to elements with the same index, the same at all members:
 *		CANARY_OP_SUM, CANARY_OP_PROD: sum and product, which wrap around;
 *		CANARY_OP_MIN, CANARY_OP_MAX: the least and the largest one;
 *		CANARY_OP_AND, CANARY_OP_OR, CANARY_OP_XOR: each bit by itself;
 *		CANARY_OP_LAND, CANARY_OP_LOR, CANARY_OP_LXOR: 1 if all, some, or an odd number of
 *		elements are not 0; else 0;
 *		CANARY_OP_AVG: the exact sum, divided by the number of members, rounded towards 0.
 *		Floating-point numbers have SUM, PROD, MIN, MAX and AVG only. Nothing wraps around
 *		there, and averages are rounded to nearest. docs/floating-point.md says which bits
 *		come out. struct canary_call can ask for other ones.
 *		Values with an index have CANARY_OP_MINLOC and CANARY_OP_MAXLOC only: the least or
 *		the largest value, and the lowest index that has it. A NaN comes out before all
 *		others. Zeros are equal: the one comes out that has this index. Padding is 0.
 *		Complex numbers have CANARY_OP_SUM, CANARY_OP_PROD and CANARY_OP_AVG only. Their
 *		sums are those of twice as many numbers. Products are made in the order of ranks.
 *		With one member, the result is a copy of its vector, whatever the operator
 *
 * The vector is cut into blocks (section 3.1.3). Switches combine them on their way to a
 * leader (3.1.1, 3.1.4), and the results come back the same way (3.1.2). What gets lost is sent
 * again (3.3). The result does not depend on the order, whatever the type.
 *
 * Operations that were posted before end first. Their results wait for canary_wait().
 *
 * Return: as canary_post() (but never -EAGAIN) and canary_wait() without a timeout.
 */
int canary_allreduce(struct canary *comm, const void *sendbuf, void *recvbuf, size_t count,
		     enum canary_dtype dtype, enum canary_operator op);

/**
 * canary_post() - begin an allreduce and return
 * @comm, @sendbuf, @recvbuf, @count, @dtype, @op:	as for canary_allreduce(). @sendbuf may be
 *							used again when this returns. @recvbuf
 *							belongs to the library until canary_wait()
 *							or canary_test() has said that the operation
 *							has ended, or canary_close() has returned.
 *							In place, so does @sendbuf
 * @request:						receives a number for canary_wait() and
 *							canary_test(), never 0
 *
 * Return: 0; -EAGAIN: too many operations are under way, see canary_room(); -ENOTCONN; -EINVAL:
 * there is no such @op on that @dtype, overlapping buffers; -EMSGSIZE: the vector is too long;
 * -ENOMEM, -ENOBUFS: no memory; -EFAULT: a buffer is not accessible; or the error that ended the
 * communicator (canary_wait()).
 */
int canary_post(struct canary *comm, const void *sendbuf, void *recvbuf, size_t count,
		enum canary_dtype dtype, enum canary_operator op, uint64_t *request);

/**
 * canary_room() - wait until canary_post() would not return -EAGAIN
 * @comm:	connected
 * @timeout_ms:	CANARY_FOREVER, or how long to wait
 *
 * It takes in results of operations under way if there is no other way to make room.
 *
 * Return: 0, -ETIMEDOUT, or the error that ended the communicator.
 */
int canary_room(struct canary *comm, int timeout_ms);

/**
 * canary_wait() - wait until an operation has ended
 * @comm:	connected
 * @request:	of canary_post(); not valid any more after this has returned anything but -ETIMEDOUT
 * @timeout_ms:	CANARY_FOREVER, or how long to wait. The operation goes on after a timeout
 *
 * Return: 0: the result is in recvbuf. Otherwise recvbuf has undefined content, also in place, and:
 * -ETIMEDOUT: not yet;
 * -ENOENT: no such request;
 * -EHOSTDOWN: ranks are dead, as they do not answer (section 3.3);
 * -ECONNRESET: ranks closed the communicator;
 * -EPROTO: ranks run another operation: another operator, type, length or canary_call.how;
 * -ESTALE: ranks were started again, with the same table;
 * -ECONNABORTED: this member was closed.
 * All but the first two end the communicator. canary_missing() names the ranks.
 */
int canary_wait(struct canary *comm, uint64_t request, int timeout_ms);

/**
 * canary_test() - has an operation ended? As canary_wait() with a timeout of 0
 * Return: 1: yes, the result is in recvbuf; 0: not yet; else as canary_wait().
 */
int canary_test(struct canary *comm, uint64_t request);

/**
 * struct canary_call - an operation with all that can be said about it. So set it by an initializer
 *
 * @sendbuf, @recvbuf, @count:	as for canary_allreduce()
 * @dtype:	enum canary_dtype
 * @op:		enum canary_operator
 * @how:	CANARY_HOW_*, the same at all members, of those that canary_how_supported() tells.
 *		Sums of integers may have CANARY_HOW_SATURATE: the exact sum, or the end of the type
 *		next to it. Elements of 32 and 64 bits then take twice the bytes, smaller ones 32
 *		bits. The others say how floating-point numbers are added up, and operators that
 *		add up nothing take no notice of them.
 *		0: sums of integers wrap around. Of floating-point numbers, the length of the vector
 *		decides;
 *		CANARY_HOW_EXACT: sums are correctly rounded, at any length, which takes many times
 *		as many packets;
 *		CANARY_HOW_ELEMENTWISE: each element has an exponent of its own. That is for vectors
 *		whose neighbours differ by orders of magnitude, and takes more packets;
 *		CANARY_HOW_NARROW: sums of CANARY_FLOAT32 take half as many packets with 129 to 1024
 *		members, and are less accurate
 * @reserved:	0
 * @more:	NULL; or @mores further vectors that this member contributes, like @sendbuf. A process
 *		that gathers those of others on its host contributes for all of them, and takes one
 *		member's part of the network. They must stay as they are until the operation has
 *		ended, and must not overlap @recvbuf. Results are those of a communicator in which
 *		each vector has a member of its own, bit for bit
 * @places:	NULL if @addends is 0; or the places of @sendbuf and of @more, @mores + 1 of them.
 *		All vectors of all members have the places 0 .. @addends - 1, each one once.
 *		Products of floating-point numbers are made in this order
 * @mores:	see @more
 * @addends:	0: each member contributes one vector. Else how many vectors all members contribute
 *		together, up to CANARY_MEMBERS_MAX, the same at all members, of which there are two
 *		or more. Averages are divided by it. The user engine can do this; the kernel engine
 *		gives -EOPNOTSUPP
 *
 * A caller that was built when @reserved was the last one passes that size.
 */
struct canary_call {
	const void	*sendbuf;
	void		*recvbuf;
	size_t		count;
	uint32_t	dtype;
	uint32_t	op;
	uint32_t	how;
	uint32_t	reserved;
	const void	*const *more;
	const uint16_t	*places;
	uint32_t	mores;
	uint32_t	addends;
};

/**
 * struct canary_outcome - how an operation was carried out
 *
 * @method:	enum canary_method, see canary_method_name()
 * @attempts:	blocks that needed more than one attempt here
 */
struct canary_outcome {
	uint32_t	method;
	uint32_t	attempts;
};

/**
 * canary_allreduce_call() - canary_allreduce() with all that can be said about it
 * @call:	the operation
 * @size:	sizeof(*@call); other versions may have more members, or fewer
 * @outcome:	NULL, or receives how it was carried out, if it ended without an error
 * @outcome_size: sizeof(*@outcome)
 * Return: as canary_allreduce(); -EINVAL: @call->how is not for this operator on this type; a size is
 * too small.
 */
int canary_allreduce_call(struct canary *comm, const struct canary_call *call, size_t size,
			  struct canary_outcome *outcome, size_t outcome_size);

/** canary_post_call() - canary_post() with all that can be said about it. Return: likewise */
int canary_post_call(struct canary *comm, const struct canary_call *call, size_t size,
		     uint64_t *request);

/** canary_wait_outcome() - canary_wait(), and how it was carried out. Return: likewise */
int canary_wait_outcome(struct canary *comm, uint64_t request, int timeout_ms,
			struct canary_outcome *outcome, size_t size);

/**
 * canary_poll_fd() - a descriptor for poll(2) and epoll(7)
 * @comm:	any state
 *
 * It is readable while there is an operation that ended and was not waited for, or when the
 * communicator has failed. Only poll it, and do not read from it. canary_close() closes it. A
 * result that canary_room(), or canary_wait() for a later operation, took in does not make it
 * readable.
 *
 * Return: the descriptor or a negative errno.
 */
int canary_poll_fd(struct canary *comm);

/**
 * canary_close() - end this member
 * @comm:	not valid afterwards; NULL does nothing
 *
 * Operations under way end with -ECONNRESET at the other members. If all have ended, the member
 * stays until the others have their results: at most params.linger, or params.dead_after if they
 * are dead. The kernel engine does so in the background. Descriptor and requests are gone.
 */
void canary_close(struct canary *comm);

/** canary_engine_name() - Return: "kernel" or "user" */
const char *canary_engine_name(const struct canary *comm);

/** canary_engine_reason() - Return: a sentence that says why this engine was chosen */
const char *canary_engine_reason(const struct canary *comm);

enum canary_state {
	CANARY_NEW		= 0,	/* opened */
	CANARY_CONNECTING	= 1,	/* rendezvous under way */
	CANARY_CONNECTED	= 2,
	CANARY_FAILED		= 3,	/* see canary_missing() */
	CANARY_CLOSED		= 4,
};

/**
 * struct canary_info - what is known about a communicator
 *
 * @state:	enum canary_state
 * @error:	negative errno that ended it, or 0
 * @comm:	communicator
 * @epoch:	random number of this session; 0 before it is connected
 * @rank:	own rank
 * @members:	number of members
 * @window:	most blocks in flight, as agreed
 * @elements:	elements of 4 bytes in a block, as agreed; 0 before it is connected
 * @local:	own address
 * @root:	address of rank 0
 * @srtt:	us, smoothed time from a contribution to its result
 * @algorithm:	enum canary_algorithm that rank 0 was told: what runs all operations, or automatic
 * @last:	enum canary_algorithm of the latest operation that was not short; automatic before
 *		one
 * @why:	enum canary_why, of @last
 * @zerocopy:	number of operations posted without copies
 * @refused:	number of operations that were copied because the kernel did not lock their buffers
 * @refusal:	negative errno of the last of these: -ENOBUFS is RLIMIT_MEMLOCK (or no memory)
 * @number:	of @algorithm: of static trees; or, once connected, of blocks that a member leads in
 *		a row, if it is more than one; else 0
 */
struct canary_info {
	uint32_t		state;
	int32_t			error;
	uint32_t		comm;
	uint32_t		epoch;
	uint16_t		rank;
	uint16_t		members;
	uint16_t		window;
	uint16_t		elements;
	struct canary_peer	local;
	struct canary_peer	root;
	uint32_t		srtt;
	uint32_t		algorithm;
	uint32_t		last;
	uint32_t		why;
	uint32_t		zerocopy;
	uint32_t		refused;
	int32_t			refusal;
	uint32_t		number;
};

/**
 * canary_get_info() - fill in *@info
 * @size:	sizeof(*@info); later versions may have more members, and fill what there is room for
 * Return: 0, or -EINVAL for a @size that no version has.
 */
int canary_get_info(struct canary *comm, struct canary_info *info, size_t size);

/**
 * canary_block_elements() - how many elements a full block has, that is, a packet
 * @dtype:	enum canary_dtype
 * @op:		enum canary_operator. A block of averages may have fewer elements, as packets then
 *		have room for the exact sum. Of sums, averages and products of floating-point
 *		numbers, and of indices of 64-bit values, a block has no certain number of elements
 * Return: the number; 0: there is none, or no such operator on that type, or @comm is not connected
 * yet.
 */
size_t canary_block_elements(struct canary *comm, uint32_t dtype, uint32_t op);

/**
 * canary_dtype_name() - name of a type: "int8", "uint8", ... "uint64", "float16", "bfloat16",
 * "float32", "float64", "int16_index", "int32_index", "int64_index", "float32_index",
 * "float64_index", "complex64", "complex128"
 * @dtype:	enum canary_dtype. Numbers begin with 1 and have no gaps
 * Return: the name; NULL: there is no such type.
 */
const char *canary_dtype_name(uint32_t dtype);

/**
 * canary_dtype_parse() - the type of that name
 * @name:	as of canary_dtype_name(); or "half", "float", "double", and as MPI has them:
 *		"short_int", "2int", "long_int", "float_int", "double_int"
 * @dtype:	receives the type
 * Return: 0; -EINVAL: there is no such type. canary_errmsg() has those that there are.
 */
int canary_dtype_parse(const char *name, enum canary_dtype *dtype);

/** canary_dtype_size() - Return: bytes of an element of an enum canary_dtype; 0: no such type */
size_t canary_dtype_size(uint32_t dtype);

/**
 * canary_operator_name() - name of an operator: "sum", "prod", "min", "max", "and", "or", "xor",
 * "land", "lor", "lxor", "avg", "minloc", "maxloc"
 * @op:		enum canary_operator. Numbers begin with 1 and have no gaps
 * Return: the name; NULL: there is no such operator.
 */
const char *canary_operator_name(uint32_t op);

/**
 * canary_operator_parse() - the operator of that name
 * @name:	as of canary_operator_name()
 * @op:		receives the operator
 * Return: 0; -EINVAL: there is no such operator. canary_errmsg() has those that there are.
 */
int canary_operator_parse(const char *name, enum canary_operator *op);

/** canary_supports() - Return: 1: there is such an operator on that type; 0: there is none */
int canary_supports(uint32_t dtype, uint32_t op);

/**
 * canary_how_supported() - Return: the CANARY_HOW_* that @op on @dtype may be asked for; 0: none, or
 * there is no such operator on that type
 */
uint32_t canary_how_supported(uint32_t dtype, uint32_t op);

/** canary_how_name() - Return: the name of one CANARY_HOW_*; NULL: there is none, or it is several */
const char *canary_how_name(uint32_t how);

/**
 * canary_how_parse() - the CANARY_HOW_* of these names
 * @names:	"exact", "elementwise", "narrow", "saturate", or several of them, separated by commas
 * @how:	receives them
 * Return: 0; -EINVAL: there is no such name. canary_errmsg() has those that there are.
 */
int canary_how_parse(const char *names, uint32_t *how);

/**
 * canary_method_name() - Return: "elements", "exact", "each", "groups", "ranks": an enum
 * canary_method; NULL: there is no such method
 */
const char *canary_method_name(uint32_t method);

/** canary_algorithm_name() - Return: "auto", "tree", "ring", "static": an enum canary_algorithm */
const char *canary_algorithm_name(uint32_t algorithm);

/** canary_why_name() - Return: words with dashes for an enum canary_why, like "short-vector" */
const char *canary_why_name(uint32_t why);

/**
 * struct canary_stat - a counter of a communicator
 * @name:	for people, words separated by dashes; never freed
 * @value:	since canary_open()
 * @drop:	counts packets dropped for the reason @name
 */
struct canary_stat {
	const char	*name;
	uint64_t	value;
	int		drop;
};

/**
 * canary_stats() - counters, in an order that does not change
 * @comm:	any state
 * @stats:	receives up to @max counters, may be NULL if @max is 0
 * @max:	room in @stats
 * Return: how many counters there are, or a negative errno.
 */
int canary_stats(struct canary *comm, struct canary_stat *stats, int max);

/**
 * canary_errmsg() - what was wrong with the last failed call of this thread
 * Return: a sentence without full stop, valid until the next call into the library by this thread;
 * "" if none failed.
 */
const char *canary_errmsg(void);

/** canary_version() - Return: version of the library, like "0.1.0" */
const char *canary_version(void);

#ifdef __cplusplus
}
#endif

#endif /* CANARY_H */
