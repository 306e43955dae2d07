# The C library, libzkapex.so and libzkapex.a: the rooms up to capi/ in one file, which shows what zkapex.h declares and
# nothing else. No file is compiled for it.
set(capi_objects)
foreach(room base algebra argument weights curvature unlearning attestation parties log exchange capi)
  list(APPEND capi_objects $<TARGET_OBJECTS:zkapex_${room}>)
endforeach()
set(capi_map ${PROJECT_SOURCE_DIR}/src/capi/libzkapex.map)
foreach(kind SHARED STATIC)
  string(TOLOWER ${kind} suffix)
  set(target libzkapex_${suffix})
  add_library(${target} ${kind} ${capi_objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME zkapex EXPORT_NAME c_${suffix} LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    PUBLIC_HEADER ${PROJECT_SOURCE_DIR}/include/zkapex.h)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(libzkapex_shared PRIVATE Threads::Threads fmt::fmt OpenSSL::Crypto PkgConfig::sodium)
target_link_libraries(libzkapex_static INTERFACE Threads::Threads fmt::fmt OpenSSL::Crypto PkgConfig::sodium stdc++ m)
target_link_options(libzkapex_shared PRIVATE -Wl,--version-script=${capi_map} -Wl,--no-undefined -Wl,--gc-sections)
set_target_properties(libzkapex_shared PROPERTIES LINK_DEPENDS ${capi_map})
add_custom_target(libzkapex)
add_dependencies(libzkapex libzkapex_shared libzkapex_static)
