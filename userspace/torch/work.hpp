// SPDX-License-Identifier: BSD-2-Clause
/* What a call of torch.distributed gets: something to wait for, with a future. */
#ifndef CANARY_TORCH_WORK_HPP
#define CANARY_TORCH_WORK_HPP

#include <exception>
#include <functional>
#include "compat.hpp"

namespace canary_torch {

class CanaryWork : public c10d::Work {
public:
	/*
	 * @results:	what the future has
	 * @finish:	is called before it is complete: it puts results where the caller has them.
	 *		May be empty
	 */
	CanaryWork(int rank, c10d::OpType type, Tensors results, std::function<void()> finish);

	/* end() - called once, by any thread. @error: NULL: there is a result */
	void end(std::exception_ptr error);

	std::vector<at::Tensor> result() override;
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

private:
	Tensors results_;
	std::function<void()> finish_;
	c10::intrusive_ptr<c10::ivalue::Future> future_;
};

} // namespace canary_torch

#endif /* CANARY_TORCH_WORK_HPP */
