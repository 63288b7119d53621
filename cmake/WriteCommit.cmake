# Writes the commit of the sources to a C++ file, and leaves the file alone where nothing changed.
#
# cmake -D SOURCE=DIR -D OUT=FILE -P WriteCommit.cmake
find_program(GIT git)
set(commit unknown)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE found RESULT_VARIABLE failure OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failure EQUAL 0)
    set(commit ${found})
    execute_process(
      COMMAND ${GIT} -C ${SOURCE} diff-index --quiet HEAD -- include src apps experiments
      RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
    if(NOT differs EQUAL 0)
      string(APPEND commit "+")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
#include "apps/ballast/commit.h"

namespace ballast::apps {

const char* const kCommit = "@commit@";

}  // namespace ballast::apps
]])
