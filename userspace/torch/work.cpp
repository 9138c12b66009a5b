// SPDX-License-Identifier: BSD-2-Clause
/* The end of an operation, as PyTorch sees it. */
#include <ATen/core/LegacyTypeDispatch.h>
#include "work.hpp"

namespace canary_torch {

CanaryWork::CanaryWork(int rank, c10d::OpType type, Tensors results, std::function<void()> finish)
	: c10d::Work(rank, type), results_(std::move(results)), finish_(std::move(finish)),
	  future_(c10::make_intrusive<c10::ivalue::Future>(
		  c10::ListType::create(c10::TensorType::get())))
{
}

void CanaryWork::end(std::exception_ptr error)
{
	if (!error && finish_) {
		/* Results are no part of what autograd follows. */
		at::AutoDispatchBelowADInplaceOrView below;

		try {
			finish_();
		} catch (...) {
			error = std::current_exception();
		}
	}
	finish_ = nullptr;
	/* Who waits for the work may go on before callbacks of the future have run. */
	finish(error);
	if (error)
		future_->setError(error);
	else
		future_->markCompleted(c10::IValue(results_));
}

std::vector<at::Tensor> CanaryWork::result()
{
	return results_;
}

c10::intrusive_ptr<c10::ivalue::Future> CanaryWork::getFuture()
{
	return future_;
}

} // namespace canary_torch
