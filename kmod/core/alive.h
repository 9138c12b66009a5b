/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Questions, answers, and who lives: what alive.c keeps and does */
#ifndef CANARY_CORE_ALIVE_H
#define CANARY_CORE_ALIVE_H

#include "core.h"

struct cnr_comm;

/*
 * struct cnr_talk - questions to and from one rank, see alive.c. Apart from struct cnr_member, of
 * which every block takes a line.
 * @question:	number of the last one to it
 * @asked_from:	and of the last one that is no longer news of its life, if it is answered
 * @heard:	highest number of its questions
 * @recent:	bit i: question @heard - i has come
 */
struct cnr_talk {
	u32	question;
	u32	asked_from;
	u32	heard;
	u32	recent;
};

void cnr_ask(struct cnr_comm *c, u64 now, u16 rank);
void cnr_heard(struct cnr_comm *c, u16 rank);
u32 cnr_question(struct cnr_comm *c, u16 rank);
bool cnr_is_answer(const struct cnr_talk *t, u32 from, u32 number);
bool cnr_is_question(const struct canary_hdr *h);
bool cnr_is_new_question(struct cnr_comm *c, const struct canary_hdr *h);
void cnr_alive_timer(struct cnr_comm *c, u64 now);
enum canary_drop cnr_probe_input(struct cnr_comm *c, const struct canary_hdr *h);
enum canary_drop cnr_alive_input(struct cnr_comm *c, u64 now, const struct canary_hdr *h);
bool cnr_sent_by(struct cnr_comm *c, u16 rank, u32 sent);

#endif /* CANARY_CORE_ALIVE_H */
