# Runs a program and checks that it succeeds and prints exactly what a file holds.
#
# Usage: cmake -D PROGRAM=... -D EXPECTED=... -P check_output.cmake

execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
file(READ ${EXPECTED} expected)
if(NOT status EQUAL 0 OR NOT output STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} (status ${status}) printed\n${output}instead of\n${expected}")
endif()
