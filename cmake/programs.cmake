# The program zkapex, and those beside it.
# cli/ is a room like the others; the program is its main.cpp, with an allocator of its own.
zkapex_room(cli ROOMS parties costs LIBRARIES CLI11::CLI11 PRECOMPILE cli/work.h WITH_TESTS)
# What `zkapex --version --json` calls features.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/version.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
  COMPILE_DEFINITIONS "ZKAPEX_HAS_LEARNING=$<BOOL:${ZKAPEX_LEARNING}>;ZKAPEX_HAS_SERVICE=$<BOOL:${ZKAPEX_SERVICE}>")
add_executable(zkapex src/cli/main.cpp src/cli/large_pages.cpp)
# Beside code that allocates, GCC 12 takes the allocator's own free for a mistake.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/large_pages.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
  SKIP_PRECOMPILE_HEADERS ON)
target_link_libraries(zkapex PRIVATE zkapex_cli)
# Programs beside it, to which it hands over: the first alone loads libcurl and databases, the second alone libtorch.
file(GLOB network_commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/network/*.cpp)
add_executable(zkapex-network ${network_commands} src/cli/large_pages.cpp)
target_link_libraries(zkapex-network PRIVATE zkapex_cli zkapex_agent)
zkapex_reuse_headers(zkapex-network cli)
target_compile_options(zkapex-network PRIVATE ${precompiled_flags})
add_dependencies(zkapex zkapex-network)
if(ZKAPEX_SERVICE)
  file(GLOB service_commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/service/*.cpp)
  target_sources(zkapex-network PRIVATE ${service_commands})
  target_link_libraries(zkapex-network PRIVATE zkapex_service)
  target_compile_definitions(zkapex-network PRIVATE ZKAPEX_SERVICE)
  target_compile_definitions(zkapex PRIVATE ZKAPEX_SERVICE)
endif()
if(ZKAPEX_LEARNING)
  target_compile_definitions(zkapex PRIVATE ZKAPEX_LEARNING)
  file(GLOB learning_commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/learning/*.cpp)
  add_executable(zkapex-learning ${learning_commands})
  target_link_libraries(zkapex-learning PRIVATE zkapex_cli zkapex_demo)
  zkapex_reuse_headers(zkapex-learning experiments)
  add_dependencies(zkapex zkapex-learning)
endif()
