# SPDX-License-Identifier: MIT
# Installs FOLDER's build, checks that no header of INCLUDE was forgotten, and moves it to PREFIX: what was installed may
# be moved.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.made)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${FOLDER} --prefix ${PREFIX}.made OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE expected RELATIVE ${INCLUDE} ${INCLUDE}/*.hpp)
if(NOT WITH_POSTGRES)
  list(FILTER expected EXCLUDE REGEX "leasehold/postgres")
endif()
file(GLOB_RECURSE installed RELATIVE ${PREFIX}.made/include ${PREFIX}.made/include/leasehold/*)
if(NOT installed STREQUAL expected)
  foreach(header IN LISTS installed)
    list(REMOVE_ITEM expected ${header})
  endforeach()
  message(FATAL_ERROR "not installed, or not a header: ${expected}")
endif()
file(RENAME ${PREFIX}.made ${PREFIX})
