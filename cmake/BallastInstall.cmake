# Installs the program, the rooms with their headers, and the package files that
# find_package(ballast) reads.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY BALLAST_ROOMS)
install(TARGETS ${rooms} EXPORT ballastTargets FILE_SET HEADERS)
if(TARGET ballast_program)
  install(TARGETS ballast_program RUNTIME)
endif()
install(EXPORT ballastTargets NAMESPACE ballast::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ballast)
configure_package_config_file(cmake/ballastConfig.cmake.in ballastConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ballast)
write_basic_package_version_file(ballastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/ballastConfig.cmake
  ${PROJECT_BINARY_DIR}/ballastConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ballast)
