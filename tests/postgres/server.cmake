# SPDX-License-Identifier: MIT
# Where a server's programs are, for whoever starts one of their own: LEASEHOLD_INITDB is false where there are none.
file(GLOB LEASEHOLD_POSTGRES_FOLDERS /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin)
find_program(LEASEHOLD_PGBOUNCER pgbouncer HINTS /usr/sbin)
find_program(LEASEHOLD_INITDB initdb HINTS ${LEASEHOLD_POSTGRES_FOLDERS})
if(NOT TARGET leasehold::postgres)
  set(LEASEHOLD_INITDB FALSE)
endif()

# Lets a target include postgres/server.hpp.
function(leasehold_uses_server target)
  get_filename_component(programs ${LEASEHOLD_INITDB} REALPATH)
  get_filename_component(programs ${programs} DIRECTORY)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(
    ${target} PRIVATE LEASEHOLD_POSTGRES_PROGRAMS="${programs}"
                      LEASEHOLD_PGBOUNCER="$<$<BOOL:${LEASEHOLD_PGBOUNCER}>:${LEASEHOLD_PGBOUNCER}>")
  target_link_libraries(${target} PRIVATE leasehold::postgres)
endfunction()
