# Embeds sources in the program: embed_sources(<out> <folder>…) writes one C++ file that
# contains the text of every .h and .cpp below the folders (relative to the project's
# root) and sets <out> to its name, for add_executable in the same CMakeLists.txt. Its
# definitions are declared in tracer/record/embedded.h. ALSO <glob>… adds other files.
#
# The assembler copies the files in (.incbin), so this costs no compile time. ccache
# recompiles files with .incbin; ninja does so when an embedded file changes.
function(embed_sources out)
  cmake_parse_arguments(arg "" "" "ALSO" ${ARGN})
  set(patterns ${arg_UNPARSED_ARGUMENTS})
  list(TRANSFORM patterns PREPEND ${PROJECT_SOURCE_DIR}/)
  set(headers ${patterns})
  list(TRANSFORM patterns APPEND /*.cpp)
  list(TRANSFORM headers APPEND /*.h)
  set(others ${arg_ALSO})
  list(TRANSFORM others PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE paths CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${patterns} ${headers})
  if(others)
    file(GLOB more CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${others})
    list(APPEND paths ${more})
    list(REMOVE_DUPLICATES paths)
  endif()
  list(FILTER paths EXCLUDE REGEX "(^|/)[.#]")  # editors' temporary files
  list(SORT paths)
  if(NOT paths)
    message(FATAL_ERROR "embed_sources: no .h or .cpp below ${ARGN}")
  endif()

  set(number 0)
  set(texts "")
  set(names "")
  set(rows "")
  set(files "")
  foreach(path IN LISTS paths)
    set(name embedded_${number})
    set(file ${PROJECT_SOURCE_DIR}/${path})
    string(APPEND texts "    \"${name}: .incbin \\\"${file}\\\"\\n\"\n"
                        "    \"${name}_end:\\n\"\n")
    string(APPEND names "  extern const char ${name}[], ${name}_end[];\n")
    string(APPEND rows "    {\"${path}\", ${name}, ${name}_end},\n")
    list(APPEND files ${file})
    math(EXPR number "${number} + 1")
  endforeach()

  set(source ${CMAKE_CURRENT_BINARY_DIR}/${out}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
[[// Written by cmake/embed.cmake.
#include "tracer/record/embedded.h"

asm(".pushsection .rodata\n"
@texts@    "    .byte 0\n"
    ".popsection\n");

#pragma GCC visibility push(hidden)
extern "C" {
@names@}
#pragma GCC visibility pop

static const EmbeddedFile embedded_files[] = {
@rows@};

const EmbeddedFile* lockstep_embedded_files() { return embedded_files; }
size_t lockstep_embedded_file_count() { return @number@; }
]])
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${files}"
    SKIP_UNITY_BUILD_INCLUSION ON)  # a unity build would lose OBJECT_DEPENDS
  set(${out} ${source} PARENT_SCOPE)
endfunction()
