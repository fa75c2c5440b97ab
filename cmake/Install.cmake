# Puts the command, the library, the headers, an example, the pkg-config file and the man page in place.
if(TARGET roost)
  install(TARGETS roost RUNTIME)
endif()
if(TARGET roost_guest)
  # A preload is named by path (libroost.so); programs link by SONAME (libroost.so.0).
  install(TARGETS roost_guest LIBRARY)
endif()
if(TARGET roost_omp)
  install(TARGETS roost_omp LIBRARY)
  install(FILES ${CMAKE_BINARY_DIR}/lib/libroost_omp.so TYPE LIB)  # a link to it
  # By the names of libgomp and libomp, for those who ask for this folder.
  install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/roost/omp DESTINATION ${CMAKE_INSTALL_LIBDIR}/roost
          USE_SOURCE_PERMISSIONS)
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/include/roost)
  install(DIRECTORY include/roost TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
endif()
# A policy to start from (docs/user/writing-a-policy.md).
install(DIRECTORY examples/policies DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
# Relative to the file's own place, so that `cmake --install --prefix` may choose another.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/roost.pc.in roost.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/roost.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(EXISTS ${CMAKE_SOURCE_DIR}/docs/man/roost.1)
  install(FILES docs/man/roost.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
