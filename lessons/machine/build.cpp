#include "lessons/machine/build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "base/hash.h"
#include "base/process.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;

std::string compiler() {
  const char* chosen = std::getenv("CXX");
  return chosen && *chosen ? chosen : "c++";
}

std::string runtime_library(const char* name) {
  std::string path =
      run_process({compiler(), std::string("-print-file-name=") + name}).output;
  path.erase(path.find_last_not_of('\n') + 1);
  return path;
}

const std::vector<std::string>& common_options() {
  static const std::vector<std::string> options = {
      "-std=c++20", "-O1", "-g", "-fPIC",
      "-DLOCKSTEP_STAMP=\"" + headers_stamp() + "\""};
  return options;
}

/// Out-of-range accesses to vectors abort; sanitizers give better reports.
constexpr const char* kAssertions = "-D_GLIBCXX_ASSERTIONS";

/// Precompiled headers are specific to a compiler; their name contains its hash.
fs::path precompiled(const fs::path& include) {
  return include / "lessons" / "prelude.h.gch" /
         fmt::format("{:016x}", fnv1a64(compiler()));
}

std::vector<std::string> command_with(const Workspace& workspace,
                                      const std::vector<std::string>& options) {
  const fs::path include = workspace.headers();
  std::vector<std::string> command = {compiler()};
  const auto add = [&](const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
  };
  add(common_options());
  add({"-Wall", "-Wextra", "-Wno-unused-parameter", "-fmax-errors=5",
       "-fdiagnostics-color=never",
       "-ffile-prefix-map=" + workspace.root().string() + "/=workspace/",
       "-I" + include.string()});
  add(options);
  if (options == std::vector<std::string>{kAssertions} &&
      fs::exists(precompiled(include))) {
    add({"-include", (include / "lessons" / "prelude.h").string()});
  }
  return command;
}

/// Compiles `source` to `library` unless it is up to date, that is, has the
/// modification time of `source`. (A file saved during compilation is compiled again.)
Built compile(const Workspace& workspace, const fs::path& source,
              const fs::path& library, const std::vector<std::string>& options) {
  Built built;
  built.library = library;
  std::error_code none;
  const auto saved = fs::last_write_time(source, none);
  if (fs::exists(library) && fs::last_write_time(library, none) == saved) {
    built.ok = true;
    return built;
  }
  fs::create_directories(workspace.built());
  const fs::path part = library.string() + ".part";
  std::vector<std::string> command = command_with(workspace, options);
  command.insert(command.end(), {"-shared", source.string(), "-o", part.string()});
  ProcessResult result;
  try {
    result = run_process(command);
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.substr(0, what.find("; fix:")) +
                             "; fix: apt-get install g++, or name a compiler in CXX");
  }
  built.ok = result.exit_code == 0;
  built.messages =
      without_prefix(without_prefix(result.errors, workspace.headers().string() + "/"),
                     workspace.root().string() + "/");
  if (built.ok) {
    fs::last_write_time(part, saved, none);
    fs::rename(part, library);
  } else {
    fs::remove(part, none);
  }
  return built;
}

}  // namespace

std::vector<std::string> compiler_command(const Workspace& workspace) {
  return command_with(workspace, {kAssertions});
}

std::string without_prefix(std::string text, const std::string& prefix) {
  for (size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;) {
    text.erase(at, prefix.size());
  }
  return text;
}

bool headers_are_prepared(const Workspace& workspace) {
  return fs::exists(precompiled(workspace.headers()));
}

void prepare_headers(const Workspace& workspace) {
  const fs::path include = workspace.headers();
  for (const auto& entry : fs::directory_iterator(include.parent_path())) {
    const bool of_another_build =
        entry.path().filename().string().starts_with("include-");
    if (of_another_build && entry.path() != include) fs::remove_all(entry.path());
  }
  const fs::path result = precompiled(include);
  fs::create_directories(result.parent_path());
  const fs::path part = fmt::format("{}.part-{}", result.string(), getpid());
  std::vector<std::string> command = {compiler()};
  command.insert(command.end(), common_options().begin(), common_options().end());
  command.insert(command.end(),
                 {kAssertions, "-I" + include.string(), "-x", "c++-header",
                  (include / "lessons" / "prelude.h").string(), "-o", part.string()});
  const ProcessResult made = run_process(command);
  std::error_code none;
  if (made.exit_code == 0) fs::rename(part, result, none);
  fs::remove(part, none);
}

Built build_library(const Workspace& workspace, const Lesson& lesson,
                    Sanitizer sanitizer) {
  std::string suffix, preload;
  std::vector<std::string> options{kAssertions};
  if (sanitizer == Sanitizer::address || sanitizer == Sanitizer::leak) {
    suffix = "-address";
    options = {"-fsanitize=address,undefined", "-fno-sanitize-recover=all"};
    preload = runtime_library("libasan.so");
  } else if (sanitizer == Sanitizer::thread) {
    suffix = "-thread";
    options = {"-fsanitize=thread"};
    preload = runtime_library("libtsan.so");
  }
  const fs::path library = workspace.built() / fmt::format("{}-{}{}.so", lesson.slug,
                                                           headers_stamp(), suffix);
  Built built = compile(workspace, workspace.file(lesson), library, options);
  built.preload = preload;
  return built;
}

fs::path build_tests(const Workspace& workspace, const Lesson& lesson) {
  const fs::path source = course_folder() / lesson.slug / "check.cpp";
  if (course_folder().empty() || !fs::exists(source)) return {};
  const fs::path library =
      workspace.built() / fmt::format("{}-{}-tests.so", lesson.slug, headers_stamp());
  workspace.headers();
  const Built built = compile(workspace, source, library, {kAssertions});
  if (!built.ok) {
    throw std::runtime_error(source.string() + " does not compile:\n" + built.messages);
  }
  return library;
}

}  // namespace lockstep::lessons
