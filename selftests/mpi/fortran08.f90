! SPDX-License-Identifier: BSD-2-Clause
! A program in Fortran 2008, with the module mpi_f08: in place, by request, a part of an array.
program fortran08
	use mpi_f08
	implicit none
	integer, parameter :: n = 5000
	type(MPI_Request) :: request
	integer :: rank, ranks, wrong, all_wrong
	double precision :: a(n), b(n), c(2, n)

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks)
	a = rank + 1
	call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
	wrong = count(b /= ranks * (ranks + 1) / 2)
	call MPI_Iallreduce(a, b, n, MPI_REAL8, MPI_MIN, MPI_COMM_WORLD, request)
	call MPI_Wait(request, MPI_STATUS_IGNORE)
	wrong = wrong + count(b /= 1)
	call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
	wrong = wrong + count(a /= ranks)
	c = 0
	c(1, :) = rank
	b = c(1, :)
	call MPI_Reduce(b, a, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
	if (rank == 0) wrong = wrong + count(a /= ranks * (ranks - 1) / 2)
	call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
	if (rank == 0) then
		if (all_wrong == 0) then
			print '(a)', 'all right'
		else
			print '(a,i0)', 'wrong: ', all_wrong
		end if
	end if
	call MPI_Finalize()
end program
