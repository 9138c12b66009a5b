/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI's operators as those of Canary. Their names are the same in all MPI libraries. */
#ifndef CANARY_MPI_OPERATORS_H
#define CANARY_MPI_OPERATORS_H

/* CMPI_OPERATOR() - Return: enum canary_operator of a handle @op, or 0 if there is none */
#define CMPI_OPERATOR(op)			\
	((op) == MPI_SUM ? CANARY_OP_SUM :	\
	 (op) == MPI_MAX ? CANARY_OP_MAX :	\
	 (op) == MPI_MIN ? CANARY_OP_MIN :	\
	 (op) == MPI_PROD ? CANARY_OP_PROD :	\
	 (op) == MPI_LAND ? CANARY_OP_LAND :	\
	 (op) == MPI_LOR ? CANARY_OP_LOR :	\
	 (op) == MPI_LXOR ? CANARY_OP_LXOR :	\
	 (op) == MPI_BAND ? CANARY_OP_AND :	\
	 (op) == MPI_BOR ? CANARY_OP_OR :	\
	 (op) == MPI_BXOR ? CANARY_OP_XOR :	\
	 (op) == MPI_MINLOC ? CANARY_OP_MINLOC :	\
	 (op) == MPI_MAXLOC ? CANARY_OP_MAXLOC : 0)

#endif /* CANARY_MPI_OPERATORS_H */
