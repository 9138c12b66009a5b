/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Layer 3, session: who the members are (join.c, table.c, greet.c), how many blocks they lead in a
 * row (runs.c), which of them live (alive.c), what all of them have and who may go (leave.c), what
 * others do wrong (trouble.c).
 */
#ifndef CANARY_CORE_SESSION_H
#define CANARY_CORE_SESSION_H

#include "comm.h"

#define CNR_REFRESH		4096	/* a member is refreshed every so many blocks */
#define CNR_GONE_ONCE		1024	/* members that are given up at once */
#define CNR_PROBE_GAP		(20 * CNR_USEC)	/* least mean time between PROBEs */
#define CNR_DONE_FIRST		(20 * CNR_MSEC)
#define CNR_DONE_PINNED		(1 * CNR_MSEC)	/* an application waits for its buffer */

/*
 * struct cnr_joiner - what rank 0 keeps of each member until all are in; from a table, longer
 * @offer:	before the table is settled: bytes of data that its path takes
 * @window:	before the table is settled: its largest window
 * @small:	before the table is settled: how many of its offers were below what it wants
 * @nonce:	of its JOINs; from a table: of the process that is in, or 0
 * @number:	highest number of its JOINs; from a table: how often a process was let in or left
 * @joined:	with the table: when its latest JOIN came
 */
struct cnr_joiner {
	u16	offer;
	u16	window;
	u32	small;
	u32	number;
	u64	nonce;
	u64	joined;
};

/*
 * struct cnr_questions - questions to and from one rank, see alive.c. It is apart from struct
 * cnr_member, since every block takes a cache line of that.
 * @question:	number of the last question to it
 * @asked_from:	an answer shows that it lives only if its question has a higher number
 * @heard:	highest number of its questions
 * @recent:	bit i: question @heard - i has come
 */
struct cnr_questions {
	u32	question;
	u32	asked_from;
	u32	heard;
	u32	recent;
};

/* Has @m left, so that it hears nothing? The dead are told, as they may just have been cut off. */
static inline bool cnr_is_deaf(const struct cnr_member *m)
{
	return (m->flags & (CNR_M_LEFT | CNR_M_DEAD)) == CNR_M_LEFT;
}

/* table.c: communicators from a table, without rendezvous */
int cnr_table_form(struct cnr_comm *c, u64 now, const struct cnr_table *t);

/* greet.c: which processes make up such a session */
void cnr_greeting_begin(struct cnr_comm *c, u64 now, u64 start_within);
void cnr_greeting_timer(struct cnr_comm *c, u64 now);
void cnr_greeting_wanted(struct cnr_comm *c, u64 now);
void cnr_greeting_hurry(struct cnr_comm *c, u64 now);
enum canary_drop cnr_greeting_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
void cnr_greeting_build(const struct cnr_comm *c, const struct cnr_control *m, struct cnr_out *out);
bool cnr_greeting_cast(struct cnr_comm *c, u16 rank, struct cnr_out *out);
bool cnr_greeting_leave(struct cnr_comm *c, struct cnr_out *out);

/* runs.c: how many blocks a member leads in a row */
u32 cnr_run_most(u32 members, u32 window);
u32 cnr_run_room(const struct cnr_config *cfg, u32 window);
void cnr_run_settle(struct cnr_comm *c, u32 run);
u32 cnr_algorithm_number(const struct cnr_comm *c);

/* join.c: rendezvous */
void cnr_epoch(struct cnr_comm *c, u32 first);
void cnr_connected(struct cnr_comm *c);
void cnr_join_start(struct cnr_comm *c, u64 now);
void cnr_join_timer(struct cnr_comm *c, u64 now);
enum canary_drop cnr_join_refuse(struct cnr_comm *c, const struct cnr_in *in,
				 enum canary_drop why);
enum canary_drop cnr_join_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
enum canary_drop cnr_cookie_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
enum canary_drop cnr_welcome_input(struct cnr_comm *c, u64 now, const struct cnr_in *in);
void cnr_join_build(struct cnr_comm *c, u32 first, struct cnr_out *out);
void cnr_cookie_build(struct cnr_comm *c, u64 now, const struct cnr_control *m,
		      struct cnr_out *out);
bool cnr_welcome_build(struct cnr_comm *c, u16 rank, u32 first, struct cnr_out *out);

/* alive.c: questions, answers, members that are gone */
void cnr_ask(struct cnr_comm *c, u64 now, u16 rank);
void cnr_heard(struct cnr_comm *c, u16 rank);
u32 cnr_question(struct cnr_comm *c, u16 rank);
bool cnr_is_answer(const struct cnr_questions *t, u32 from, u32 number);
bool cnr_is_question(const struct canary_hdr *h);
bool cnr_is_new_question(struct cnr_comm *c, const struct canary_hdr *h);
void cnr_gone(struct cnr_comm *c, u16 rank, u8 how);
void cnr_fail_left(struct cnr_comm *c, u64 now);
bool cnr_alive_timer(struct cnr_comm *c, u64 now);
enum canary_drop cnr_probe_input(struct cnr_comm *c, const struct canary_hdr *h);
bool cnr_alive_input(struct cnr_comm *c, const struct canary_hdr *h);
void cnr_refresh(struct cnr_comm *c, u32 block);
bool cnr_sent_by(struct cnr_comm *c, u16 rank, u32 sent);

/* leave.c: what all have, who may go */
void cnr_done_begin(struct cnr_comm *c);
void cnr_done_wanted(struct cnr_comm *c, u32 goal, u64 at);
void cnr_all_done(struct cnr_comm *c, u32 done);
void cnr_done_timer(struct cnr_comm *c, u64 now);
bool cnr_done_work(struct cnr_comm *c, u64 now);
enum canary_drop cnr_done_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
void cnr_gone_settle(struct cnr_comm *c, u64 now);
void cnr_linger(struct cnr_comm *c, u64 now, bool at_once);
void cnr_linger_timer(struct cnr_comm *c, u64 now);
enum canary_drop cnr_left(struct cnr_comm *c, u64 now, u16 rank, u32 end, u32 acked);
enum canary_drop cnr_leave_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);

/* trouble.c: what others do wrong */
bool cnr_trouble_note(struct cnr_comm *c, const struct cnr_in *in, enum canary_drop drop);
void cnr_trouble_claim(struct cnr_comm *c, const struct cnr_in *in);
bool cnr_trouble_refused(struct cnr_comm *c, const struct cnr_in *in);
enum cnr_trouble_kind cnr_trouble_of(enum canary_drop drop);

#endif /* CANARY_CORE_SESSION_H */
