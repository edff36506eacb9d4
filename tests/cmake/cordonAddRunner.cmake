# SPDX-License-Identifier: BSL-1.0
#
# cordon_add_runner(NAME): an executable that is nothing but a runner, for programs that can't be their own. It takes the
# command lines that a backend writes, reads no environment variable, and may be linked statically
# (target_link_options(NAME PRIVATE -static)).

function(cordon_add_runner name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_runner.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include <cordon/runner/entry.hpp>

int main(int argc, char** argv) { return cordon::runner::main(argc, argv); }
")
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cordon::cordon)
endfunction()
