/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of forming a communicator, which form.c takes while a call waits, and forming.c while
 * the program goes on: an exchange, a trial, an agreement.
 */
#ifndef CANARY_CMPI_FORM_H
#define CANARY_CMPI_FORM_H

#include "cmpi.h"

/**
 * struct cmpi_hello - what each rank tells the others; in the byte order of the machine, as data of
 * canary are
 * @willing:	0: this rank has no port, @why says why
 * @comm, @epoch, @salt, @key: count if they come from rank 0
 * @key_check:	the same at ranks with the same settings.key_file; 0: none
 */
struct cmpi_hello {
	struct canary_peer	peer;
	uint32_t		willing;
	uint32_t		mtu;
	uint32_t		comm;
	uint32_t		epoch;
	uint64_t		key_check;
	struct cmpi_offer	offer;
	uint8_t			salt[CANARY_SALT];
	uint8_t			key[16];
	char			why[160];
};

/* ---- port.c: the port of the process ---- */

/** cmpi_hello_fill() - what this rank tells. It opens the port, if that was not done before */
void cmpi_hello_fill(struct cmpi_hello *h, struct cmpi_comm *c, const struct cmpi_settings *s,
		     uint32_t job);

/**
 * cmpi_member_open() - open and form c->canary from what all ranks have told, unless another rank is
 * the member of this host
 * Return: 0, or an error about which canary_errmsg() has a sentence
 */
int cmpi_member_open(struct cmpi_comm *c, const struct cmpi_settings *s,
		     const struct cmpi_hello *all);

/* ---- trial.c ---- */

/**
 * struct cmpi_trial - a sum whose result is known. All zeros: not begun
 * @v:		the library writes to it until c->canary is closed, or the sum has ended
 * @until:	when it counts as failed, in us
 */
struct cmpi_trial {
	uint32_t	*v;
	size_t		count;
	uint64_t	request;
	uint64_t	until;
};

/**
 * cmpi_trial_begin() - begin it
 * @why:	receives a sentence if that fails; @len bytes
 * Return: 0 or an error
 */
int cmpi_trial_begin(struct cmpi_trial *t, struct cmpi_comm *c,
		     const struct cmpi_settings *s, char *why, size_t len);

/**
 * cmpi_trial_wait() - was the sum right?
 * @ms:		how long to wait; 0: not at all
 * Return: 1: yes; 0: it has not ended; or an error, with @why set
 */
int cmpi_trial_wait(struct cmpi_trial *t, struct cmpi_comm *c,
		    const struct cmpi_settings *s, int ms, char *why, size_t len);

/* ---- form.c ---- */

/**
 * struct cmpi_attempt - to form a communicator
 * @mine, @all:	what this rank tells, and what all have told
 * @wrong_at:	the first rank where it does not work; number of ranks: it works at all
 * @why:	what is wrong here
 */
struct cmpi_attempt {
	struct cmpi_comm		*c;
	const struct cmpi_settings	*s;
	struct cmpi_hello		mine, *all;
	struct cmpi_trial		trial;
	int				wrong_at;
	char				why[160];
};

/** cmpi_attempt_new() - with @mine filled. Return: NULL if there is no memory */
struct cmpi_attempt *cmpi_attempt_new(struct cmpi_comm *c, const struct cmpi_settings *s,
				      uint32_t job);

/** cmpi_attempt_free() - c->canary was closed, or the trial has ended */
void cmpi_attempt_free(struct cmpi_attempt *a);

/**
 * cmpi_attempt_try() - when all have told: form c->canary, and begin the trial
 * Return: false if a rank is not willing. All ranks know it then, and there is nothing to agree on.
 */
bool cmpi_attempt_try(struct cmpi_attempt *a);

/**
 * cmpi_attempt_tried() - has the trial ended? Then @wrong_at is what this rank has to say.
 * @ms:		how long to wait; 0: not at all
 */
bool cmpi_attempt_tried(struct cmpi_attempt *a, int ms);

/**
 * cmpi_attempt_agreed() - when @wrong_at is the same at all ranks: does it work at all of them? The
 * first rank where it does not says why.
 */
bool cmpi_attempt_agreed(const struct cmpi_attempt *a);

#endif /* CANARY_CMPI_FORM_H */
