# SPDX-License-Identifier: MIT
include(.package/needs.cmake)

# SQLiteCpp from its source folder, with the system's SQLite: a process must have one copy of it.
function(leasehold_add_sqlitecpp)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # what is set here stands in its options' place
  foreach(part INTERNAL_SQLITE RUN_CPPLINT RUN_CPPCHECK BUILD_EXAMPLES BUILD_TESTS)
    set(SQLITECPP_${part} OFF)
  endforeach()
  add_subdirectory(${LEASEHOLD_SQLITECPP_SOURCE} SQLiteCpp SYSTEM)
endfunction()

# Sets LEASEHOLD_OFFERS_<component>: whether it was asked for, and what it links is here.
function(leasehold_offer component)
  string(TOUPPER ${component} upper)
  set(LEASEHOLD_OFFERS_${upper} OFF PARENT_SCOPE)
  if(NOT LEASEHOLD_WITH_${upper})
    return()
  endif()
  if(component STREQUAL sqlite AND LEASEHOLD_SQLITECPP_SOURCE)
    leasehold_add_sqlitecpp()
  endif()
  leasehold_find_needs(${component} missing)
  if(NOT missing)
    set(LEASEHOLD_OFFERS_${upper} ON PARENT_SCOPE)
  elseif(LEASEHOLD_WITH_${upper} STREQUAL AUTO)
    message(STATUS "leasehold::${component} is left out: it needs ${missing}")
  else()
    message(FATAL_ERROR "leasehold::${component} needs ${missing}: or set LEASEHOLD_WITH_${upper} to AUTO or OFF")
  endif()
endfunction()

# A component: its target, which others link as leasehold::<NAME>, and its headers, from include/leasehold.
function(leasehold_component target)
  cmake_parse_arguments(PARSE_ARGV 1 its "" NAME "LINKS;HEADERS")
  list(TRANSFORM its_HEADERS PREPEND include/leasehold/)
  add_library(${target} INTERFACE)
  add_library(leasehold::${its_NAME} ALIAS ${target})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${its_LINKS})
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES ${its_HEADERS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${its_NAME} VERIFY_INTERFACE_HEADER_SETS ${LEASEHOLD_VERIFY_HEADERS})
endfunction()
