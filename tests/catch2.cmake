# SPDX-License-Identifier: MIT
# leasehold_catch: Catch2, version 2 or 3, from the system or from its source folder, and a main.
set(LEASEHOLD_CATCH2_SOURCE "" CACHE PATH "Catch2's source folder, in place of an installed Catch2")
if(LEASEHOLD_CATCH2_SOURCE)
  add_subdirectory(${LEASEHOLD_CATCH2_SOURCE} Catch2 EXCLUDE_FROM_ALL SYSTEM)
  list(APPEND CMAKE_MODULE_PATH ${LEASEHOLD_CATCH2_SOURCE}/contrib ${LEASEHOLD_CATCH2_SOURCE}/extras)
else()
  find_package(Catch2 REQUIRED)
endif()
include(Catch)

add_library(leasehold_catch INTERFACE)
if(TARGET Catch2::Catch2WithMain)
  target_link_libraries(leasehold_catch INTERFACE Catch2::Catch2WithMain)
else()
  # Version 2 is headers; its main is compiled once, here.
  add_library(leasehold_catch_main STATIC support/main.cpp)
  target_compile_features(leasehold_catch_main PUBLIC cxx_std_20)
  target_link_libraries(leasehold_catch_main PRIVATE Catch2::Catch2)
  target_link_libraries(leasehold_catch INTERFACE Catch2::Catch2 leasehold_catch_main)
endif()
