# The policies: compiled once, and the same object goes into the runtime, the tools and the simulator.
# Only a sanitized build, in which the guest is not instrumented and the rest is, needs two.
roost_sources(policy policy)
if(ROOST_SANITIZE)
  set(ROOST_POLICY ${policy})
else()
  add_library(roost_policy OBJECT ${policy})
  target_link_libraries(roost_policy PRIVATE roost_guest_flags)
  set(ROOST_POLICY $<TARGET_OBJECTS:roost_policy>)
endif()
