// SPDX-License-Identifier: BSD-2-Clause
/*
 * The process group "canary". Reductions of all ranks go through the network, if it can do them.
 * All other operations go to a Gloo group inside.
 */
#ifndef CANARY_TORCH_GROUP_HPP
#define CANARY_TORCH_GROUP_HPP

#include <chrono>
#include <mutex>
#include <string>
#include <vector>
#include "compat.hpp"
#include "kind.hpp"
#include "rendezvous.hpp"

namespace canary_torch {

class ProcessGroupCanary : public Base {
public:
	using Ms = std::chrono::milliseconds;

	/*
	 * @endpoint:	of announce(), which comes first
	 * @gloo:	a Gloo group of the same ranks
	 * @timeout:	of operations that have none of their own
	 */
	ProcessGroupCanary(const Meeting &meeting, std::shared_ptr<Endpoint> endpoint, BasePtr gloo,
			   Ms timeout);
	~ProcessGroupCanary() override;

	/* close() - end the communicator. Operations throw from then on, but those of Gloo */
	void close();

	/* release() - close(), and end the Gloo group, if nobody else has it. For destructors alone */
	void release();

	/* why() - Return: why there is no communicator, or "" */
	const std::string &why() const { return why_; }
	BasePtr gloo() const { return gloo_; }

	const std::string getBackendName() const override { return "canary"; }

	WorkPtr allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) override;
	WorkPtr allreduce_coalesced(Tensors &tensors,
				    const c10d::AllreduceCoalescedOptions &options) override;
	WorkPtr reduce(Tensors &tensors, const c10d::ReduceOptions &options) override;
	WorkPtr barrier(const c10d::BarrierOptions &options) override;

	WorkPtr broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) override;
	WorkPtr allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			  const c10d::AllgatherOptions &options) override;
	WorkPtr _allgather_base(at::Tensor &output, at::Tensor &input,
				const c10d::AllgatherOptions &options) override;
	WorkPtr allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
				    const c10d::AllgatherOptions &options) override;
	WorkPtr gather(std::vector<Tensors> &outputs, Tensors &inputs,
		       const c10d::GatherOptions &options) override;
	WorkPtr scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			const c10d::ScatterOptions &options) override;
	WorkPtr reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			       const c10d::ReduceScatterOptions &options) override;
	WorkPtr _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
				     const c10d::ReduceScatterOptions &options) override;
	WorkPtr alltoall_base(at::Tensor &output, at::Tensor &input, std::vector<int64_t> &out_sizes,
			      std::vector<int64_t> &in_sizes,
			      const c10d::AllToAllOptions &options) override;
	WorkPtr alltoall(Tensors &outputs, Tensors &inputs,
			 const c10d::AllToAllOptions &options) override;
	WorkPtr send(Tensors &tensors, int to, int tag) override;
	WorkPtr recv(Tensors &tensors, int from, int tag) override;
	WorkPtr recvAnysource(Tensors &tensors, int tag) override;
	void monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all) override;
	void setSequenceNumberForGroup() override;
	uint64_t getSequenceNumberForGroup() override;
#if CANARY_TORCH_HAS_COALESCED
	WorkPtr allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
						const c10d::AllgatherOptions &options) override;
	WorkPtr reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
						const c10d::ReduceScatterOptions &options) override;
#endif

private:
	const char *network_why(const Tensors &tensors, const c10d::ReduceOp &op, Kind *kind) const;
	WorkPtr reduce_all(const char *call, c10d::OpType type, const Tensors &tensors,
			   const Kind &kind, Ms timeout, bool wanted);
	WorkPtr begin(c10d::OpType type, const Tensors &results, std::unique_ptr<Operation> op,
		      Ms timeout, std::function<void()> finish);
	WorkPtr by_gloo(const char *call, const char *reason, const Tensors &tensors, WorkPtr work);
	void wait_for_gloo();

	const int pid_;
	BasePtr gloo_;
	const Ms timeout_;
	std::string why_;		/* all calls go to Gloo, at all ranks */
	uint32_t how_;

	std::mutex mutex_;		/* of all below */
	std::shared_ptr<Communicator> communicator_;
	std::vector<WorkPtr> by_gloo_;	/* collective operations that Gloo has not ended, oldest first */
};

} // namespace canary_torch

#endif /* CANARY_TORCH_GROUP_HPP */
