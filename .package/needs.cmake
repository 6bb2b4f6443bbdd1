# SPDX-License-Identifier: MIT
# What the components link, looked for in the same way here and by an installed package. A target of the right name that
# is there already is taken, whoever made it. In a function, so that no variable of the caller's changes.

# Sets `missing` to the names of what is not there.
function(leasehold_find_needs component missing)
  set(names)
  if(component STREQUAL sqlite)
    set(names SQLite::SQLite3 SQLiteCpp Threads::Threads)
    if(NOT TARGET SQLite::SQLite3)
      find_package(SQLite3 3.37 QUIET)
    endif()
    # It has no name with :: in any version: one that was not found would be taken for a library's file name.
    if(NOT TARGET SQLiteCpp AND TARGET SQLite::SQLite3)
      find_package(SQLiteCpp QUIET)
    endif()
  elseif(component STREQUAL postgres)
    set(names PostgreSQL::PostgreSQL Threads::Threads)
    if(NOT TARGET PostgreSQL::PostgreSQL)
      find_package(PostgreSQL 14 QUIET)
    endif()
  endif()
  if(names AND NOT TARGET Threads::Threads)
    find_package(Threads QUIET)
  endif()
  set(not_found)
  foreach(name IN LISTS names)
    if(NOT TARGET ${name})
      list(APPEND not_found ${name})
    endif()
  endforeach()
  set(${missing} ${not_found} PARENT_SCOPE)
endfunction()
