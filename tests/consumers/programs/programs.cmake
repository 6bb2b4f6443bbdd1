# SPDX-License-Identifier: MIT
# A program for each of COMPONENTS, which links that component and nothing else, and a test that runs it.
enable_testing()
foreach(component IN LISTS COMPONENTS)
  add_executable(${component} ${CMAKE_CURRENT_LIST_DIR}/${component}.cpp)
  if(component STREQUAL core)
    target_link_libraries(${component} PRIVATE leasehold::leasehold)
  else()
    target_link_libraries(${component} PRIVATE leasehold::${component})
  endif()
  file(REMOVE ${CMAKE_CURRENT_BINARY_DIR}/${component}.db)
  add_test(NAME ${component} COMMAND ${component} ${CMAKE_CURRENT_BINARY_DIR}/${component}.db)
endforeach()
