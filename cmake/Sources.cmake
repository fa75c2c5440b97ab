# Collects the sources of a list of folders under src/, by the ending of their names.

# The folders of the guest below preload, bottom to top, but for the policies (Policy.cmake).
set(ROOST_CORE_FOLDERS base os trace spin blas topo segment sched)

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

# roost_unite(TARGET): compiles its sources as one a folder. For builds that only run tests or look
# for warnings: compilers read what the sources include once. The others show whether each file
# names what it uses.
function(roost_unite target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "/([a-z]+)/[^/]+\\.cc$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
