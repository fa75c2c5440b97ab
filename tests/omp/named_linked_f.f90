! A Fortran program that was linked with libgomp runs on the library of that name that is ours.
! object: support/whose.c same
! ours: named both
! reference: no
! reason: it is about our libraries
program named_linked_f
  use omp_lib
  use iso_c_binding, only: c_int
  implicit none
  interface
    function served_by_one_roost() bind(c)
      import c_int
      integer(c_int) :: served_by_one_roost
    end function
  end interface
  integer :: i, total, members

  if (served_by_one_roost() == 0) error stop 1
  total = 0
  !$omp parallel do reduction(+:total) num_threads(4)
  do i = 1, 100
    total = total + i
  end do
  if (total /= 5050) error stop 2
  members = 0
  !$omp parallel num_threads(4)
  if (omp_get_num_threads() == 4) then
    !$omp atomic
    members = members + 1
  end if
  !$omp end parallel
  if (members /= 4) error stop 3
end program
