# Compiler flags as two interface libraries: one for each dialect (DESIGN: guest and host).
find_package(Threads REQUIRED)

set(ROOST_WARNINGS -Wall -Wextra)
if(ROOST_WERROR)
  list(APPEND ROOST_WARNINGS -Werror)
endif()

# Host dialect: ordinary C++20.
add_library(roost_host_flags INTERFACE)
target_include_directories(roost_host_flags INTERFACE ${CMAKE_SOURCE_DIR}/src
                                                      ${CMAKE_SOURCE_DIR}/include)
target_compile_options(roost_host_flags INTERFACE ${ROOST_WARNINGS})
# The stable_sort() of libstdc++ 12 uses what libstdc++ 12 deprecates, and clang 19 tells us.
target_compile_options(roost_host_flags INTERFACE
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# GCC 13 takes every reference that a function returns for one into its arguments.
target_compile_options(roost_host_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-dangling-reference>)
target_link_libraries(roost_host_flags INTERFACE Threads::Threads)
# Of a sanitized build: host code, and the OpenMP runtime.
add_library(roost_sanitizers INTERFACE)
if(ROOST_SANITIZE)
  set(flags -fsanitize=${ROOST_SANITIZE} -fno-omit-frame-pointer)
  if(ROOST_SANITIZE MATCHES undefined)
    list(APPEND flags -fno-sanitize-recover=undefined)
  endif()
  if(ROOST_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND flags -Wno-tsan)  # it says at each fence that it cannot see fences
  endif()
  target_compile_options(roost_sanitizers INTERFACE ${flags})
  target_link_options(roost_sanitizers INTERFACE ${flags})
endif()
target_link_libraries(roost_host_flags INTERFACE roost_sanitizers)

# Guest dialect: code that is loaded into foreign processes. It never brings in the C++
# library, never unwinds, and its thread-local state is reachable without a call. Not fortified,
# which is Ubuntu's default: headers then define some of the functions that it interposes.
add_library(roost_guest_flags INTERFACE)
target_include_directories(roost_guest_flags INTERFACE ${CMAKE_SOURCE_DIR}/src
                                                       ${CMAKE_SOURCE_DIR}/include)
target_compile_options(
  roost_guest_flags INTERFACE
  ${ROOST_WARNINGS} -O2 -g -U_FORTIFY_SOURCE -fvisibility=hidden -ftls-model=initial-exec -fno-plt
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics
  -fvisibility-inlines-hidden>)
target_compile_definitions(roost_guest_flags INTERFACE _GNU_SOURCE ROOST_GUEST)
