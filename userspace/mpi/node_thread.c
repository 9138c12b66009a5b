// SPDX-License-Identifier: BSD-2-Clause
/*
 * The thread that goes on with calls that the program does not wait for. Ranks of a host need each
 * other, and each of them may do something else meanwhile. There is one for a communicator with
 * such calls. It does not call the MPI library.
 */
#include <signal.h>
#include <unistd.h>

#include "node.h"

#define SLEEP	50	/* ms; bells end it before */

static void *go_on(void *arg)
{
	struct cmpi_node *n = arg;
	uint32_t bell;

	pthread_mutex_lock(&n->lock);
	while (!n->stop) {
		if (!node_busy(n)) {
			pthread_cond_wait(&n->wake, &n->lock);
			continue;
		}
		bell = node_bell(n);
		node_step(n);
		if (!node_busy(n))
			continue;
		pthread_mutex_unlock(&n->lock);
		node_sleep(n, bell, SLEEP);
		pthread_mutex_lock(&n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* Signals are for the program's threads. Without a thread, tests and waits go on with calls. */
void cmpi_node_drive(struct cmpi_node *n)
{
	sigset_t all, old;

	pthread_mutex_lock(&n->lock);
	if (!n->threaded) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		n->threaded = !pthread_create(&n->thread, NULL, go_on, n);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
}

void node_thread_end(struct cmpi_node *n)
{
	/* A child of fork() does not have it. */
	if (!n->threaded || n->pid != getpid())
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	n->threaded = false;
}
