# Everything that runs beside the product: models, benchmarks, examples, POSIX programs.
# Each folder is optional; each source is one program.

function(roost_output_folder target folder)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                             ${CMAKE_BINARY_DIR}/${folder})
endfunction()

# Relacy models of the protocols, from the real headers: build/<preset>/models/NAME.
find_path(RELACY_INCLUDE relacy/relacy_std.hpp REQUIRED)
roost_glob(models models/*.cc)
foreach(source ${models})
  cmake_path(GET source STEM name)
  add_executable(model_${name} ${source})
  target_include_directories(model_${name} SYSTEM PRIVATE ${RELACY_INCLUDE})
  target_compile_options(model_${name} PRIVATE -UNDEBUG)
  target_link_libraries(model_${name} PRIVATE roost_host_flags)
  set_target_properties(model_${name} PROPERTIES OUTPUT_NAME ${name} CXX_EXTENSIONS ON)
  roost_output_folder(model_${name} models)
endforeach()

# Benchmarks of single mechanisms: build/<preset>/bench/NAME.
roost_glob(ledger_benches bench/ledger*.cc)
if(ledger_benches)
  find_package(benchmark REQUIRED)
endif()
foreach(source ${ledger_benches})
  cmake_path(GET source STEM name)
  add_executable(bench_${name} ${source})
  target_link_libraries(bench_${name} PRIVATE roost_core_host benchmark::benchmark)
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name})
  roost_output_folder(bench_${name} bench)
endforeach()

# Scans installed code for loops that could be taken for waits: build/<preset>/tools/spin_corpus.
find_path(ZYDIS_INCLUDE Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY Zydis)
if(ZYDIS_INCLUDE AND ZYDIS_LIBRARY AND CMAKE_SYSTEM_PROCESSOR MATCHES x86_64)
  add_executable(spin_corpus tools/spin_corpus.cc)
  target_include_directories(spin_corpus SYSTEM PRIVATE ${ZYDIS_INCLUDE})
  target_link_libraries(spin_corpus PRIVATE roost_cli ${ZYDIS_LIBRARY})
  roost_output_folder(spin_corpus tools)
else()
  message(STATUS "no Zydis (libzydis-dev), so no scan for loops that wait")
endif()

# Programs around real libraries, run with and without Roost: build/<preset>/bench/NAME.
if(EXISTS ${CMAKE_SOURCE_DIR}/bench/programs/CMakeLists.txt)
  block()
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
    add_subdirectory(bench/programs)
  endblock()
endif()

# Conformance programs that know nothing of Roost: build/<preset>/tests/posix/NAME.
roost_glob(posix_programs tests/posix/*.c tests/posix/*.cc)
foreach(source ${posix_programs})
  cmake_path(GET source STEM name)
  add_executable(posix_${name} ${source})
  target_compile_options(posix_${name} PRIVATE ${ROOST_WARNINGS} -UNDEBUG)
  target_compile_definitions(posix_${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(posix_${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(posix_${name} PROPERTIES OUTPUT_NAME ${name} ENABLE_EXPORTS ON
                                                 CXX_EXTENSIONS ON)
  roost_output_folder(posix_${name} tests/posix)
endforeach()
if(EXISTS ${CMAKE_SOURCE_DIR}/tests/posix/CMakeLists.txt)
  add_subdirectory(tests/posix)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/tests/CMakeLists.txt)
  add_subdirectory(tests)
endif()

# Programs that use the public header: build/<preset>/examples/NAME, and tests of it.
if(TARGET roost_guest)
  add_subdirectory(tests/api)
  roost_glob(examples examples/*.c)
  foreach(source ${examples})
    cmake_path(GET source STEM name)
    add_executable(example_${name} ${source})
    target_compile_options(example_${name} PRIVATE ${ROOST_WARNINGS})
    target_link_libraries(example_${name} PRIVATE roost_guest Threads::Threads)
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name})
    roost_output_folder(example_${name} examples)
  endforeach()
endif()
