#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/program.h"
#include "lessons/machine/judge.h"
#include "lessons/machine/slots.h"
#include "lessons/machine/stuck.h"
#include "lessons/plugin.h"
#include "tracer/record/collect.h"

namespace lockstep::lessons {

void plug(const std::string& library) {
  forbid_references();  // the library's constructors run while it is loaded
  // RTLD_NOW: detects functions missing from the engine here rather than in training.
  // Never closed: the engine may keep the learner's functions until exit.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw std::runtime_error(library + " cannot be loaded: " + dlerror());
  }
  using Entry = Plugin();
  auto* entry = reinterpret_cast<Entry*>(dlsym(handle, "lockstep_lesson"));
  if (entry == nullptr) {
    throw std::runtime_error(library +
                             " is not a lesson library: lockstep_lesson is missing; "
                             "fix: end the file with LOCKSTEP_LESSON(number) { … }");
  }
  const Plugin plugin = entry();
  if (plugin.stamp != headers_stamp()) {
    throw std::runtime_error(
        library + " was built for another version of the engine; fix: " + program() +
        " lesson check " + std::to_string(plugin.lesson));
  }
  plugin.plug();
  allow_references_of_empty_slots();
  report_when_stuck(library);
}

void plug_from_environment() {
  const char* named = std::getenv("LOCKSTEP_SLOTS");
  if (named == nullptr) return;
  std::istringstream libraries(named);
  for (std::string library; std::getline(libraries, library, ':');) {
    if (!library.empty()) plug(library);
  }
  // Traces also show the learner's source.
  if (const char* root = std::getenv("LOCKSTEP_WORKSPACE_ROOT")) {
    static std::vector<std::pair<std::string, std::string>> texts;  // keeps them alive
    for (const Lesson& lesson : all_lessons()) {
      const auto path = std::filesystem::path(root) / lesson.slug / lesson.file;
      std::ifstream file(path);
      if (!file) continue;
      std::ostringstream text;
      text << file.rdbuf();
      texts.emplace_back("workspace/" + lesson.slug + "/" + lesson.file, text.str());
    }
    for (const auto& [path, text] : texts) tracer::add_source(path, text);
  }
}

}  // namespace lockstep::lessons
