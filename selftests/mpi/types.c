// SPDX-License-Identifier: BSD-2-Clause
/*
 * All types and operators of MPI that Canary has, compared with a loop over the ranks in C. Numbers
 * are such that no order of additions rounds. The functions are MPI_Allreduce, in place and not,
 * MPI_Reduce and MPI_Iallreduce.
 *
 *	types ELEMENTS
 */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "program.h"

static int elements;

/* How to call it: what each function shares */
enum way { PLAIN, IN_PLACE, REDUCE, LATER, WAYS };

static const char *const way_name[] = { "", ", in place", ", reduce", ", iallreduce" };

static void call(enum way way, const void *in, void *out, size_t bytes, MPI_Datatype type, MPI_Op op)
{
	MPI_Request request;

	switch (way) {
	case PLAIN:
		MPI_Allreduce(in, out, elements, type, op, MPI_COMM_WORLD);
		break;
	case IN_PLACE:
		memcpy(out, in, bytes);
		MPI_Allreduce(MPI_IN_PLACE, out, elements, type, op, MPI_COMM_WORLD);
		break;
	case REDUCE:
		MPI_Reduce(in, out, elements, type, op, size - 1, MPI_COMM_WORLD);
		break;
	default:
		MPI_Iallreduce(in, out, elements, type, op, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

/*
 * Define try_NAME(): VALUE is an expression of r (rank) and i, STEP changes a by b, the value of
 * the next rank. EQUAL compares a with the result c.
 */
#define TRY(name, ctype, value, step, equal)						\
static void try_##name(MPI_Datatype type, MPI_Op op, const char *what)			\
{											\
	ctype *in = calloc(elements, sizeof(ctype));					\
	ctype *out = calloc(elements, sizeof(ctype));					\
	enum way way;									\
	char text[80];									\
	int i, r;									\
											\
	for (way = 0; way < WAYS; way++) {						\
		long wrong = 0;								\
											\
		for (i = 0; i < elements; i++) {					\
			r = rank;							\
			in[i] = value;							\
		}									\
		memset(out, 0x55, elements * sizeof(ctype));				\
		call(way, in, out, elements * sizeof(ctype), type, op);			\
		for (i = 0; i < elements && (way != REDUCE || rank == size - 1); i++) {	\
			ctype a, b, c = out[i];						\
											\
			r = 0;								\
			a = value;							\
			for (r = 1; r < size; r++) {					\
				b = value;						\
				step;							\
			}								\
			wrong += !(equal);						\
		}									\
		snprintf(text, sizeof(text), "%s %s%s", what, #name, way_name[way]);		\
		check(wrong, text);							\
	}										\
	free(in);									\
	free(out);									\
}

#define SAME	(a == c)
#define ANY(t)	((t)mix(r, i, sizeof(t)))
#define BOOL(t)	((t)(mix(r, i, 1) % 3 ? mix(r, i, 2) | 1 : 0))

#define INTEGER(name, t)								\
	TRY(name##_sum, t, ANY(t), a = (t)(a + b), SAME)				\
	TRY(name##_prod, t, ANY(t), a = (t)((uint64_t)a * (uint64_t)b), SAME)		\
	TRY(name##_min, t, ANY(t), a = b < a ? b : a, SAME)				\
	TRY(name##_max, t, ANY(t), a = b > a ? b : a, SAME)				\
	TRY(name##_band, t, ANY(t), a = a & b, SAME)					\
	TRY(name##_bor, t, ANY(t), a = a | b, SAME)					\
	TRY(name##_bxor, t, ANY(t), a = a ^ b, SAME)					\
	TRY(name##_land, t, BOOL(t), a = a && b, SAME)					\
	TRY(name##_lor, t, BOOL(t), a = a || b, SAME)					\
	TRY(name##_lxor, t, BOOL(t), a = !a != !b, SAME)				\
static void try_##name(MPI_Datatype type, const char *what)				\
{											\
	try_##name##_sum(type, MPI_SUM, what);						\
	try_##name##_prod(type, MPI_PROD, what);					\
	try_##name##_min(type, MPI_MIN, what);						\
	try_##name##_max(type, MPI_MAX, what);						\
	try_##name##_band(type, MPI_BAND, what);					\
	try_##name##_bor(type, MPI_BOR, what);						\
	try_##name##_bxor(type, MPI_BXOR, what);					\
	try_##name##_land(type, MPI_LAND, what);					\
	try_##name##_lor(type, MPI_LOR, what);						\
	try_##name##_lxor(type, MPI_LXOR, what);					\
}

INTEGER(i8, int8_t)
INTEGER(u8, uint8_t)
INTEGER(i16, int16_t)
INTEGER(u16, uint16_t)
INTEGER(i32, int32_t)
INTEGER(u32, uint32_t)
INTEGER(i64, int64_t)
INTEGER(u64, uint64_t)

/* Multiples of 1/8 up to 2^17 in size */
#define EIGHTHS	((int)(mix(r, i, 7) % 2097152) - 1048576) / 8.0
#define POWERS	(mix(r, i, 8) % 2 ? 2.0 : -0.5)

#define FLOAT(name, t)									\
	TRY(name##_sum, t, EIGHTHS, a += b, SAME)					\
	TRY(name##_prod, t, POWERS, a *= b, SAME)					\
	TRY(name##_min, t, EIGHTHS, a = b < a ? b : a, SAME)				\
	TRY(name##_max, t, EIGHTHS, a = b > a ? b : a, SAME)				\
static void try_##name(MPI_Datatype type, const char *what)				\
{											\
	try_##name##_sum(type, MPI_SUM, what);						\
	try_##name##_prod(type, MPI_PROD, what);					\
	try_##name##_min(type, MPI_MIN, what);						\
	try_##name##_max(type, MPI_MAX, what);						\
}

FLOAT(f32, float)
FLOAT(f64, double)

#define COMPLEX(name, t)								\
	TRY(name##_sum, t, EIGHTHS + (r - 1.5) * I, a += b, SAME)			\
	TRY(name##_prod, t, POWERS + (double)(mix(r, i, 9) % 3) * I, a *= b, SAME)	\
static void try_##name(MPI_Datatype type, const char *what)				\
{											\
	try_##name##_sum(type, MPI_SUM, what);						\
	try_##name##_prod(type, MPI_PROD, what);					\
}

COMPLEX(c64, float complex)
COMPLEX(c128, double complex)

TRY(bool_and, bool, mix(r, i, 3) % 4 != 0, a = a && b, SAME)
TRY(bool_or, bool, mix(r, i, 3) % 4 == 0, a = a || b, SAME)
TRY(bool_xor, bool, mix(r, i, 3) % 2, a = a != b, SAME)

static void try_bool(MPI_Datatype type, const char *what)
{
	try_bool_and(type, MPI_LAND, what);
	try_bool_or(type, MPI_LOR, what);
	try_bool_xor(type, MPI_LXOR, what);
}

/* Few values, so that some are equal and the index decides */
#define PAIR(name, t)									\
	struct name { t value; int index; };						\
	TRY(name##_min, struct name,							\
	    ((struct name){ (t)(int)(mix(r, i, 5) % 5 - 2), (int)(mix(r, i, 6) % 9) }),	\
	    a = b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a,	\
	    a.value == c.value && a.index == c.index)					\
	TRY(name##_max, struct name,							\
	    ((struct name){ (t)(int)(mix(r, i, 5) % 5 - 2), (int)(mix(r, i, 6) % 9) }),	\
	    a = b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a,	\
	    a.value == c.value && a.index == c.index)					\
static void try_##name(MPI_Datatype type, const char *what)				\
{											\
	try_##name##_min(type, MPI_MINLOC, what);					\
	try_##name##_max(type, MPI_MAXLOC, what);					\
}

PAIR(short_int, short)
PAIR(two_int, int)
PAIR(long_int, long)
PAIR(float_int, float)
PAIR(double_int, double)

static void try_integers(void)
{
	try_i8(MPI_INT8_T, "INT8_T");
	try_i8(MPI_SIGNED_CHAR, "SIGNED_CHAR");
	try_u8(MPI_UINT8_T, "UINT8_T");
	try_u8(MPI_UNSIGNED_CHAR, "UNSIGNED_CHAR");
	try_i16(MPI_INT16_T, "INT16_T");
	try_i16(MPI_SHORT, "SHORT");
	try_u16(MPI_UINT16_T, "UINT16_T");
	try_u16(MPI_UNSIGNED_SHORT, "UNSIGNED_SHORT");
	try_i32(MPI_INT, "INT");
	try_i32(MPI_INT32_T, "INT32_T");
	try_u32(MPI_UNSIGNED, "UNSIGNED");
	try_u32(MPI_UINT32_T, "UINT32_T");
	try_i64(MPI_LONG, "LONG");
	try_i64(MPI_LONG_LONG, "LONG_LONG");
	try_i64(MPI_INT64_T, "INT64_T");
	try_u64(MPI_UNSIGNED_LONG, "UNSIGNED_LONG");
	try_u64(MPI_UNSIGNED_LONG_LONG, "UNSIGNED_LONG_LONG");
	try_u64(MPI_UINT64_T, "UINT64_T");
	try_i64_sum(MPI_AINT, MPI_SUM, "AINT");
	try_i64_max(MPI_OFFSET, MPI_MAX, "OFFSET");
	try_i64_min(MPI_COUNT, MPI_MIN, "COUNT");
	try_u8_band(MPI_BYTE, MPI_BAND, "BYTE");
	try_u8_bxor(MPI_BYTE, MPI_BXOR, "BYTE");
}

static void try_fortran(void)
{
	try_i32_sum(MPI_INTEGER, MPI_SUM, "INTEGER");
	try_i8_max(MPI_INTEGER1, MPI_MAX, "INTEGER1");
	try_i16_sum(MPI_INTEGER2, MPI_SUM, "INTEGER2");
	try_i32_bor(MPI_INTEGER4, MPI_BOR, "INTEGER4");
	try_i64_sum(MPI_INTEGER8, MPI_SUM, "INTEGER8");
	try_f32_sum(MPI_REAL, MPI_SUM, "REAL");
	try_f32_max(MPI_REAL4, MPI_MAX, "REAL4");
	try_f64_sum(MPI_REAL8, MPI_SUM, "REAL8");
	try_f64_sum(MPI_DOUBLE_PRECISION, MPI_SUM, "DOUBLE_PRECISION");
	try_c64_sum(MPI_COMPLEX, MPI_SUM, "COMPLEX");
	try_c64_prod(MPI_COMPLEX8, MPI_PROD, "COMPLEX8");
	try_c128_sum(MPI_COMPLEX16, MPI_SUM, "COMPLEX16");
	try_c128_sum(MPI_DOUBLE_COMPLEX, MPI_SUM, "DOUBLE_COMPLEX");
	try_i32_land(MPI_LOGICAL, MPI_LAND, "LOGICAL");
	try_i32_lor(MPI_LOGICAL, MPI_LOR, "LOGICAL");
	try_two_int(MPI_2INTEGER, "2INTEGER");
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	elements = argc > 1 ? atoi(argv[1]) : 1000;
	try_integers();
	try_fortran();
	try_f32(MPI_FLOAT, "FLOAT");
	try_f64(MPI_DOUBLE, "DOUBLE");
	try_c64(MPI_C_COMPLEX, "C_COMPLEX");
	try_c64(MPI_C_FLOAT_COMPLEX, "C_FLOAT_COMPLEX");
	try_c128(MPI_C_DOUBLE_COMPLEX, "C_DOUBLE_COMPLEX");
	try_c64_sum(MPI_CXX_FLOAT_COMPLEX, MPI_SUM, "CXX_FLOAT_COMPLEX");
	try_c128_sum(MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, "CXX_DOUBLE_COMPLEX");
	try_bool(MPI_C_BOOL, "C_BOOL");
	try_bool(MPI_CXX_BOOL, "CXX_BOOL");
	try_short_int(MPI_SHORT_INT, "SHORT_INT");
	try_two_int(MPI_2INT, "2INT");
	try_long_int(MPI_LONG_INT, "LONG_INT");
	try_float_int(MPI_FLOAT_INT, "FLOAT_INT");
	try_double_int(MPI_DOUBLE_INT, "DOUBLE_INT");
	return verdict();
}
