! SPDX-License-Identifier: BSD-2-Clause
! A program in Fortran: reals, logicals, complex numbers, in place. Fortran's MPI does not call C's
! functions by their public names, so this shows that the component sees its calls.
program fortran
	use mpi
	implicit none
	integer, parameter :: n = 5000
	integer :: error, rank, ranks, wrong, all_wrong
	double precision :: a(n), b(n)
	double complex :: c(n), d(n)
	logical :: l(n), m(n)

	call MPI_Init(error)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
	wrong = 0
	a = rank + 1
	call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
	wrong = wrong + count(b /= ranks * (ranks + 1) / 2)
	call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
	wrong = wrong + count(a /= ranks)
	l = rank == 1
	call MPI_Allreduce(l, m, n, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
	wrong = wrong + count(.not. m)
	c = cmplx(rank, 1, kind(a))
	call MPI_Allreduce(c, d, n, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
	wrong = wrong + count(d /= cmplx(ranks * (ranks - 1) / 2, ranks, kind(a)))
	call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
	if (rank == 0) then
		if (all_wrong == 0) then
			print '(a)', 'all right'
		else
			print '(a,i0)', 'wrong: ', all_wrong
		end if
	end if
	call MPI_Finalize(error)
end program
