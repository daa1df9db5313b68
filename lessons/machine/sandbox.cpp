#include "lessons/machine/sandbox.h"

#include <fmt/format.h>
#include <link.h>

#include <set>
#include <stdexcept>
#include <system_error>

#include "base/process.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kScratch = int64_t{1} << 30;  // bytes of /tmp

/// The options of every sandbox. Files are mounted between these and `--remount-ro`.
const std::vector<std::string> kIsolation{"bwrap",         "--unshare-user",
                                          "--unshare-ipc", "--unshare-pid",
                                          "--unshare-net", "--unshare-uts",
                                          "--uid",         "65534",
                                          "--gid",         "65534",
                                          "--cap-drop",    "ALL",
                                          "--new-session", "--die-with-parent",
                                          "--proc",        "/proc",
                                          "--dev-bind",    "/dev/null",
                                          "/dev/null",     "--dev-bind",
                                          "/dev/urandom",  "/dev/urandom",
                                          "--size",        std::to_string(kScratch),
                                          "--tmpfs",       "/tmp"};

int add_library(dl_phdr_info* info, size_t, void* libraries) {
  const std::string name = info->dlpi_name;
  if (name.starts_with("/")) {
    static_cast<std::set<std::string>*>(libraries)->insert(name);
  }
  return 0;
}

[[noreturn]] void refuse(const std::string& why, const std::string& fix) {
  throw std::runtime_error("--grade needs a sandbox: " + why + "; fix: " + fix);
}

}  // namespace

Sandbox::Sandbox() {
  set("PATH", "/usr/local/bin:/usr/bin:/bin");
  set("HOME", "/tmp");
  set("LANG", "C.UTF-8");
}

void Sandbox::show(const fs::path& file) { show_as(file, file); }

void Sandbox::show_as(const fs::path& file, const fs::path& seen) {
  if (!fs::exists(file)) return;
  mounts_.insert(mounts_.end(), {"--ro-bind", file.string(), seen.string()});
}

void Sandbox::let_write(const fs::path& folder) {
  mounts_.insert(mounts_.end(), {"--bind", folder.string(), folder.string()});
}

void Sandbox::hide(const fs::path& file) {
  for (size_t i = 0; i + 2 < mounts_.size(); ++i) {
    const bool inside =
        mounts_[i] == "--ro-bind" && file.string().starts_with(mounts_[i + 2] + "/");
    if (inside) return show_as("/dev/null", file);
  }
}

void Sandbox::set(const std::string& name, const std::string& value) {
  environment_[name] = value;
}

void Sandbox::show_own_libraries() {
  std::set<std::string> libraries, folders;
  dl_iterate_phdr(add_library, &libraries);
  std::string path;
  for (const std::string& library : libraries) {
    show(library);
    const std::string folder = fs::path(library).parent_path().string();
    if (folders.insert(folder).second) path += (path.empty() ? "" : ":") + folder;
  }
  set("LD_LIBRARY_PATH", path);
}

void Sandbox::show_compilers() {
  for (const char* folder :
       {"/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64",
        "/usr/libexec", "/usr/local/bin", "/usr/local/include", "/usr/local/lib",
        "/etc/alternatives", "/etc/ld.so.cache"}) {
    show(folder);
  }
  for (const fs::path folder : {"/bin", "/lib", "/lib32", "/lib64"}) {
    if (fs::is_symlink(folder)) {
      mounts_.insert(mounts_.end(),
                     {"--symlink", fs::read_symlink(folder).string(), folder.string()});
    } else {
      show(folder);
    }
  }
}

Ended Sandbox::run(const std::vector<std::string>& words, Limits limits,
                   int input) const {
  std::vector<std::string> command = kIsolation;
  command.insert(command.end(), mounts_.begin(), mounts_.end());
  command.insert(command.end(), {"--remount-ro", "/", "--chdir", "/tmp", "--"});
  command.insert(command.end(), words.begin(), words.end());
  limits.inherit_environment = false;  // not even for bubblewrap's own processes
  try {
    return run_contained(command, environment_, limits, input);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    refuse("bubblewrap is not installed", "apt-get install bubblewrap");
  }
}

std::string require_sandbox(const fs::path& program) {
  Sandbox sandbox;
  sandbox.show_own_libraries();
  sandbox.show(program);
  const Ended ended = sandbox.run({program.string(), "--version"}, {});
  if (ended.exit_code != 0) {
    std::string why = ended.output.substr(0, ended.output.find('\n'));
    if (why.empty()) why = fmt::format("exit code {}", ended.exit_code);
    refuse("bubblewrap cannot make one here (" + why + ")",
           "allow user namespaces; in a container, `docker run --privileged`");
  }
  std::string version = run_process({"bwrap", "--version"}).output;
  version.erase(version.find_last_not_of(" \n") + 1);
  return version;
}

}  // namespace lockstep::lessons
