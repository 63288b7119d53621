# ballast_embed_text(FILE NAME VARIABLE): writes VARIABLE, a list of C++ sources, longer by a file
# that defines
#
#   namespace ballast::embedded { extern const std::string_view NAME; }
#
# with the text of FILE, so that the program carries it and needs no installed data. A changed FILE
# configures the build anew.
function(ballast_embed_text FILE NAME VARIABLE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FILE})
  file(READ ${FILE} text)
  string(FIND "${text}" ")text\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${FILE} holds the end of a raw string, )text\", and cannot be embedded")
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${NAME}.cc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded_text.cc.in ${source} @ONLY)
  set(${VARIABLE} ${${VARIABLE}} ${source} PARENT_SCOPE)
endfunction()
