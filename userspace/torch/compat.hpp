// SPDX-License-Identifier: BSD-2-Clause
/*
 * What differs between PyTorch 1.13 and 2, and nothing else: from 2.0 on, a process group has
 * backends, and what was c10d::ProcessGroup before is c10d::Backend there.
 */
#ifndef CANARY_TORCH_COMPAT_HPP
#define CANARY_TORCH_COMPAT_HPP

#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#define CANARY_TORCH_BASE	c10d::Backend
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#define CANARY_TORCH_BASE	c10d::ProcessGroup
#endif
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace canary_torch {

using Base = CANARY_TORCH_BASE;
using BasePtr = c10::intrusive_ptr<Base>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using StorePtr = c10::intrusive_ptr<c10d::Store>;
using Tensors = std::vector<at::Tensor>;

/* What a torch has that older ones do not have */
#define CANARY_TORCH_HAS_COALESCED	\
	(TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1))

} // namespace canary_torch

#endif /* CANARY_TORCH_COMPAT_HPP */
