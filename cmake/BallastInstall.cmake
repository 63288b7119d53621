# Installs the program and the public face: the headers of include/ballast, and for each component
# of find_package(ballast COMPONENTS ...) its library with the libraries of the rooms that it links.
# What a component needs is read from the targets, so that no list of it can be wrong.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Where the libraries that rooms link come from. Another one is a line here.
set(package_of_fmt::fmt fmt)
set(package_of_tl::expected tl-expected)
set(package_of_hwy::hwy hwy)
set(package_of_OpenMP::OpenMP_CXX OpenMP)
set(package_of_Threads::Threads Threads)
set(package_of_ZLIB::ZLIB ZLIB)
set(package_of_PNG::PNG PNG)
set(package_of_OpenSSL::Crypto OpenSSL)
set(package_of_OpenSSL::SSL OpenSSL)
set(package_of_SQLite::SQLite3 SQLite3)
set(package_of_protobuf::libprotobuf Protobuf)
set(package_of_gRPC::grpc++ gRPC)

# Adds to ROOMS the target and the rooms it links, those that others link first, and to PACKAGES
# what these need.
function(ballast_collect NAME ROOMS PACKAGES)
  get_target_property(aliased ${NAME} ALIASED_TARGET)
  if(aliased)
    set(NAME ${aliased})
  endif()
  if(NAME IN_LIST ${ROOMS})
    return()
  endif()
  get_target_property(libraries ${NAME} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(library MATCHES "^ballast::")
      ballast_collect(${library} ${ROOMS} ${PACKAGES})
    elseif(DEFINED package_of_${library})
      list(APPEND ${PACKAGES} ${package_of_${library}})
    elseif(library MATCHES "::" AND NOT library MATCHES "^\\$<BUILD_INTERFACE:")
      message(FATAL_ERROR "${NAME} links ${library}: which package is that? Say so in "
        "cmake/BallastInstall.cmake.")
    endif()
  endforeach()
  list(APPEND ${ROOMS} ${NAME})
  list(REMOVE_DUPLICATES ${PACKAGES})
  set(${ROOMS} ${${ROOMS}} PARENT_SCOPE)
  set(${PACKAGES} ${${PACKAGES}} PARENT_SCOPE)
endfunction()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ballast)
get_property(components GLOBAL PROPERTY BALLAST_COMPONENTS)
set(component_facts "set(ballast_components ${components})\n")
set(installed)
foreach(component IN LISTS components)
  set(rooms)
  set(packages)
  ballast_collect(ballast_face_${component} rooms packages)
  list(APPEND installed ${rooms})
  string(APPEND component_facts "set(ballast_${component}_rooms ${rooms})\n"
    "set(ballast_${component}_packages ${packages})\n")
endforeach()
list(REMOVE_DUPLICATES installed)
foreach(room IN LISTS installed)
  install(TARGETS ${room} EXPORT ${room} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/ballast
    FILE_SET HEADERS)
  install(EXPORT ${room} NAMESPACE ballast:: DESTINATION ${package_folder})
endforeach()
# Inside the tree, include/ballast/error.h leads to this file.
install(FILES src/ballast/base/error.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ballast)

if(TARGET ballast_program)
  install(TARGETS ballast_program RUNTIME)
endif()
configure_package_config_file(cmake/ballastConfig.cmake.in ballastConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(ballastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/ballastConfig.cmake
  ${PROJECT_BINARY_DIR}/ballastConfigVersion.cmake
  DESTINATION ${package_folder})
