// SPDX-License-Identifier: BSD-2-Clause
/* The thread of a communicator, and what people are told when it fails. */
#include <cerrno>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>
#include "communicator.hpp"

namespace canary_torch {

static const int WAIT_MS = 100;		/* how soon the thread sees that it has to stop */
static const unsigned int RANKS_MAX = 64;

static std::exception_ptr error_of(const std::string &why)
{
	return std::make_exception_ptr(std::runtime_error("canary: " + why));
}

Communicator::Communicator(std::shared_ptr<Endpoint> endpoint, struct canary *comm,
			   std::vector<std::string> names)
	: endpoint_(std::move(endpoint)), names_(std::move(names)), pid_(getpid()), comm_(comm)
{
	thread_ = std::thread([this] { run(); });
}

Communicator::~Communicator()
{
	{
		std::lock_guard<std::mutex> guard(mutex_);

		stop_ = true;
	}
	changed_.notify_all();
	thread_.join();
	canary_close(comm_);
	comm_ = nullptr;
	std::unique_lock<std::mutex> guard(mutex_);
	late_.clear();
	fail(guard, "the group was destroyed while an operation was under way", Failure::OWN);
}

bool Communicator::forked() const
{
	return pid_ != getpid();
}

/* Ranks by name, or "a rank" if none is known */
static std::string who(struct canary *comm, const std::vector<std::string> &names, bool *several)
{
	uint16_t ranks[RANKS_MAX];
	unsigned int i, n = canary_missing(comm, ranks, RANKS_MAX);
	std::string text;

	*several = n > 1;
	for (i = 0; i < n && i < RANKS_MAX; i++)
		text += (i ? ", " : "") + names.at(ranks[i]);
	if (n > RANKS_MAX)
		text += ", and others";
	return n ? text : "a rank";
}

std::string Communicator::sentence(int err) const
{
	/* The library has one of its own, which is lost with the next call. */
	const std::string ours = canary_errmsg();
	bool several;
	const std::string ranks = who(comm_, names_, &several);

	switch (err) {
	case -EHOSTDOWN:
		return ranks + (several ? " answer" : " answers") + " nothing and " +
		       (several ? "count" : "counts") + " as dead";
	case -ECONNRESET:
		return ranks + " left the group";
	case -EPROTO:
		return ranks + (several ? " run" : " runs") +
		       " another operation: all ranks have to call the same ones, in the same order, "
		       "with the same types, sizes and operators";
	default:
		return ours;
	}
}

Communicator::Failure Communicator::failure_of() const
{
	struct canary_info info;

	return !canary_get_info(comm_, &info, sizeof(info)) && info.state == CANARY_FAILED ?
		       Failure::COMMON : Failure::OWN;
}

int Communicator::post(Operation &op)
{
	return canary_post_call(comm_, &op.call, sizeof(op.call), &op.request);
}

/* Return: 0, also if there is no more room, or an error */
int Communicator::post_waiting()
{
	while (!waiting_.empty()) {
		int err = post(*waiting_.front());

		if (err)
			return err == -EAGAIN ? 0 : err;
		begun_.push_back(std::move(waiting_.front()));
		waiting_.pop_front();
	}
	return 0;
}

/*
 * End all operations by an error. The communicator stays where others then hear from it what is
 * wrong, and not that this rank left. The lock is not held while callbacks run.
 */
void Communicator::fail(std::unique_lock<std::mutex> &guard, const std::string &why,
			Failure failure)
{
	Ops ended;

	failed_ = error_of(why);
	if (failure == Failure::OWN) {
		canary_close(comm_);
		comm_ = nullptr;
	}
	for (auto &op : begun_) {
		if (failure == Failure::COMMON)
			canary_wait(comm_, op->request, CANARY_FOREVER);
		ended.push_back(std::move(op));
	}
	for (auto &op : waiting_)
		ended.push_back(std::move(op));
	begun_.clear();
	waiting_.clear();
	guard.unlock();
	for (auto &op : ended)
		op->done(failed_);
	guard.lock();
	if (failure == Failure::LATE)
		late_.swap(ended);
}

void Communicator::begin(std::unique_ptr<Operation> op)
{
	if (forked()) {
		/* The lock may have been taken when the process was forked. */
		op->done(error_of("a process that was forked is not a member of its parent's group"));
		return;
	}
	std::unique_lock<std::mutex> guard(mutex_);

	if (failed_) {
		guard.unlock();
		op->done(failed_);
		return;
	}
	waiting_.push_back(std::move(op));
	/* An error shows in the thread, too. It fails all operations there. */
	post_waiting();
	guard.unlock();
	changed_.notify_all();
}

/* Wait until the oldest operation has ended, or for a moment. */
void Communicator::wait_for_first(std::unique_lock<std::mutex> &guard)
{
	Operation &first = *begun_.front();
	int err;

	guard.unlock();
	err = canary_wait(comm_, first.request, WAIT_MS);
	guard.lock();
	if (err == -ETIMEDOUT) {
		if (Clock::now() >= first.deadline)
			fail(guard, "an operation timed out: all ranks are alive, but some have not called it",
			     Failure::LATE);
		return;
	}
	if (err) {
		fail(guard, sentence(err), failure_of());
		return;
	}
	std::unique_ptr<Operation> op = std::move(begun_.front());

	begun_.pop_front();
	guard.unlock();
	op->done(nullptr);
	guard.lock();
}

void Communicator::run()
{
	std::unique_lock<std::mutex> guard(mutex_);
	int err;

	pthread_setname_np(pthread_self(), "canary-torch");
	while (!stop_) {
		if (begun_.empty() && waiting_.empty()) {
			changed_.wait(guard);
			continue;
		}
		err = post_waiting();
		if (err) {
			fail(guard, sentence(err), failure_of());
		} else if (begun_.empty()) {
			/* Others still need results of earlier operations. */
			guard.unlock();
			canary_room(comm_, WAIT_MS);
			guard.lock();
		} else {
			wait_for_first(guard);
		}
	}
}

} // namespace canary_torch
