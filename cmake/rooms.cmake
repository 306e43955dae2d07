# Each folder of src/ is a room: one static library, one test program. A room links only rooms that it may include
# (src/rooms_test.py checks the includes). New .cpp and _test.cpp files are picked up by themselves, also in the room's
# folder attacks/.
include(GNUInstallDirs)
enable_testing()
if(ZKAPEX_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME rooms COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/rooms_test.py)
  add_test(NAME mutants_fit COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/mutants --fit)
  add_test(NAME documents COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/documents_test.py)
  # Not under sanitizers, nor for another processor: valgrind does not mix with them.
  if(NOT ZKAPEX_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    find_program(ZKAPEX_VALGRIND valgrind)
    find_path(ZKAPEX_VALGRIND_INCLUDE valgrind/memcheck.h)
    if(NOT ZKAPEX_VALGRIND OR NOT ZKAPEX_VALGRIND_INCLUDE)
      message(STATUS "No valgrind: that secrets are handled in constant time is not tested")
    endif()
  endif()
  add_test(NAME reference COMMAND ${Python3_EXECUTABLE} -m unittest discover -s ${PROJECT_SOURCE_DIR}/reference)
endif()

# GCC 12 forgets of precompiled headers that they are the system's, and tells its known false findings in std::string.
set(precompiled_flags $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)

# GCC 12 takes its own intrinsics for uses of uninitialised registers.
set(avx512_flags -mavx2 -mfma -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512ifma -mavx512vnni
  $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

# Headers that a room has compiled, for a program: then its code is that of a library too, as a compiler wants it.
function(zkapex_reuse_headers program room)
  target_precompile_headers(${program} REUSE_FROM zkapex_${room})
  set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${program} PRIVATE -fPIC)
endfunction()

# PRECOMPILE: headers that take most of the time to compile a file, read once for all of the room.
# PRECOMPILED_BY: the room whose headers those are; otherwise base's.
# WITH_TESTS: the same headers for the tests, in place of gtest's.
# TESTING: rooms whose _testing.cpp files the tests use.
function(zkapex_room name)
  cmake_parse_arguments(ROOM "WITH_TESTS" "PRECOMPILED_BY" "PRECOMPILE;ROOMS;LIBRARIES;TESTING" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/attacks/*.cpp)
  set(tests ${sources})
  set(testing ${sources})
  set(fuzzers ${sources})
  set(valgrinds ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_testing|_fuzzer|_valgrind|/main|/large_pages)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER testing INCLUDE REGEX "_testing\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzzer\\.cpp$")
  list(FILTER valgrinds INCLUDE REGEX "_valgrind\\.cpp$")
  list(TRANSFORM ROOM_ROOMS PREPEND zkapex_)
  add_library(zkapex_${name} STATIC ${sources})
  target_link_libraries(zkapex_${name} PUBLIC zkapex_options ${ROOM_ROOMS} ${ROOM_LIBRARIES})
  if(ROOM_PRECOMPILE)
    list(TRANSFORM ROOM_PRECOMPILE PREPEND ${PROJECT_SOURCE_DIR}/src/ REGEX "^[^<]")
    target_precompile_headers(zkapex_${name} PRIVATE ${ROOM_PRECOMPILE})
    target_compile_options(zkapex_${name} PRIVATE ${precompiled_flags})
    set(ROOM_PRECOMPILED_BY ${name})
  elseif(ROOM_PRECOMPILED_BY)
    target_precompile_headers(zkapex_${name} REUSE_FROM zkapex_${ROOM_PRECOMPILED_BY})
  elseif(NOT ZKAPEX_SANITIZE)  # where rooms are not all optimised alike
    target_precompile_headers(zkapex_${name} REUSE_FROM zkapex_base)
  endif()
  # Instruction sets by file name; nothing in such a file may be called before the dispatcher has asked the CPU.
  foreach(source ${sources})
    if(source MATCHES "_avx2\\.cpp$" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mbmi2;-frounding-math"
        SKIP_PRECOMPILE_HEADERS ON)
    elseif(source MATCHES "_avx512\\.cpp$" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${avx512_flags}" SKIP_PRECOMPILE_HEADERS ON)
    elseif(source MATCHES "_neon\\.cpp$")  # names as in the portable files
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  if(ZKAPEX_TESTS AND tests)
    foreach(other ${ROOM_TESTING})  # what helps their tests, helps these
      file(GLOB borrowed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${other}/*_testing.cpp)
      list(APPEND testing ${borrowed})
    endforeach()
    add_executable(${name}_test ${tests} ${testing})
    target_link_libraries(${name}_test PRIVATE zkapex_${name} GTest::gtest GTest::gtest_main)
    if(ROOM_WITH_TESTS)
      zkapex_reuse_headers(${name}_test ${ROOM_PRECOMPILED_BY})
    else()
      target_precompile_headers(${name}_test PRIVATE <gtest/gtest.h>)
      # Optimising tests costs more time than it saves; what they test is optimised.
      target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1> ${precompiled_flags})
    endif()
    # The longest sweeps, thousands of false proofs, or kills, each through the same code, which their shorter sisters
    # run under sanitizers too.
    set(filter)
    if(ZKAPEX_SANITIZE)
      string(CONCAT sweeps "-WindowLateShift.OfASealedScalar:RegistrationLateShift.OfASealedScalar"
        ":RegistrationLateShift.OfARow:UnboundValues.NoneInARegistration:UnboundValues.NoneInACompensatedWindow"
        ":AgentTest.KilledAnywhereTheNextRoundGoesOn:AgentTest.KilledAnywhereARejectionIsFinished")
      set(filter TEST_FILTER ${sweeps})
    endif()
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ${filter})
  endif()
  # Programs that valgrind watches, once for each set of instructions that it knows.
  if(ZKAPEX_TESTS AND ZKAPEX_VALGRIND AND ZKAPEX_VALGRIND_INCLUDE)
    foreach(source ${valgrinds})
      get_filename_component(target ${source} NAME_WE)
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE zkapex_${name})
      foreach(set portable avx2)
        add_test(NAME ${name}.${target}.${set} COMMAND ${ZKAPEX_VALGRIND} --quiet --error-limit=no $<TARGET_FILE:${target}>)
        set_tests_properties(${name}.${target}.${set} PROPERTIES ENVIRONMENT ZKAPEX_CPU=${set} SKIP_RETURN_CODE 77)
      endforeach()
    endforeach()
  endif()
  if(ZKAPEX_FUZZERS)
    foreach(fuzzer ${fuzzers})
      get_filename_component(target ${fuzzer} NAME_WE)
      add_executable(${target} ${fuzzer})
      target_link_libraries(${target} PRIVATE zkapex_${name})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

zkapex_room(base LIBRARIES Threads::Threads fmt::fmt OpenSSL::Crypto PkgConfig::sodium nlohmann_json::nlohmann_json
  PRECOMPILE <algorithm> <functional> <map> <memory> base/files.h)
# One trunk: zero knowledge for any linear algebra.
zkapex_room(algebra ROOMS base)
zkapex_room(argument ROOMS algebra)
# The other: what is done to the weights, without cryptography.
zkapex_room(weights ROOMS base)
zkapex_room(curvature ROOMS weights)
zkapex_room(unlearning ROOMS curvature)
# They meet.
zkapex_room(attestation ROOMS argument unlearning)
zkapex_room(parties ROOMS attestation TESTING attestation)
zkapex_room(costs ROOMS argument)
# What they say to each other, and the transparency log that keeps it.
zkapex_room(log ROOMS base)
zkapex_room(exchange ROOMS log parties TESTING log)
if(ZKAPEX_PROGRAMS)
  zkapex_room(agent ROOMS exchange LIBRARIES CURL::libcurl TESTING attestation)
endif()
zkapex_room(capi ROOMS exchange TESTING attestation log)
target_include_directories(zkapex_capi PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
if(NOT ZKAPEX_SANITIZE)  # whose tests have no use for it
  include(cmake/capi.cmake)
endif()
foreach(room log exchange agent)  # GCC 12's false findings in vectors of bytes
  if(TARGET zkapex_${room})
    target_compile_options(zkapex_${room} PRIVATE ${precompiled_flags})
  endif()
endforeach()
# The provider's service; a device does without it.
if(ZKAPEX_SERVICE)
  pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
  pkg_check_modules(pq REQUIRED IMPORTED_TARGET libpq)
  zkapex_room(service ROOMS exchange LIBRARIES PkgConfig::sqlite PkgConfig::pq OpenSSL::SSL
    CURL::libcurl)
  # Boost.Beast takes as long to compile as the rest of the room: it is compiled when its file changes, and only then.
  target_compile_options(zkapex_service PRIVATE ${precompiled_flags})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/service/http_server.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()
# What of learning needs no libtorch, for sanitizers and fuzzers too; then what does.
if(ZKAPEX_LEARNING OR ZKAPEX_LEARNING_FILES)
  find_package(PNG REQUIRED)
  find_package(JPEG REQUIRED)
  find_package(ZLIB REQUIRED)
  zkapex_room(data ROOMS base LIBRARIES PNG::PNG JPEG::JPEG ZLIB::ZLIB PRECOMPILE data/documents.h)
  zkapex_room(tables ROOMS data parties PRECOMPILED_BY data)
endif()
if(ZKAPEX_LEARNING)
  include(cmake/learning.cmake)
endif()

if(ZKAPEX_PROGRAMS)
  include(cmake/programs.cmake)
endif()
include(cmake/install.cmake)

function(zkapex_command_test name)
  add_test(NAME ${name}_commands
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/cli/${name}_test.py $<TARGET_FILE:zkapex>)
  if(ZKAPEX_SANITIZE)
    set_tests_properties(${name}_commands PROPERTIES ENVIRONMENT ZKAPEX_SANITIZED=1)
  endif()
endfunction()
if(ZKAPEX_TESTS)
  if(NOT ZKAPEX_SANITIZE)
    set(library $<TARGET_FILE:libzkapex_shared>)
    add_test(NAME c_library COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/capi/c_library_test.py
      $<TARGET_FILE_DIR:libzkapex_shared> $<TARGET_FILE:zkapex>)
    # NumPy is the system's: another interpreter that comes first may be without it.
    foreach(candidate ${Python3_EXECUTABLE} /usr/bin/python3)
      execute_process(COMMAND ${candidate} -c "import numpy" RESULT_VARIABLE lacks_numpy ERROR_QUIET)
      if(lacks_numpy STREQUAL 0)
        foreach(kind numpy misuse)
          add_test(NAME python_${kind} COMMAND ${candidate} ${PROJECT_SOURCE_DIR}/python/tests/test_${kind}.py
            ${library} $<TARGET_FILE:zkapex>)
        endforeach()
        break()
      endif()
    endforeach()
    if(NOT lacks_numpy STREQUAL 0)
      message(STATUS "No NumPy: the Python package is not tested")
    endif()
    add_test(NAME install COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/install_test.py ${CMAKE_BINARY_DIR})
  endif()
  foreach(name cli attestation anchor audit client provider update first_use)
    zkapex_command_test(${name})
  endforeach()
  if(NOT ZKAPEX_SANITIZE)  # which need memory of their own
    zkapex_command_test(memory)
  endif()
  if(ZKAPEX_SERVICE)
    zkapex_command_test(service)
    zkapex_command_test(system)
  endif()
  if(ZKAPEX_LEARNING)
    foreach(name learning costs experiment demo)
      zkapex_command_test(${name})
    endforeach()
  endif()
endif()

# Under sanitizers, tests spend their time in arithmetic, and compilers theirs in the templates of the command line.
if(ZKAPEX_SANITIZE)
  foreach(room algebra argument costs)
    target_compile_options(zkapex_${room} PRIVATE -O2)
  endforeach()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/json.cpp PROPERTIES COMPILE_OPTIONS -O0
    SKIP_PRECOMPILE_HEADERS ON)
  foreach(room parties capi exchange agent service data tables cli)
    if(TARGET zkapex_${room})
      target_compile_options(zkapex_${room} PRIVATE -O0)
    endif()
  endforeach()
  if(TARGET zkapex-network)
    target_compile_options(zkapex-network PRIVATE -O0)
  endif()
  foreach(room base algebra argument weights curvature unlearning attestation parties capi log exchange agent service costs data tables cli)
    if(TARGET ${room}_test)
      target_compile_options(${room}_test PRIVATE -O0)
    endif()
  endforeach()
endif()
