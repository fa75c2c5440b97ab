! Worksharing of Fortran: loops in both directions, ordered, sections, single, workshare, doacross.
program worksharing
  use omp_lib
  implicit none
  integer :: i, j, n, bad
  integer(8) :: s, k
  real(8) :: r
  integer :: hits(200), order
  bad = 0
  do n = 1, 9, 2
    hits = 0; s = 0; r = 0; order = 0
    !$omp parallel num_threads(n) reduction(+:bad) private(k)
    !$omp do schedule(dynamic,3)
    do i = 1, 200
      !$omp atomic
      hits(i) = hits(i) + 1
    end do
    !$omp end do nowait
    !$omp do schedule(guided) reduction(+:s,r)
    do i = 200, 1, -1
      s = s + i
      r = r + 0.5d0
    end do
    !$omp end do
    !$omp do schedule(runtime) collapse(2)
    do i = 1, 20
      do j = 10, 1, -1
        !$omp atomic
        hits((i-1)*10 + j) = hits((i-1)*10 + j) + 1
      end do
    end do
    !$omp do ordered schedule(dynamic)
    do i = 1, 50
      !$omp ordered
      order = order + 1
      if (order /= i) bad = bad + 1
      !$omp end ordered
    end do
    !$omp sections
    !$omp section
    hits(1) = hits(1) + 1
    !$omp section
    hits(2) = hits(2) + 1
    !$omp end sections
    !$omp single
    hits(3) = hits(3) + 1
    !$omp end single
    !$omp single
    k = 17
    !$omp end single copyprivate(k)
    if (k /= 17) bad = bad + 1
    !$omp workshare
    hits = hits + 1
    !$omp end workshare
    !$omp do ordered(1)
    do i = 2, 100
      !$omp ordered depend(sink: i-1)
      hits(i) = hits(i-1)*0 + hits(i)
      !$omp ordered depend(source)
    end do
    !$omp end parallel
    if (any(hits(4:) /= 3) .or. any(hits(1:3) /= 4)) bad = bad + 1
    if (s /= 20100 .or. r /= 100.0d0) bad = bad + 1
  end do
  if (bad /= 0) then
    print *, "a worksharing construct went wrong"
    stop 1
  end if
end program
