# SPDX-License-Identifier: MIT
# Installs the consumer in FOLDER: its program is all there is.
file(REMOVE_RECURSE ${FOLDER}/prefix)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${FOLDER} --prefix ${FOLDER}/prefix COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed RELATIVE ${FOLDER}/prefix ${FOLDER}/prefix/*)
if(NOT installed STREQUAL "bin/consumer")
  message(FATAL_ERROR "installed: ${installed}")
endif()
