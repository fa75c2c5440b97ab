! Programs whose default integers have eight bytes.
! flags: -fdefault-integer-8
program integer8
  use omp_lib
  implicit none
  integer :: members, chunk
  integer(omp_sched_kind) :: kind
  members = 0
  call omp_set_dynamic(.false._4)
  call omp_set_num_threads(3_8)
  call omp_set_schedule(omp_sched_guided, 6_8)
  call omp_get_schedule(kind, chunk)
  !$omp parallel
  !$omp atomic
  members = members + omp_get_team_size(1_8)
  !$omp end parallel
  if (members /= 9 .or. chunk /= 6 .or. omp_get_ancestor_thread_num(0_8) /= 0) then
    print *, members, chunk
    stop 1
  end if
end program
