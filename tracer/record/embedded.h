// The sources that travel inside the program, so that a trace can show every line that
// it names on any machine. Defined by cmake/embed.cmake in programs that use it.
#pragma once

#include <cstddef>

extern "C" {

/// One source file: its path from the repository's root, and its text, which lies in
/// [begin, end) for the life of the process and has no terminating zero.
struct EmbeddedFile {
  const char* path;
  const char* begin;
  const char* end;
};

/// All files, ascending by path. Thread-safe.
const EmbeddedFile* lockstep_embedded_files();
size_t lockstep_embedded_file_count();

}  // extern "C"
