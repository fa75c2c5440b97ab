# Host programs: the guest's core as a static library, the `roost` command, the unit tests.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)

# The core compiled as ordinary code: what tests, models and tools link.
roost_sources(core ${ROOST_CORE_FOLDERS})
if(core)
  add_library(roost_core_host STATIC ${core} ${ROOST_POLICY})
  target_link_libraries(roost_core_host PUBLIC roost_host_flags)
  # clang-tidy looks at these sources as the guest compiles them.
  set_target_properties(roost_core_host PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
else()
  add_library(roost_core_host INTERFACE)
  target_link_libraries(roost_core_host INTERFACE roost_host_flags)
endif()

# Everything else host programs are made of: *_host.cc beside the core, and the command
# line without its main, so that the unit tests reach it.
roost_glob(host_sources src/*/*_host.cc src/cli/*.cc)
list(FILTER host_sources EXCLUDE REGEX "_test\\.cc$|/src/cli/main\\.cc$|/src/sim/")
include(cmake/Simulator.cmake)
set(host_libraries roost_core_host roost_sim fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json
                   PkgConfig::HWLOC)
if(host_sources)
  add_library(roost_cli STATIC ${host_sources})
  target_link_libraries(roost_cli PUBLIC ${host_libraries})
  file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  # ROOST_LIB_FROM_BIN: the library's folder in an installation, seen from the command's.
  target_compile_definitions(roost_cli PRIVATE ROOST_VERSION="${ROOST_VERSION}"
                                               ROOST_LIB_FROM_BIN="${lib_from_bin}")
else()
  add_library(roost_cli INTERFACE)
  target_link_libraries(roost_cli INTERFACE ${host_libraries})
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.cc)
  add_executable(roost src/cli/main.cc)
  target_compile_definitions(roost PRIVATE ROOST_VERSION="${ROOST_VERSION}")
  target_link_libraries(roost PRIVATE roost_cli)
endif()

# Of the OpenMP library, what only computes is tested here; the rest by tests/omp.
roost_glob(unit_test_sources src/*/*_test.cc)
roost_glob(omp_parsing src/omp/env_parse.cc src/omp/env_places.cc src/omp/env_hw_subset.cc)
if(unit_test_sources)
  add_executable(unit_tests ${unit_test_sources} ${omp_parsing})
  target_link_libraries(unit_tests PRIVATE roost_cli GTest::gtest
                                           GTest::gtest_main rapidcheck)
  # Optimised enough to be fast, and no more: most of the time of a short compilation is that.
  target_compile_options(unit_tests PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1 -g1>)
  roost_unite(unit_tests)
endif()
if(ROOST_SANITIZE OR ROOST_UNITE)
  roost_unite(roost_cli)
  roost_unite(roost_sim)
endif()
