#include "tracer/format/file_io.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

namespace lockstep::tracer {

namespace {

constexpr size_t kBlock = 1 << 18;
constexpr size_t kMaxText = size_t{2} << 30;
constexpr size_t kHarmless = size_t{64} << 20;
constexpr size_t kMaxGrowth = 1000;  // DEFLATE itself ends at 1,032

[[noreturn]] void fail_reading(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}

bool is_regular(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0;
}

/// A link is followed, so that renaming replaces the file and not the link.
std::string follow_links(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

std::string read_whole_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail_reading(path, "is a folder. Name a trace file");
  }
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) {
    fail_reading(path, fmt::format("cannot be opened ({}). Is the name right?",
                                   std::strerror(errno)));
  }
  gzbuffer(file.get(), kBlock);
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + kBlock);
    const int got = gzread(file.get(), text.data() + before, kBlock);
    text.resize(before + std::max(got, 0));
    int code = Z_OK;
    const char* reason = gzerror(file.get(), &code);
    if (got < 0 || code == Z_BUF_ERROR) {
      fail_reading(
          path,
          fmt::format("cannot be read past byte {} ({}). A download or a copy may "
                      "have been cut off: fetch or record it again",
                      text.size(), code == Z_ERRNO ? std::strerror(errno) : reason));
    }
    if (got == 0) return text;
    const auto packed = static_cast<size_t>(std::max<z_off_t>(gzoffset(file.get()), 1));
    if (text.size() > kMaxText ||
        (text.size() > kHarmless && text.size() / packed > kMaxGrowth)) {
      fail_reading(path,
                   fmt::format("unpacks to more than {} MiB, too much for a trace. "
                               "Record fewer steps with --trace-steps A:B",
                               text.size() >> 20));
    }
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(path) {
  static std::atomic<int> counter{0};
  if (!exists(path) || is_regular(path)) {
    target_ = follow_links(path);
    temporary_ = fmt::format("{}.tmp{}-{}", target_, getpid(), counter++);
  }
  const bool gzip = path.ends_with(".gz");
  const std::string& name = temporary_.empty() ? target_ : temporary_;
  file_ = gzopen(name.c_str(), gzip ? "wb6" : "wbT");  // T: as it is
  if (!file_) fail(errno);
  gzbuffer(file_, kBlock);
}

AtomicFile::~AtomicFile() {
  if (file_) gzclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, kBlock);
    if (gzwrite(file_, part.data(), static_cast<unsigned>(part.size())) == 0) {
      fail(errno);
    }
    text.remove_prefix(part.size());
  }
}

void AtomicFile::commit() {
  const int code = gzclose(std::exchange(file_, nullptr));
  if (code != Z_OK) fail(errno);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void AtomicFile::fail(int error) {
  throw std::runtime_error(fmt::format(
      "{}: cannot be written ({}). Choose another place or free some space; "
      "nothing was left behind",
      path_, std::strerror(error)));
}

}  // namespace lockstep::tracer
