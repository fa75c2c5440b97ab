# Sets ROOST_VERSION: the project's version, with the git revision where there is one.
set(ROOST_VERSION ${PROJECT_VERSION})
if(ROOST_GIT_VERSION)
  find_package(Git QUIET)
  if(GIT_FOUND)
    execute_process(
      COMMAND ${GIT_EXECUTABLE} describe --always --tags --match "v[0-9]*"
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_QUIET RESULT_VARIABLE failed)
    # At the release's own tag the plain version says it all.
    if(NOT failed AND revision AND NOT revision STREQUAL "v${PROJECT_VERSION}")
      set(ROOST_VERSION "${PROJECT_VERSION} (${revision})")
    endif()
  endif()
endif()
