# Collects the sources of a list of folders under src/, by the ending of their names.

# The folders of the guest below preload, bottom to top, but for the policies (Policy.cmake).
set(ROOST_CORE_FOLDERS base os spin topo segment sched)

# roost_glob(OUT PATTERN...): files relative to the root, looked up again at each build.
function(roost_glob out)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# roost_sources(OUT FOLDER...): what both guest and host may compile.
function(roost_sources out)
  set(patterns)
  foreach(folder ${ARGN})
    list(APPEND patterns src/${folder}/*.cc src/${folder}/*.c src/${folder}/*.S)
  endforeach()
  roost_glob(found ${patterns})
  list(FILTER found EXCLUDE REGEX "_(test|host)\\.cc$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()
