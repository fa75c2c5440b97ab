! A reduction of a large array of Fortran: each member's copy is on its stack.
program large_reduction
  use omp_lib
  implicit none
  integer, parameter :: n = 200000
  integer, parameter :: sizes(3) = [2, 4, 7]
  real(8) :: total(n)
  integer :: i, k, round
  do round = 1, 3
    do k = 1, 3
      total = 0
      !$omp parallel num_threads(sizes(k))
      !$omp do reduction(+: total)
      do i = 1, 5 * n
        total(mod(i, n) + 1) = total(mod(i, n) + 1) + i
      end do
      !$omp end do
      !$omp do
      do i = 1, n
        total(i) = total(i) * 2
      end do
      !$omp end do
      !$omp end parallel
      do i = 1, n
        if (total(i) /= expected(i)) then
          print *, "element ", i, " is wrong with ", sizes(k), " threads: ", total(i)
          stop 1
        end if
      end do
    end do
  end do
contains
  ! Twice the sum of first, first + n, ..., first + 4 * n.
  real(8) function expected(i)
    integer, intent(in) :: i
    integer :: first
    first = merge(n, i - 1, i == 1)
    expected = 2 * (5 * real(first, 8) + 10 * real(n, 8))
  end function
end program
