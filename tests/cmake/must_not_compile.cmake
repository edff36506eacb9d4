# SPDX-License-Identifier: BSL-1.0
#
# cordon_add_must_not_compile(FILE…): one test per rule. Each file holds a control that must compile, a break behind
# -DCORDON_BREAK that must not, and one line `// expect: REGEX` that the diagnostic must match. The controls of all are
# compiled as one test, each in a namespace of its own behind the headers of all. Run as a script (-P) this file is the
# checker itself; with -DCONTROL=ON it compiles the control of its file too.

if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${SOURCE} expectations REGEX "^// expect: ")
  list(LENGTH expectations count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${SOURCE}: exactly one line '// expect: REGEX' is needed, found ${count}")
  endif()
  string(REGEX REPLACE "^// expect: " "" expected "${expectations}")
  string(REPLACE "|" ";" includes "${INCLUDES}")
  list(TRANSFORM includes PREPEND -I)
  set(command ${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only ${includes} ${SOURCE})
  if(CONTROL)
    execute_process(COMMAND ${command} RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_QUIET)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "the control does not compile:\n${text}")
    endif()
  endif()
  execute_process(COMMAND ${command} -DCORDON_BREAK RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_QUIET)
  if(status EQUAL 0)
    message(FATAL_ERROR "the break compiles, and must not")
  endif()
  if(text MATCHES "internal compiler error|PLEASE submit a bug report")
    message(FATAL_ERROR "the compiler itself failed:\n${text}")
  endif()
  string(REPLACE "\n" " " text "${text}")
  if(NOT text MATCHES "${expected}")
    message(FATAL_ERROR "the diagnostic does not say '${expected}':\n${text}")
  endif()
  return()
endif()

set(_cordon_must_not_compile ${CMAKE_CURRENT_LIST_FILE})
function(cordon_add_must_not_compile)
  set(headers "")
  set(controls "")
  foreach(source IN LISTS ARGN)
    get_filename_component(name ${source} NAME_WE)
    file(STRINGS ${source} included REGEX "^#include <")
    list(APPEND headers ${included})
    string(APPEND controls "namespace ${name} {\n#include \"${source}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES headers)
  list(JOIN headers "\n" headers)
  file(CONFIGURE OUTPUT controls.cpp CONTENT "${headers}\n${controls}" @ONLY)
  add_test(NAME must_not_compile.controls COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror
    -fsyntax-only "-I$<JOIN:$<TARGET_PROPERTY:cordon,INTERFACE_INCLUDE_DIRECTORIES>,;-I>"
    -I${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_BINARY_DIR}/controls.cpp COMMAND_EXPAND_LISTS)
  set_tests_properties(must_not_compile.controls PROPERTIES LABELS must_not_compile TIMEOUT 120)
  foreach(source IN LISTS ARGN)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME must_not_compile.${name}
      COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_CXX_COMPILER} -DSOURCE=${source}
        "-DINCLUDES=$<JOIN:$<TARGET_PROPERTY:cordon,INTERFACE_INCLUDE_DIRECTORIES>,|>|${PROJECT_SOURCE_DIR}/tests"
        -P ${_cordon_must_not_compile})
    set_tests_properties(must_not_compile.${name} PROPERTIES LABELS must_not_compile TIMEOUT 120)
  endforeach()
endfunction()
