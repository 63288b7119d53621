# What nearly every file includes, parsed once per target instead of once per file: a third of the
# time of a build. Files still include what they use: clang-tidy reads them without this, and a test
# compiles every public header alone.
set(BALLAST_COMMON_HEADERS
  <algorithm> <array> <cmath> <cstddef> <cstdint> <filesystem> <functional> <memory> <optional>
  <span> <string> <string_view> <tl/expected.hpp> <utility> <variant> <vector>)

# What a room needs to be compiled and nothing needs to link: no part of an installed package.
set(BALLAST_HEADER_ONLY nlohmann_json::nlohmann_json Boost::headers)

# ballast_library(NAME HEADERS ... SOURCES ... DEPS ... PRIVATE_DEPS ... TESTS ... FUZZERS ...
#   [COMPONENT NAME PUBLIC_HEADERS ...] [TOGETHER])
#
# One room of the house, or a part of one: a static library ballast_NAME with the alias
# ballast::NAME, one test program with every test of the room, and one libFuzzer program per fuzz
# file. The rooms named in DEPS are the only ones it may include (tools/tidy.py checks that).
#
# TOGETHER: the compiler gets eight files at a time, which spares it most of the time where large
# headers are shared. Such files share their unnamed namespace, so a name in it occurs once.
#
# A room's headers are private. What is installed are the PUBLIC_HEADERS, files of include/ballast,
# and the library of a COMPONENT, under that name, with what it links (BallastInstall.cmake).
function(ballast_library NAME)
  cmake_parse_arguments(ROOM "TOGETHER" "COMPONENT"
    "HEADERS;PUBLIC_HEADERS;SOURCES;DEPS;PRIVATE_DEPS;TESTS;FUZZERS" ${ARGN})
  set(target ballast_${NAME})
  add_library(${target} STATIC ${ROOM_SOURCES})
  add_library(ballast::${NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME room_${NAME})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  if(ROOM_HEADERS)  # beside the library, because an interface that is exported must be installed
    add_library(${target}_headers INTERFACE)
    target_link_libraries(${target}_headers INTERFACE ${target})
    target_sources(${target}_headers INTERFACE
      FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${ROOM_HEADERS})
  endif()
  if(ROOM_PUBLIC_HEADERS)
    list(TRANSFORM ROOM_PUBLIC_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/ballast/)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_sources(${target} PUBLIC
      FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ROOM_PUBLIC_HEADERS})
  endif()
  if(ROOM_COMPONENT)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${ROOM_COMPONENT})
    set_property(GLOBAL APPEND PROPERTY BALLAST_COMPONENTS ${ROOM_COMPONENT})
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  foreach(header_only IN LISTS BALLAST_HEADER_ONLY)
    list(TRANSFORM ROOM_PRIVATE_DEPS REPLACE "^${header_only}$" "$<BUILD_INTERFACE:${header_only}>")
  endforeach()
  target_link_libraries(${target} PUBLIC ${ROOM_DEPS}
    PRIVATE $<BUILD_INTERFACE:ballast_settings> ${ROOM_PRIVATE_DEPS})
  if(BALLAST_UNITY AND ROOM_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  list(LENGTH ROOM_SOURCES source_count)
  if(source_count GREATER 3)
    target_precompile_headers(${target} PRIVATE ${BALLAST_COMMON_HEADERS})
  endif()
  if(BALLAST_SANITIZE STREQUAL "thread")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)  # only what a test needs
  endif()
  if(BALLAST_DEVELOPER AND ROOM_TESTS)
    ballast_test(${NAME}_test SOURCES ${ROOM_TESTS} DEPS ballast::${NAME})
  endif()
  if(BALLAST_FUZZERS)
    foreach(fuzzer IN LISTS ROOM_FUZZERS)
      ballast_fuzzer(${fuzzer} DEPS ballast::${NAME})
    endforeach()
  endif()
endfunction()

# Under the thread sanitizer only what starts threads, or is called from several, is tested.
set(BALLAST_THREADED_TESTS
  base_test emulated_kernels_test exchange_test experiment_test identity_test
  kernels_test learn_test network_test progress_test records_test robust_test sim_test)

# ballast_test(NAME SOURCES ... DEPS ... [LABEL unit] [PREFIX p]): a GoogleTest program, one ctest
# test per TEST, whose name the prefix tells from the same one in another program.
function(ballast_test NAME)
  cmake_parse_arguments(TEST "" "LABEL;PREFIX" "SOURCES;DEPS" ${ARGN})
  if(NOT TEST_LABEL)
    set(TEST_LABEL unit)
  endif()
  if(BALLAST_SANITIZE STREQUAL "thread" AND NOT NAME IN_LIST BALLAST_THREADED_TESTS)
    return()
  endif()
  add_executable(${NAME} ${TEST_SOURCES})
  target_include_directories(${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${NAME} PRIVATE
    ${TEST_DEPS} ballast_settings GTest::gmock GTest::gtest_main)
  target_precompile_headers(${NAME} PRIVATE
    ${BALLAST_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  # Tests spend their time in the library; optimising them would take longer than it saves.
  if(BALLAST_SANITIZE)
    target_compile_options(${NAME} PRIVATE -O0)
  else()
    target_compile_options(${NAME} PRIVATE -O1)
  endif()
  gtest_discover_tests(${NAME} TEST_PREFIX "${TEST_PREFIX}"
    PROPERTIES LABELS ${TEST_LABEL} TIMEOUT 600 DISCOVERY_TIMEOUT 60)
endfunction()

# ballast_fuzzer(FILE DEPS ...): a libFuzzer program named after its file.
function(ballast_fuzzer FILE)
  cmake_parse_arguments(FUZZ "" "" "DEPS" ${ARGN})
  cmake_path(GET FILE STEM name)
  add_executable(${name} ${FILE})
  target_link_libraries(${name} PRIVATE ${FUZZ_DEPS} ballast_settings)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()
