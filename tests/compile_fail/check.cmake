# SPDX-License-Identifier: MIT
# Compiles SOURCE, which must fail with one error alone: the one that a line `// error: text` in it announces.
file(STRINGS ${SOURCE} announced REGEX "^// error: ")
string(REGEX REPLACE "^// error: " "" expected "${announced}")
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
execute_process(
  COMMAND ${COMPILER} ${flags} -fsyntax-only ${SOURCE}
  RESULT_VARIABLE result
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles")
endif()
string(REGEX MATCHALL "error: [^\n]*" errors "${output}")
list(LENGTH errors count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${count} errors, not one:\n${output}")
endif()
# Words of either compiler, or our own.
if(expected STREQUAL "" OR NOT errors MATCHES "${expected}")
  message(FATAL_ERROR "not the error '${expected}':\n${output}")
endif()
message(STATUS "refused: ${errors}")
