# What `make install` puts where: the programs, zkapex(1), the documents, and the library for CMake's find_package.
if(ZKAPEX_PROGRAMS)
  install(TARGETS zkapex zkapex-network RUNTIME)
  if(ZKAPEX_LEARNING)
    install(TARGETS zkapex-learning RUNTIME)
  endif()
  install(FILES ${CMAKE_BINARY_DIR}/zkapex.1 TYPE MAN PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    RENAME man1/zkapex.1)
  # Those beside it have their commands in its manual.
  foreach(beside zkapex-network zkapex-learning)
    if(TARGET ${beside})
      file(WRITE ${CMAKE_BINARY_DIR}/${beside}.1 ".so man1/zkapex.1\n")
      install(FILES ${CMAKE_BINARY_DIR}/${beside}.1 TYPE MAN RENAME man1/${beside}.1)
    endif()
  endforeach()
  # The agent for a user's systemd.
  foreach(unit zkapex-agent zkapex-agent-once)
    configure_file(systemd/${unit}.service.in ${CMAKE_BINARY_DIR}/systemd/${unit}.service @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/systemd/${unit}.service DESTINATION lib/systemd/user)
  endforeach()
  install(FILES systemd/zkapex-agent-once.timer DESTINATION lib/systemd/user)
endif()
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

# The C library: zkapex::c_shared and zkapex::c_static for CMake, `pkg-config zkapex` for others.
if(TARGET libzkapex_shared)
  install(TARGETS libzkapex_shared libzkapex_static EXPORT zkapex LIBRARY ARCHIVE PUBLIC_HEADER)
  # Found from where it lies, so that the prefix of the installation counts, whatever it was when it was configured.
  string(REGEX REPLACE "[^/]+" ".." up ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set(zkapex_pc_prefix ${up})
  configure_file(cmake/zkapex.pc.in ${CMAKE_BINARY_DIR}/zkapex.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/zkapex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
