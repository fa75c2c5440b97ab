! Tasks of Fortran: recursion, dependences, taskloop with a reduction, events.
program task_fortran
  use omp_lib
  implicit none
  integer(omp_event_handle_kind) :: event
  integer :: threads, i, x, total, value
  integer :: sizes(4) = [1, 2, 7, 64]
  do threads = 1, 4
    value = 0
    !$omp parallel num_threads(sizes(threads))
    !$omp single
    call fib(15, value)
    !$omp end single
    !$omp end parallel
    if (value /= 610) call wrong("recursive tasks")
    x = 0
    total = 0
    !$omp parallel num_threads(sizes(threads)) shared(x, total)
    !$omp single
    do i = 1, 500
      !$omp task depend(inout: x) shared(x)
      x = mod(x * 3 + i, 10007)
      !$omp end task
    end do
    !$omp taskloop reduction(+: total) grainsize(11)
    do i = 1, 1000
      total = total + i
    end do
    !$omp end taskloop
    !$omp end single
    !$omp end parallel
    if (total /= 500500) call wrong("a taskloop with a reduction")
    total = 0
    do i = 1, 500
      total = mod(total * 3 + i, 10007)
    end do
    if (x /= total) call wrong("a chain of tasks")
    x = 0
    !$omp parallel num_threads(sizes(threads)) shared(x) private(event)
    !$omp single
    do i = 1, 10
      !$omp task detach(event) depend(out: x) shared(x)
      x = x + 1
      !$omp end task
      !$omp task firstprivate(event)
      call omp_fulfill_event(event)
      !$omp end task
    end do
    !$omp end single
    !$omp end parallel
    if (x /= 10) call wrong("detached tasks")
  end do
contains
  recursive subroutine fib(n, result)
    integer, intent(in) :: n
    integer, intent(out) :: result
    integer :: a, b
    if (n < 2) then
      result = n
      return
    end if
    !$omp task shared(a) firstprivate(n)
    call fib(n - 1, a)
    !$omp end task
    !$omp task shared(b) firstprivate(n)
    call fib(n - 2, b)
    !$omp end task
    !$omp taskwait
    result = a + b
  end subroutine
  subroutine wrong(what)
    character(*), intent(in) :: what
    print *, what, " give wrong results with ", sizes(threads), " threads"
    stop 1
  end subroutine
end program
