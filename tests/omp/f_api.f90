! The API as Fortran sees it.
program api
  use omp_lib
  implicit none
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(omp_sched_kind) :: kind
  integer :: chunk, total, inner, n
  character(len=40) :: text
  logical :: ok
  double precision :: before

  ok = .true.
  call omp_set_max_active_levels(3)
  call omp_set_num_threads(4)
  ok = ok .and. omp_get_max_threads() == 4 .and. omp_get_max_active_levels() == 3
  call omp_set_dynamic(.false.)
  ok = ok .and. .not. omp_get_dynamic()
  call omp_set_schedule(omp_sched_dynamic, 5)
  call omp_get_schedule(kind, chunk)
  ok = ok .and. iand(kind, int(z'7fffffff', omp_sched_kind)) == omp_sched_dynamic .and. chunk == 5
  before = omp_get_wtime()
  ok = ok .and. omp_get_wtime() >= before .and. omp_get_wtick() > 0
  ok = ok .and. .not. omp_in_parallel() .and. omp_get_num_devices() == 0
  if (.not. ok) then
    print *, 'a routine outside regions is wrong'
    stop 1
  end if

  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  total = 0
  inner = 0
  !$omp parallel private(n)
  do n = 1, 500
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    call omp_set_nest_lock(nest)
    inner = inner + 1
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
  end do
  if (omp_get_num_threads() /= 4 .or. omp_get_level() /= 1 .or. omp_get_team_size(1) /= 4 .or. &
      omp_get_ancestor_thread_num(1) /= omp_get_thread_num()) then
    !$omp atomic
    total = total + 1000000
  end if
  !$omp barrier  ! until here the nest lock guards `inner`, from here the critical section
  !$omp parallel num_threads(2)
  !$omp critical
  inner = inner + 1000
  !$omp end critical
  !$omp end parallel
  !$omp end parallel
  if (total /= 2000 .or. mod(inner, 1000) /= 0 .or. inner /= 2000 + 8000) then
    print *, 'total', total, 'inner', inner
    stop 1
  end if
  if (.not. omp_test_lock(lock)) stop 1
  if (omp_test_nest_lock(nest) /= 1) stop 1
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)

  call omp_set_affinity_format('level %L of %n')
  n = int(omp_get_affinity_format(text))
  if (n /= 14 .or. text /= 'level %L of %n') then
    print *, 'format ', text
    stop 1
  end if
  n = int(omp_capture_affinity(text, ''))
  if (n /= 12 .or. text /= 'level 0 of 0') then
    print *, 'captured ', text, n
    stop 1
  end if
end program
