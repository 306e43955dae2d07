# What `make install` puts where: the programs, zkapex(1), the documents, and the library for CMake's find_package.
install(TARGETS zkapex RUNTIME)
if(ZKAPEX_LEARNING)
  install(TARGETS zkapex-learning RUNTIME)
endif()
install(FILES ${CMAKE_BINARY_DIR}/zkapex.1 TYPE MAN PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
  RENAME man1/zkapex.1)
install(FILES README.md LICENSE TYPE DOC)
install(DIRECTORY docs TYPE DOC)

# The library is what clients and providers do, and what that stands on. Includes are as in the sources:
# "parties/client.h".
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/zkapex)
set_target_properties(zkapex_options PROPERTIES EXPORT_NAME options)
install(TARGETS zkapex_options EXPORT zkapex)
foreach(room base algebra argument weights curvature unlearning attestation parties)
  set_target_properties(zkapex_${room} PROPERTIES EXPORT_NAME ${room})
  install(TARGETS zkapex_${room} EXPORT zkapex ARCHIVE)
  install(DIRECTORY src/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/zkapex
    FILES_MATCHING PATTERN "*.h" PATTERN "*_testing.h" EXCLUDE PATTERN attacks EXCLUDE)
endforeach()
install(EXPORT zkapex NAMESPACE zkapex:: DESTINATION ${package})
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/zkapexConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/zkapexConfig.cmake ${CMAKE_BINARY_DIR}/zkapexConfigVersion.cmake DESTINATION ${package})
