# Policies as users build them, from the public header alone: the examples, and those of the tests,
# most of which are wrong on purpose. build/<preset>/examples/policies/NAME.so, tests/policies/NAME.so.

# roost_plug_in(FOLDER NAME SOURCE [DEFINITION...])
function(roost_plug_in folder name source)
  string(MAKE_C_IDENTIFIER plug_in_${folder}_${name} target)
  add_library(${target} MODULE ${source})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE ${ROOST_WARNINGS} -O2)
  target_compile_definitions(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} C_EXTENSIONS OFF
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
  set_property(GLOBAL APPEND PROPERTY ROOST_PLUG_INS ${target})
endfunction()

roost_glob(example_policies examples/policies/*.c)
foreach(source ${example_policies})
  cmake_path(GET source STEM name)
  roost_plug_in(examples/policies ${name} ${source})
endforeach()

# tests/policies/faulty.c is one mistake at a time, chosen by a definition.
roost_glob(plug_ins tests/policies/*.c)
foreach(source ${plug_ins})
  cmake_path(GET source STEM name)
  file(STRINGS ${source} faults REGEX "^// fault: ")
  if(NOT faults)
    roost_plug_in(tests/policies ${name} ${source})
  endif()
  foreach(line IN LISTS faults)
    string(REGEX REPLACE "^// fault: ([A-Z_]+).*" "\\1" fault ${line})
    string(TOLOWER ${fault} lower)
    roost_plug_in(tests/policies ${lower} ${source} FAULT=${fault} FAULT_${fault})
  endforeach()
endforeach()

target_link_options(plug_in_tests_policies_needs_library PRIVATE -Wl,--no-as-needed -lm)
get_property(plug_ins GLOBAL PROPERTY ROOST_PLUG_INS)
if(TARGET unit_tests)
  add_dependencies(unit_tests ${plug_ins})
  target_compile_definitions(unit_tests PRIVATE ROOST_BUILD_FOLDER="${CMAKE_BINARY_DIR}")
endif()
