# SPDX-License-Identifier: BSL-1.0
#
# cmake -DCOMPILER=… -P check_the_checker.cmake: a checker that can't fail proves nothing, so each fixture in
# compile_fail/checker must be rejected by must_not_compile.cmake with the words that belong to it, and the sound one
# accepted.

set(_fixtures ${CMAKE_CURRENT_LIST_DIR}/../compile_fail/checker)

function(_check fixture accepted expected)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${COMPILER} -DCONTROL=ON -DSOURCE=${_fixtures}/${fixture}.cpp -DINCLUDES=${_fixtures}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/must_not_compile.cmake
    RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  if(accepted)
    if(status EQUAL 0)
      return()
    endif()
    message(SEND_ERROR "the checker rejects ${fixture}, which is sound:\n${text}")
  elseif(status EQUAL 0)
    message(SEND_ERROR "the checker accepts ${fixture}")
  elseif(NOT text MATCHES "${expected}")
    message(SEND_ERROR "the checker rejects ${fixture}, but does not say '${expected}':\n${text}")
  endif()
endfunction()

_check(sound_rule TRUE "")
_check(break_that_compiles FALSE "the break compiles, and must not")
_check(control_that_does_not_compile FALSE "the control does not compile")
_check(diagnostic_that_does_not_match FALSE "the diagnostic does not say 'deleted'")
_check(no_expectation FALSE "exactly one line '// expect: REGEX' is needed, found 0")
