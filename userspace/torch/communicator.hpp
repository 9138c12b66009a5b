// SPDX-License-Identifier: BSD-2-Clause
/*
 * A communicator of libcanary with a thread of its own, which waits for its operations and says
 * when one has ended. Operations begin in the order in which they are given.
 */
#ifndef CANARY_TORCH_COMMUNICATOR_HPP
#define CANARY_TORCH_COMMUNICATOR_HPP

#include <canary.h>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include "endpoint.hpp"

namespace canary_torch {

using Clock = std::chrono::steady_clock;

/* One allreduce */
struct Operation {
	struct canary_call call = {};
	Clock::time_point deadline;
	std::shared_ptr<void> buffers;	/* kept as long as libcanary may use them */

	/*
	 * Called once, without a lock, by the communicator's thread or inside of begin(): NULL, or
	 * why there is no result.
	 */
	std::function<void(std::exception_ptr)> done;

	uint64_t request = 0;		/* of the communicator alone */
};

class Communicator {
public:
	/*
	 * @endpoint:	is kept
	 * @comm:	formed; is closed with this object
	 * @names:	how messages call each rank
	 */
	Communicator(std::shared_ptr<Endpoint> endpoint, struct canary *comm,
		     std::vector<std::string> names);

	/*
	 * Ends what is under way by an error, and stays until others have their results. Not to be
	 * called where forked() is true.
	 */
	~Communicator();

	/* begin() - begin an operation, or put it behind those that wait for room. Never waits. */
	void begin(std::unique_ptr<Operation> op);

	/* forked() - is this a child of the process that made it? Then nothing of it works here */
	bool forked() const;

private:
	using Ops = std::deque<std::unique_ptr<Operation>>;

	enum class Failure {
		COMMON,		/* of the communicator: libcanary has ended all operations */
		OWN,		/* of this rank: others have to be told */
		LATE,		/* libcanary goes on, but the caller waits no longer */
	};

	void run();
	void wait_for_first(std::unique_lock<std::mutex> &guard);
	int post(Operation &op);
	int post_waiting();
	void fail(std::unique_lock<std::mutex> &guard, const std::string &why, Failure failure);
	Failure failure_of() const;
	std::string sentence(int err) const;

	const std::shared_ptr<Endpoint> endpoint_;
	const std::vector<std::string> names_;
	const int pid_;

	std::mutex mutex_;		/* of all below */
	std::condition_variable changed_;
	struct canary *comm_;		/* NULL: it was closed */
	Ops begun_, waiting_;		/* libcanary has the first ones, oldest first */
	Ops late_;			/* it has these, too, and their callers do not wait */
	std::exception_ptr failed_;
	bool stop_ = false;
	std::thread thread_;
};

} // namespace canary_torch

#endif /* CANARY_TORCH_COMMUNICATOR_HPP */
