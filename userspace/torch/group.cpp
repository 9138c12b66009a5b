// SPDX-License-Identifier: BSD-2-Clause
/* Operations of the process group that go through the network. */
#include <numeric>
#include <stdexcept>
#include <unistd.h>
#include "group.hpp"
#include "report.hpp"
#include "work.hpp"

namespace canary_torch {

ProcessGroupCanary::ProcessGroupCanary(const Meeting &meeting, std::shared_ptr<Endpoint> endpoint,
				       BasePtr gloo, Ms timeout)
	: Base(meeting.rank, meeting.size), pid_(getpid()),
	  gloo_(std::move(gloo)), timeout_(timeout)
{
	Formed formed = form(meeting, std::move(endpoint), gloo_);

	communicator_ = std::move(formed.communicator);
	why_ = formed.why;
	how_ = formed.how;
}

ProcessGroupCanary::~ProcessGroupCanary()
{
	close();
}

void ProcessGroupCanary::release()
{
	close();
	/* Gloo, too, would wait for threads of the parent. */
	if (pid_ != getpid())
		new BasePtr(std::move(gloo_));
	gloo_.reset();
}

void ProcessGroupCanary::close()
{
	std::shared_ptr<Communicator> last;
	std::lock_guard<std::mutex> guard(mutex_);

	last.swap(communicator_);
	/* What waits for a thread that is not in this process cannot be destroyed. */
	if (last && last->forked())
		new std::shared_ptr<Communicator>(std::move(last));
}

static uint64_t bytes_of(const Tensors &tensors)
{
	uint64_t bytes = 0;

	for (const auto &t : tensors)
		if (t.layout() == at::kStrided)
			bytes += t.nbytes();
	return bytes;
}

/* Return: NULL: @tensors can be reduced by the network; else why not. All ranks get the same */
const char *ProcessGroupCanary::network_why(const Tensors &tensors, const c10d::ReduceOp &op,
					    Kind *kind) const
{
	if (!why_.empty())
		return why_.c_str();
	return kind_find(tensors, op, kind);
}

WorkPtr ProcessGroupCanary::by_gloo(const char *call, const char *reason, const Tensors &tensors,
				    WorkPtr work)
{
	std::lock_guard<std::mutex> guard(mutex_);
	std::vector<WorkPtr> left;

	report_count(call, reason, bytes_of(tensors));
	for (auto &other : by_gloo_)
		if (!other->isCompleted())
			left.push_back(std::move(other));
	left.push_back(work);
	by_gloo_.swap(left);
	return work;
}

WorkPtr ProcessGroupCanary::begin(c10d::OpType type, const Tensors &results,
				  std::unique_ptr<Operation> op, Ms timeout,
				  std::function<void()> finish)
{
	auto work = c10::make_intrusive<CanaryWork>(getRank(), type, results, std::move(finish));
	std::shared_ptr<Communicator> communicator;

	{
		std::lock_guard<std::mutex> guard(mutex_);

		communicator = communicator_;
	}
	if (!communicator)
		throw std::runtime_error("canary: the group is closed");
	op->deadline = Clock::now() + (timeout.count() > 0 ? timeout : timeout_);
	op->done = [work](std::exception_ptr error) { work->end(error); };
	communicator->begin(std::move(op));
	return work;
}

/*
 * One vector of all elements, in the order in which one writes them. It is a tensor's own memory
 * where that has this order already.
 */
static at::Tensor vector_of(const Tensors &tensors, bool *own)
{
	int64_t count = 0, at = 0;
	at::Tensor vector;

	*own = tensors.size() == 1 && tensors[0].is_contiguous() && !tensors[0].is_conj() &&
	       !tensors[0].is_neg();
	if (*own)
		return tensors[0].detach();
	for (const auto &t : tensors)
		count += t.numel();
	vector = at::empty({ count }, tensors[0].options().requires_grad(false));
	for (const auto &t : tensors) {
		vector.narrow(0, at, t.numel()).copy_(t.detach().reshape({ -1 }));
		at += t.numel();
	}
	return vector;
}

static void put_back(const at::Tensor &vector, const Tensors &tensors)
{
	int64_t at = 0;

	for (const auto &t : tensors) {
		t.detach().copy_(vector.narrow(0, at, t.numel()).view(t.sizes()));
		at += t.numel();
	}
}

/* @wanted: this rank takes the result. Otherwise its tensors stay as they are */
WorkPtr ProcessGroupCanary::reduce_all(const char *call, c10d::OpType type, const Tensors &tensors,
				       const Kind &kind, Ms timeout, bool wanted)
{
	auto op = std::make_unique<Operation>();
	std::function<void()> finish;
	at::Tensor from, to;
	bool own;

	from = vector_of(tensors, &own);
	to = own && !wanted ? at::empty_like(from) : from;
	op->call.sendbuf = from.data_ptr();
	op->call.recvbuf = to.data_ptr();
	op->call.count = from.numel();
	op->call.dtype = kind.dtype;
	op->call.op = kind.op;
	op->call.how = how_ & canary_how_supported(kind.dtype, kind.op);
	report_count(call, nullptr, bytes_of(tensors));
	op->buffers = std::make_shared<std::pair<at::Tensor, at::Tensor>>(from, to);
	if (wanted && !own)
		finish = [to, tensors] { put_back(to, tensors); };
	return begin(type, tensors, std::move(op), timeout, std::move(finish));
}

WorkPtr ProcessGroupCanary::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options)
{
	static const char call[] = "all_reduce";
	Kind kind;
	const char *why = network_why(tensors, options.reduceOp, &kind);

	/* Several tensors are added to each other there: copies of one on several devices. */
	if (!why && tensors.size() != 1)
		why = "several tensors";
	if (why)
		return by_gloo(call, why, tensors, gloo_->allreduce(tensors, options));
	return reduce_all(call, c10d::OpType::ALLREDUCE, tensors, kind, options.timeout, true);
}

