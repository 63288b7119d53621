# Settings every target shares: language level, build type, ccache, sanitizers, where programs land.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

find_program(BALLAST_CCACHE ccache)
if(BALLAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the first setting it does not cache what uses precompiled headers; with the others a
  # second clone or worktree finds what the first one compiled. Not CMake's own env: pip puts CMake
  # in another place at every build, and everything would be compiled again.
  set(CMAKE_CXX_COMPILER_LAUNCHER env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${BALLAST_CCACHE})
endif()

# Not with sanitizers: their instrumentation misleads GCC's flow analysis, which then warns inside
# the standard library. The release build is the one that must be free of warnings.
if(BALLAST_WERROR AND NOT BALLAST_SANITIZE)
  set(ballast_werror -Werror)
endif()

# One interface target carries the language level, the warnings and the sanitizers to every room,
# and is not exported: a consumer of the installed library chooses its own.
add_library(ballast_settings INTERFACE)
target_compile_features(ballast_settings INTERFACE cxx_std_20)
target_compile_options(ballast_settings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -fno-omit-frame-pointer
  ${ballast_werror}
  # GCC 12 warns in its own AVX-512 headers about the deliberately undefined pass-through operand,
  # and at -O3 about an overlap in "literal" + std::string that cannot happen.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-uninitialized -Wno-restrict>
  # So that ccache can look into a precompiled header.
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  # Clang counts signedness among the conversions; GCC does not.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
if(BALLAST_SANITIZE)
  target_compile_options(ballast_settings INTERFACE
    -fsanitize=${BALLAST_SANITIZE} -fno-sanitize-recover=all
    # GCC's checks of every single dereference triple the time of a build; the address sanitizer
    # sees what they look for, and Clang's fuzzers keep them.
    $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,vptr,object-size,alignment>)
  target_link_options(ballast_settings INTERFACE -fsanitize=${BALLAST_SANITIZE})
endif()
