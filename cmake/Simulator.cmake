# The simulator (src/sim) as a static library, with the machines and scenarios it ships inside.
find_package(tomlplusplus REQUIRED)

# Writes OUT: a table of all files FOLDER/*.toml, name and text, as `NAME` in namespace roost::sim.
function(roost_embed_toml out name folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.toml)
  set(code "// Made by cmake/Simulator.cmake from ${name}.\n#include \"sim/shipped.h\"\n\n")
  string(APPEND code "namespace roost::sim {\nconst ShippedFile ${name}[] = {\n")
  foreach(file ${files})
    cmake_path(GET file STEM stem)
    file(READ ${file} text)
    string(APPEND code "    {\"${stem}\", R\"toml(${text})toml\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  string(APPEND code "    {nullptr, nullptr}};\n}  // namespace roost::sim\n")
  file(CONFIGURE OUTPUT ${out} CONTENT "${code}" @ONLY)
endfunction()

set(embedded ${CMAKE_BINARY_DIR}/sim)
roost_embed_toml(${embedded}/machines.cc kShippedMachines ${CMAKE_SOURCE_DIR}/src/sim/machines)
roost_embed_toml(${embedded}/scenarios.cc kShippedScenarios ${CMAKE_SOURCE_DIR}/src/sim/scenarios)

roost_sources(sim sim)
add_library(roost_sim STATIC ${sim} ${embedded}/machines.cc ${embedded}/scenarios.cc)
target_link_libraries(roost_sim PUBLIC roost_core_host fmt::fmt nlohmann_json::nlohmann_json
                                       tomlplusplus::tomlplusplus)
