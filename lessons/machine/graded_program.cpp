#include "lessons/machine/graded_program.h"

#include <link.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "base/program.h"
#include "lessons/machine/exercise.h"
#include "lessons/machine/signature.h"
#include "tracer/format/file_io.h"
#include "tracer/record/embedded.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;

/// Where a byte of the running program lies in its file.
struct Place {
  uintptr_t address;
  size_t offset = std::string::npos;
};

int find_offset(dl_phdr_info* info, size_t, void* wanted) {
  Place& place = *static_cast<Place*>(wanted);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || place.address < begin) continue;
    if (place.address >= begin + part.p_filesz) continue;
    place.offset = part.p_offset + (place.address - begin);
  }
  return 1;  // the program itself comes first
}

size_t offset_in_program(const char* byte) {
  Place place{reinterpret_cast<uintptr_t>(byte)};
  dl_iterate_phdr(find_offset, &place);
  if (place.offset == std::string::npos) {
    throw std::logic_error("an embedded file is not in the program");
  }
  return place.offset;
}

bool is_exercise(const std::string& path) {
  return path.starts_with("lessons/") && !path.starts_with("lessons/machine/") &&
         (path.ends_with("/exercise.cpp") || path.ends_with("/exercise.txt") ||
          path.ends_with("/exercise.py"));
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

int add_own_library(dl_phdr_info* info, size_t, void* bytes) {
  const std::string name = info->dlpi_name;
  if (name.find("/liblockstep_") != std::string::npos) {
    *static_cast<std::string*>(bytes) += tracer::read_whole_file(name);
  }
  return 0;
}

}  // namespace

void write_program_without_answers(const fs::path& to) {
  std::string program = tracer::read_whole_file(program_path());
  const EmbeddedFile* files = lockstep_embedded_files();
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const std::string path = files[i].path;
    const std::string_view text(files[i].begin, files[i].end - files[i].begin);
    if (!path.ends_with(".cpp") && !is_exercise(path)) continue;
    std::string shown = is_exercise(path) ? skeleton_of(text, path) : "";
    shown.resize(text.size(), '\n');
    const size_t offset = offset_in_program(files[i].begin);
    if (program.compare(offset, text.size(), text) != 0) {
      throw std::logic_error(path + " is not where it should be in the program");
    }
    program.replace(offset, text.size(), shown);
  }
  write_bytes(to, program);
  fs::permissions(to, fs::perms::owner_all);
}

void write_lesson_without_answers(const Lesson& lesson, const fs::path& to) {
  for (const char* name : {"lesson.json", "hints.md", "trace.json.gz"}) {
    if (const auto bytes = lesson_file(lesson.slug, name))
      write_bytes(to / name, *bytes);
  }
  write_bytes(to / lesson.exercise_name(), skeleton_of(lesson.exercise(), lesson.slug));
}

std::string hash_of_program() {
  std::string bytes = tracer::read_whole_file(program_path());
  dl_iterate_phdr(add_own_library, &bytes);
  return sha256(bytes);
}

std::string hash_of_lesson(const Lesson& lesson) {
  std::string bytes;
  for (const char* name : {"lesson.json", "exercise.cpp", "exercise.txt", "exercise.py",
                           "judge.py", "check.cpp", "trace.json.gz"}) {
    bytes += lesson_file(lesson.slug, name).value_or("");
    bytes += '\0';
  }
  return sha256(bytes);
}

}  // namespace lockstep::lessons
