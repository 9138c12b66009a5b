// SPDX-License-Identifier: BSD-2-Clause
/* The table of types and operators: those of PyTorch, and which of libcanary they are. */
#include "kind.hpp"

namespace canary_torch {

static bool find_dtype(at::ScalarType type, enum canary_dtype *dtype)
{
	switch (type) {
	case at::kByte:
	case at::kBool:		/* a byte that is 0 or 1 */
		*dtype = CANARY_UINT8;
		return true;
	case at::kChar:
		*dtype = CANARY_INT8;
		return true;
	case at::kShort:
		*dtype = CANARY_INT16;
		return true;
	case at::kInt:
		*dtype = CANARY_INT32;
		return true;
	case at::kLong:
		*dtype = CANARY_INT64;
		return true;
	case at::kHalf:
		*dtype = CANARY_FLOAT16;
		return true;
	case at::kBFloat16:
		*dtype = CANARY_BFLOAT16;
		return true;
	case at::kFloat:
		*dtype = CANARY_FLOAT32;
		return true;
	case at::kDouble:
		*dtype = CANARY_FLOAT64;
		return true;
	case at::kComplexFloat:
		*dtype = CANARY_COMPLEX64;
		return true;
	case at::kComplexDouble:
		*dtype = CANARY_COMPLEX128;
		return true;
	default:
		return false;
	}
}

static bool find_op(c10d::ReduceOp::RedOpType op, enum canary_operator *found)
{
	switch (op) {
	case c10d::ReduceOp::SUM:
		*found = CANARY_OP_SUM;
		return true;
	case c10d::ReduceOp::AVG:
		*found = CANARY_OP_AVG;
		return true;
	case c10d::ReduceOp::PRODUCT:
		*found = CANARY_OP_PROD;
		return true;
	case c10d::ReduceOp::MIN:
		*found = CANARY_OP_MIN;
		return true;
	case c10d::ReduceOp::MAX:
		*found = CANARY_OP_MAX;
		return true;
	case c10d::ReduceOp::BAND:
		*found = CANARY_OP_AND;
		return true;
	case c10d::ReduceOp::BOR:
		*found = CANARY_OP_OR;
		return true;
	case c10d::ReduceOp::BXOR:
		*found = CANARY_OP_XOR;
		return true;
	default:
		return false;
	}
}

/*
 * In PyTorch true + true is true, and a product of truth values is "and". Sums that wrap around
 * would give other bytes than 0 and 1.
 */
static bool of_truth(enum canary_operator *op)
{
	switch (*op) {
	case CANARY_OP_SUM:
		*op = CANARY_OP_MAX;
		return true;
	case CANARY_OP_PROD:
		*op = CANARY_OP_MIN;
		return true;
	default:
		return *op != CANARY_OP_AVG;
	}
}

static const char *check_tensors(const Tensors &tensors)
{
	size_t bytes = 0;

	if (tensors.empty())
		return "no tensor";
	for (const auto &t : tensors) {
		if (!t.device().is_cpu())
			return "not in memory of the CPU";
		if (t.layout() != at::kStrided)
			return "sparse";
		if (t.scalar_type() != tensors[0].scalar_type())
			return "several types";
		bytes += t.nbytes();
	}
	return bytes > CANARY_BYTES_MAX ? "longer than a vector may be" : nullptr;
}

const char *kind_find(const Tensors &tensors, const c10d::ReduceOp &op, Kind *kind)
{
	const char *reason = check_tensors(tensors);
	at::ScalarType type;

	if (reason)
		return reason;
	type = tensors[0].scalar_type();
	if (!find_dtype(type, &kind->dtype))
		return "type";
	if (!find_op(op, &kind->op) || (type == at::kBool && !of_truth(&kind->op)) ||
	    !canary_supports(kind->dtype, kind->op))
		return "operator on that type";
	return nullptr;
}

} // namespace canary_torch
