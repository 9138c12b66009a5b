// SPDX-License-Identifier: BSD-2-Clause
/*
 * Types and operators of MPI as those of Canary. Types are looked up by Open MPI's number, which a
 * copy by MPI_Type_dup() shares, and MPI's names of one type of C often do.
 */
#include "component.h"
#include "userspace/mpi/operators.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/datatype/ompi_datatype_internal.h"

#define INTEGER(type)								\
	(sizeof(type) == 8 ? CANARY_INT64 : sizeof(type) == 4 ? CANARY_INT32 :	\
	 sizeof(type) == 2 ? CANARY_INT16 : CANARY_INT8)

/*
 * What has no row falls back: long double, float and complex numbers of 16 bytes, pairs of
 * Fortran's reals, and what programs make themselves. Types of Fortran have the sizes that Open MPI
 * was built for.
 */
static const uint8_t by_number[OMPI_DATATYPE_MPI_MAX_PREDEFINED] = {
	[OMPI_DATATYPE_MPI_INT8_T]		= CANARY_INT8,
	[OMPI_DATATYPE_MPI_UINT8_T]		= CANARY_UINT8,
	[OMPI_DATATYPE_MPI_INT16_T]		= CANARY_INT16,
	[OMPI_DATATYPE_MPI_UINT16_T]		= CANARY_UINT16,
	[OMPI_DATATYPE_MPI_INT32_T]		= CANARY_INT32,
	[OMPI_DATATYPE_MPI_UINT32_T]		= CANARY_UINT32,
	[OMPI_DATATYPE_MPI_INT64_T]		= CANARY_INT64,
	[OMPI_DATATYPE_MPI_UINT64_T]		= CANARY_UINT64,
	[OMPI_DATATYPE_MPI_LONG]		= INTEGER(long),
	[OMPI_DATATYPE_MPI_UNSIGNED_LONG]	= INTEGER(long) == CANARY_INT64 ? CANARY_UINT64 :
						  CANARY_UINT32,
	[OMPI_DATATYPE_MPI_AINT]		= INTEGER(MPI_Aint),
	[OMPI_DATATYPE_MPI_OFFSET]		= INTEGER(MPI_Offset),
	[OMPI_DATATYPE_MPI_COUNT]		= INTEGER(MPI_Count),
	[OMPI_DATATYPE_MPI_BOOL]		= CANARY_UINT8,
	[OMPI_DATATYPE_MPI_C_BOOL]		= CANARY_UINT8,
	[OMPI_DATATYPE_MPI_FLOAT]		= CANARY_FLOAT32,
	[OMPI_DATATYPE_MPI_DOUBLE]		= CANARY_FLOAT64,
	[OMPI_DATATYPE_MPI_COMPLEX8]		= CANARY_COMPLEX64,
	[OMPI_DATATYPE_MPI_COMPLEX16]		= CANARY_COMPLEX128,
	[OMPI_DATATYPE_MPI_C_COMPLEX]		= CANARY_COMPLEX64,
	[OMPI_DATATYPE_MPI_C_FLOAT_COMPLEX]	= CANARY_COMPLEX64,
	[OMPI_DATATYPE_MPI_C_DOUBLE_COMPLEX]	= CANARY_COMPLEX128,
	[OMPI_DATATYPE_MPI_2INT]		= CANARY_INT32_INDEX,
	[OMPI_DATATYPE_MPI_SHORT_INT]		= CANARY_INT16_INDEX,
	[OMPI_DATATYPE_MPI_LONG_INT]		= sizeof(long) == 8 ? CANARY_INT64_INDEX : 0,
	[OMPI_DATATYPE_MPI_FLOAT_INT]		= CANARY_FLOAT32_INDEX,
	[OMPI_DATATYPE_MPI_DOUBLE_INT]		= CANARY_FLOAT64_INDEX,
#if OMPI_SIZEOF_FORTRAN_LOGICAL == 4
	[OMPI_DATATYPE_MPI_LOGICAL]		= CANARY_INT32,
#endif
#if OMPI_SIZEOF_FORTRAN_INTEGER == 4
	[OMPI_DATATYPE_MPI_INTEGER]		= CANARY_INT32,
	[OMPI_DATATYPE_MPI_2INTEGER]		= CANARY_INT32_INDEX,
#endif
#if OMPI_SIZEOF_FORTRAN_REAL == 4
	[OMPI_DATATYPE_MPI_REAL]		= CANARY_FLOAT32,
	[OMPI_DATATYPE_MPI_COMPLEX]		= CANARY_COMPLEX64,
#endif
#if OMPI_SIZEOF_FORTRAN_DOUBLE_PRECISION == 8
	[OMPI_DATATYPE_MPI_DOUBLE_PRECISION]	= CANARY_FLOAT64,
	[OMPI_DATATYPE_MPI_DOUBLE_COMPLEX]	= CANARY_COMPLEX128,
#endif
};

/* A type that was resized keeps its number. */
uint32_t coll_dtype(struct ompi_datatype_t *dtype)
{
	uint32_t found = 0;
	MPI_Aint extent, lower;

	if (dtype->id >= 0 && dtype->id < OMPI_DATATYPE_MPI_MAX_PREDEFINED)
		found = by_number[dtype->id];
	if (!found)
		return 0;
	ompi_datatype_get_extent(dtype, &lower, &extent);
	return !lower && extent == (MPI_Aint)canary_dtype_size(found) ? found : 0;
}

uint32_t coll_operator(struct ompi_op_t *op)
{
	return CMPI_OPERATOR(op);
}
