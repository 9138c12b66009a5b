// SPDX-License-Identifier: BSD-2-Clause
/*
 * Types and operators of MPI as those of Canary. What has no row goes to MPICH: long double,
 * numbers of 16 bytes, pairs of Fortran's reals, characters, and what programs make themselves.
 */
#include "preload.h"
#include "userspace/mpi/operators.h"

/* What MPI permits on a type. MPICH says so if a program calls another operator. */
enum permits { ALL, LOGICAL, BITWISE };

struct row {
	MPI_Datatype	type;
	uint8_t		size;	/* that it has to have */
	uint8_t		dtype;
	enum permits	permits;
};

#define SIGNED(t)	(sizeof(t) == 8 ? CANARY_INT64 : CANARY_INT32)
#define UNSIGNED(t)	(sizeof(t) == 8 ? CANARY_UINT64 : CANARY_UINT32)

/* Sizes of Fortran's types depend on how MPICH was built. A handle tells the size. */
static const struct row rows[] = {
	{ MPI_DOUBLE, 8, CANARY_FLOAT64, ALL },
	{ MPI_FLOAT, 4, CANARY_FLOAT32, ALL },
	{ MPI_INT, 4, CANARY_INT32, ALL },
	{ MPI_LONG, sizeof(long), SIGNED(long), ALL },
	{ MPI_LONG_LONG_INT, 8, CANARY_INT64, ALL },
	{ MPI_UNSIGNED, 4, CANARY_UINT32, ALL },
	{ MPI_UNSIGNED_LONG, sizeof(long), UNSIGNED(long), ALL },
	{ MPI_UNSIGNED_LONG_LONG, 8, CANARY_UINT64, ALL },
	{ MPI_SHORT, 2, CANARY_INT16, ALL },
	{ MPI_UNSIGNED_SHORT, 2, CANARY_UINT16, ALL },
	{ MPI_SIGNED_CHAR, 1, CANARY_INT8, ALL },
	{ MPI_UNSIGNED_CHAR, 1, CANARY_UINT8, ALL },
	{ MPI_INT8_T, 1, CANARY_INT8, ALL },
	{ MPI_INT16_T, 2, CANARY_INT16, ALL },
	{ MPI_INT32_T, 4, CANARY_INT32, ALL },
	{ MPI_INT64_T, 8, CANARY_INT64, ALL },
	{ MPI_UINT8_T, 1, CANARY_UINT8, ALL },
	{ MPI_UINT16_T, 2, CANARY_UINT16, ALL },
	{ MPI_UINT32_T, 4, CANARY_UINT32, ALL },
	{ MPI_UINT64_T, 8, CANARY_UINT64, ALL },
	{ MPI_AINT, sizeof(MPI_Aint), SIGNED(MPI_Aint), ALL },
	{ MPI_OFFSET, sizeof(MPI_Offset), SIGNED(MPI_Offset), ALL },
	{ MPI_COUNT, sizeof(MPI_Count), SIGNED(MPI_Count), ALL },
	{ MPI_BYTE, 1, CANARY_UINT8, BITWISE },
	{ MPI_C_BOOL, 1, CANARY_UINT8, LOGICAL },
	{ MPI_CXX_BOOL, 1, CANARY_UINT8, LOGICAL },
	{ MPI_C_FLOAT_COMPLEX, 8, CANARY_COMPLEX64, ALL },
	{ MPI_C_DOUBLE_COMPLEX, 16, CANARY_COMPLEX128, ALL },
	{ MPI_CXX_FLOAT_COMPLEX, 8, CANARY_COMPLEX64, ALL },
	{ MPI_CXX_DOUBLE_COMPLEX, 16, CANARY_COMPLEX128, ALL },
	{ MPI_SHORT_INT, 6, CANARY_INT16_INDEX, ALL },
	{ MPI_2INT, 8, CANARY_INT32_INDEX, ALL },
	{ MPI_LONG_INT, 12, CANARY_INT64_INDEX, ALL },
	{ MPI_FLOAT_INT, 8, CANARY_FLOAT32_INDEX, ALL },
	{ MPI_DOUBLE_INT, 12, CANARY_FLOAT64_INDEX, ALL },
	{ MPI_INTEGER, 4, CANARY_INT32, ALL },
	{ MPI_INTEGER1, 1, CANARY_INT8, ALL },
	{ MPI_INTEGER2, 2, CANARY_INT16, ALL },
	{ MPI_INTEGER4, 4, CANARY_INT32, ALL },
	{ MPI_INTEGER8, 8, CANARY_INT64, ALL },
	{ MPI_LOGICAL, 4, CANARY_INT32, LOGICAL },
	{ MPI_REAL, 4, CANARY_FLOAT32, ALL },
	{ MPI_REAL4, 4, CANARY_FLOAT32, ALL },
	{ MPI_REAL8, 8, CANARY_FLOAT64, ALL },
	{ MPI_DOUBLE_PRECISION, 8, CANARY_FLOAT64, ALL },
	{ MPI_COMPLEX, 8, CANARY_COMPLEX64, ALL },
	{ MPI_COMPLEX8, 8, CANARY_COMPLEX64, ALL },
	{ MPI_COMPLEX16, 16, CANARY_COMPLEX128, ALL },
	{ MPI_DOUBLE_COMPLEX, 16, CANARY_COMPLEX128, ALL },
	{ MPI_2INTEGER, 8, CANARY_INT32_INDEX, ALL },
};

static const struct row *find(MPI_Datatype type)
{
	unsigned int i;
	int size;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type && type != MPI_DATATYPE_NULL)
			return !PMPI_Type_size(type, &size) && size == rows[i].size ? &rows[i] :
			       NULL;
	return NULL;
}

uint32_t preload_dtype(MPI_Datatype type)
{
	const struct row *row = find(type);

	return row ? row->dtype : 0;
}

uint32_t preload_operator(MPI_Datatype type, MPI_Op op)
{
	const struct row *row = find(type);
	bool logical = op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
	bool bitwise = op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;

	if (!row || (row->permits == LOGICAL && !logical) || (row->permits == BITWISE && !bitwise))
		return 0;
	return CMPI_OPERATOR(op);
}
