# Installs a finished build into a fresh prefix, builds the consumer against it alone, and checks
# what it prints.
#
# Usage: cmake -D BUILD=... -D WORK=... -D COMPILER=... -P run.cmake

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build
  -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

set(expected "140 6627e8d5\n")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "The consumer printed\n${output}instead of\n${expected}")
endif()
