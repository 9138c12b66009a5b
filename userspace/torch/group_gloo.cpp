// SPDX-License-Identifier: BSD-2-Clause
/* Operations of the process group that Gloo does. They are the same call of the group inside. */
#include "group.hpp"
#include "report.hpp"

namespace canary_torch {

static const char WHY[] = "not in the network";

static Tensors flat(const std::vector<Tensors> &lists)
{
	Tensors all;

	for (const auto &list : lists)
		all.insert(all.end(), list.begin(), list.end());
	return all;
}

/* Between two ranks. A barrier does not wait for it. */
static void count(const char *call, const Tensors &tensors)
{
	uint64_t bytes = 0;

	for (const auto &t : tensors)
		bytes += t.nbytes();
	report_count(call, WHY, bytes);
}

WorkPtr ProcessGroupCanary::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options)
{
	return by_gloo("broadcast", WHY, tensors, gloo_->broadcast(tensors, options));
}

WorkPtr ProcessGroupCanary::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
				      const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather", WHY, inputs, gloo_->allgather(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::_allgather_base(at::Tensor &output, at::Tensor &input,
					    const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather_into_tensor", WHY, { input },
		       gloo_->_allgather_base(output, input, options));
}

WorkPtr ProcessGroupCanary::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
						const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather_coalesced", WHY, inputs,
		       gloo_->allgather_coalesced(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::gather(std::vector<Tensors> &outputs, Tensors &inputs,
				   const c10d::GatherOptions &options)
{
	return by_gloo("gather", WHY, inputs, gloo_->gather(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::scatter(Tensors &outputs, std::vector<Tensors> &inputs,
				    const c10d::ScatterOptions &options)
{
	return by_gloo("scatter", WHY, outputs, gloo_->scatter(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
					   const c10d::ReduceScatterOptions &options)
{
	return by_gloo("reduce_scatter", WHY, flat(inputs),
		       gloo_->reduce_scatter(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
						 const c10d::ReduceScatterOptions &options)
{
	return by_gloo("reduce_scatter_tensor", WHY, { input },
		       gloo_->_reduce_scatter_base(output, input, options));
}

WorkPtr ProcessGroupCanary::alltoall_base(at::Tensor &output, at::Tensor &input,
					  std::vector<int64_t> &out_sizes,
					  std::vector<int64_t> &in_sizes,
					  const c10d::AllToAllOptions &options)
{
	return by_gloo("all_to_all_single", WHY, { input },
		       gloo_->alltoall_base(output, input, out_sizes, in_sizes, options));
}

WorkPtr ProcessGroupCanary::alltoall(Tensors &outputs, Tensors &inputs,
				     const c10d::AllToAllOptions &options)
{
	return by_gloo("all_to_all", WHY, inputs, gloo_->alltoall(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::send(Tensors &tensors, int to, int tag)
{
	count("send", tensors);
	return gloo_->send(tensors, to, tag);
}

WorkPtr ProcessGroupCanary::recv(Tensors &tensors, int from, int tag)
{
	count("recv", tensors);
	return gloo_->recv(tensors, from, tag);
}

WorkPtr ProcessGroupCanary::recvAnysource(Tensors &tensors, int tag)
{
	count("recv", tensors);
	return gloo_->recvAnysource(tensors, tag);
}

void ProcessGroupCanary::monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all)
{
	report_count("monitored_barrier", WHY, 0);
	gloo_->monitoredBarrier(options, wait_all);
}

void ProcessGroupCanary::setSequenceNumberForGroup()
{
	gloo_->setSequenceNumberForGroup();
}

uint64_t ProcessGroupCanary::getSequenceNumberForGroup()
{
	return gloo_->getSequenceNumberForGroup();
}

#if CANARY_TORCH_HAS_COALESCED
WorkPtr ProcessGroupCanary::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
							    const c10d::AllgatherOptions &options)
{
	return by_gloo("all_gather_into_tensor_coalesced", WHY, inputs,
		       gloo_->allgather_into_tensor_coalesced(outputs, inputs, options));
}

WorkPtr ProcessGroupCanary::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
							    const c10d::ReduceScatterOptions &options)
{
	return by_gloo("reduce_scatter_tensor_coalesced", WHY, inputs,
		       gloo_->reduce_scatter_tensor_coalesced(outputs, inputs, options));
}
#endif

} // namespace canary_torch
