// The source files embedded in the program, so that a trace can show every line
// it refers to on any machine. cmake/embed.cmake generates the definitions.
#pragma once

#include <cstddef>

extern "C" {

/// One source file: its path relative to the repository root and its
/// text [begin, end), which is never freed and is not null-terminated.
struct EmbeddedFile {
  const char* path;
  const char* begin;
  const char* end;
};

/// Return the files, sorted by path, and the number of files. Thread-safe.
const EmbeddedFile* lockstep_embedded_files();
size_t lockstep_embedded_file_count();

}  // extern "C"