WorkPtr ProcessGroupCanary::allreduce_coalesced(Tensors &tensors,
						const c10d::AllreduceCoalescedOptions &options)
{
	static const char call[] = "all_reduce_coalesced";
	Kind kind;
	const char *why = network_why(tensors, options.reduceOp, &kind);

	if (why)
		return by_gloo(call, why, tensors, gloo_->allreduce_coalesced(tensors, options));
	return reduce_all(call, c10d::OpType::ALLREDUCE_COALESCED, tensors, kind, options.timeout,
			  true);
}

WorkPtr ProcessGroupCanary::reduce(Tensors &tensors, const c10d::ReduceOptions &options)
{
	static const char call[] = "reduce";
	Kind kind;
	const char *why = network_why(tensors, options.reduceOp, &kind);

	if (!why && tensors.size() != 1)
		why = "several tensors";
	if (why)
		return by_gloo(call, why, tensors, gloo_->reduce(tensors, options));
	return reduce_all(call, c10d::OpType::REDUCE, tensors, kind, options.timeout,
			  options.rootRank == getRank());
}

/* As in Gloo, what was begun before a barrier has ended after it. Canary's order does that. */
void ProcessGroupCanary::wait_for_gloo()
{
	std::vector<WorkPtr> pending;

	{
		std::lock_guard<std::mutex> guard(mutex_);

		pending.swap(by_gloo_);
	}
	for (auto &work : pending) {
		try {
			work->wait();
		} catch (...) {
			/* Who began it hears of it. */
		}
	}
}

WorkPtr ProcessGroupCanary::barrier(const c10d::BarrierOptions &options)
{
	static const char call[] = "barrier";
	std::unique_ptr<Operation> op;

	if (!why_.empty())
		return by_gloo(call, why_.c_str(), {}, gloo_->barrier(options));
	wait_for_gloo();
	op = std::make_unique<Operation>();
	op->call.dtype = CANARY_INT32;
	op->call.op = CANARY_OP_SUM;
	report_count(call, nullptr, 0);
	return begin(c10d::OpType::BARRIER, {}, std::move(op), options.timeout, nullptr);
}

} // namespace canary_torch
