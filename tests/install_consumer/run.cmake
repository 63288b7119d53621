# Installs a finished build into a fresh prefix, builds the consumer and the first example against
# it alone, and checks what they print.
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

# Builds the project in SOURCE beside the installed library, runs its PROGRAM and compares.
function(check SOURCE PROGRAM expected)
  set(build ${WORK}/${PROGRAM})
  run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${build}
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${COMPILER})
  run(${CMAKE_COMMAND} --build ${build})
  run(${build}/${PROGRAM})
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${PROGRAM} printed\n${output}instead of\n${expected}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
check(${CMAKE_CURRENT_LIST_DIR} consumer "140 6627e8d5\n2 3\n")

set(example ${CMAKE_CURRENT_LIST_DIR}/../../examples/aggregate)
file(READ ${example}/expected.txt expected)
check(${example} example_aggregate "${expected}")
