// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which type and operator of libcanary an operation of PyTorch is. The answer depends on nothing
 * but what all ranks have to call alike, so that all ranks decide alike.
 */
#ifndef CANARY_TORCH_KIND_HPP
#define CANARY_TORCH_KIND_HPP

#include <canary.h>
#include "compat.hpp"

namespace canary_torch {

struct Kind {
	enum canary_dtype dtype;
	enum canary_operator op;
};

/*
 * kind_find() - Return: NULL: @kind is set; else why the network cannot do that, a few words that
 * stay valid
 * @tensors:	what one rank gives to one operation; they may be parts of one vector
 */
const char *kind_find(const Tensors &tensors, const c10d::ReduceOp &op, Kind *kind);

} // namespace canary_torch

#endif /* CANARY_TORCH_KIND_HPP */
