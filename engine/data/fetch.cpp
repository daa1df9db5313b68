// Downloads CIFAR-10 (cifar10.h) with curl, md5sum and tar.
#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "base/program.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

std::string offline() {
  return fmt::format(
      "fix: without a network connection, generate a data set with `{} data make`",
      program());
}

// Returns the first line of `text`.
std::string one_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void download(const std::string& url, const fs::path& file) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  std::vector<std::string> curl{"curl", "--fail", "--location", "--retry", "2"};
  curl.insert(curl.end(), {"--connect-timeout", "20", "--speed-time", "60"});
  if (terminal) {
    curl.push_back("--progress-bar");
  } else {
    curl.insert(curl.end(), {"--silent", "--show-error"});
  }
  curl.insert(curl.end(), {"--output", file.string(), "--", url});

  const auto result =
      run_process(curl, terminal ? Messages::shown : Messages::captured);
  if (result.exit_code != 0) {
    const std::string reason =
        result.errors.empty()
            ? fmt::format("curl exited with code {}", result.exit_code)
            : one_line(result.errors);
    throw std::runtime_error(
        fmt::format("{}: download failed: {}; {}", url, reason, offline()));
  }
}

void verify(const std::string& url, const fs::path& file, const std::string& md5) {
  const auto result = run_process({"md5sum", "--", file.string()});
  const std::string sum = result.output.substr(0, result.output.find(' '));
  if (sum != md5) {
    throw std::runtime_error(
        fmt::format("{}: unexpected archive (MD5 {}, expected {}); try again later; {}",
                    url, sum, md5, offline()));
  }
}

void unpack(const std::string& url, const fs::path& file, const fs::path& folder) {
  const auto result = run_process({"tar", "-xzf", file.string(), "-C", folder.string(),
                                   "--strip-components=1", "--no-same-owner"});
  if (result.exit_code != 0) {
    throw std::runtime_error(
        fmt::format("{}: cannot be unpacked: {}", url, one_line(result.errors)));
  }
}

}  // namespace

fs::path cifar10_fetch(const fs::path& dir, const Archive& archive) {
  if (const auto found = cifar10_folder(dir)) {
    if (!is_generated(*found)) return *found;
    throw std::runtime_error(
        fmt::format("{}: contains a generated data set, not CIFAR-10; fix: remove it, "
                    "or choose another folder (`{} data fetch DIR`)",
                    found->string(), program()));
  }

  const fs::path target = dir / "cifar-10-batches-bin";
  AtomicFolder folder(target);
  const fs::path file = folder.path() / "archive.tar.gz";
  download(archive.url, file);
  verify(archive.url, file, archive.md5);
  unpack(archive.url, file, folder.path());
  fs::remove(file);
  folder.commit();
  return target;
}

}  // namespace lockstep::data
