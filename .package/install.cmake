# SPDX-License-Identifier: MIT
# Installs the headers, a CMake package with one export per component, and one pkg-config file per component.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_folder ${CMAKE_INSTALL_DATADIR}/cmake/leasehold)

configure_package_config_file(
  .package/leasehold-config.cmake.in leasehold-config.cmake
  INSTALL_DESTINATION ${package_folder}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change anything: see docs/versioning.md.
write_basic_package_version_file(leasehold-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/leasehold-config.cmake ${PROJECT_BINARY_DIR}/leasehold-config-version.cmake
              .package/needs.cmake DESTINATION ${package_folder})

function(leasehold_install component target name description)
  cmake_parse_arguments(PARSE_ARGV 4 pc "" "REQUIRES;CFLAGS;LIBS" "")
  install(TARGETS ${target} EXPORT leasehold-${component} FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT leasehold-${component} FILE leasehold-${component}-targets.cmake NAMESPACE leasehold::
          DESTINATION ${package_folder})
  set(requires "${pc_REQUIRES}")
  set(cflags "${pc_CFLAGS}")
  set(libs "${pc_LIBS}")
  configure_file(.package/leasehold.pc.in ${name}.pc.in @ONLY)
  file(GENERATE OUTPUT ${name}.pc INPUT ${PROJECT_BINARY_DIR}/${name}.pc.in TARGET ${target})
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
endfunction()

leasehold_install(core leasehold leasehold "${PROJECT_DESCRIPTION}")
if(TARGET leasehold_sqlite)
  # SQLiteCpp has no pkg-config file of its own. Libraries' folders that a compiler knows, pkg-config leaves
  # out.
  if(LEASEHOLD_SQLITECPP_SOURCE)
    set(sqlitecpp_include) # it is installed beside this
    set(sqlitecpp_folder "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  else()
    set(folders $<FILTER:$<TARGET_PROPERTY:SQLiteCpp,INTERFACE_INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include/?$>)
    set(sqlitecpp_include "$<$<BOOL:${folders}>: -I$<JOIN:${folders}, -I>>")
    set(sqlitecpp_folder "$<TARGET_LINKER_FILE_DIR:SQLiteCpp>")
  endif()
  leasehold_install(
    sqlite leasehold_sqlite leasehold-sqlite "leasehold's store in a SQLite file"
    REQUIRES "leasehold = ${PROJECT_VERSION}, sqlite3 >= 3.37"
    CFLAGS "${sqlitecpp_include}"
    LIBS "-L${sqlitecpp_folder} -lSQLiteCpp -pthread")
endif()
if(TARGET leasehold_postgres)
  leasehold_install(
    postgres leasehold_postgres leasehold-postgres "leasehold's store on a PostgreSQL server"
    REQUIRES "leasehold = ${PROJECT_VERSION}, libpq >= 14"
    LIBS "-pthread")
endif()
