#include "engine/data/atomic_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace lockstep::data {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& target, const std::string& reason) {
  throw std::runtime_error(
      fmt::format("{}: cannot be written: {}", target.string(), reason));
}

// "a/b" → "a/.b.3f2c09d1.tmp": hidden, on the same file system, and our own.
fs::path temporary_for(const fs::path& target) {
  std::random_device random;
  const auto name = fmt::format(".{}.{:08x}.tmp", target.filename().string(), random());
  return target.parent_path() / name;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : target_(target) {
  std::error_code none;
  const fs::file_status status = fs::status(target, none);
  if (fs::is_character_file(status) || fs::is_fifo(status)) {
    fd_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);  // a device is never replaced
    if (fd_ < 0) fail(target_, std::strerror(errno));
    return;
  }
  temporary_ = temporary_for(target);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail(target_, std::strerror(errno));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(target_, std::strerror(errno));
    bytes = bytes.subspan(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0 && errno != EINVAL) fail(target_, std::strerror(errno));
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) fail(target_, std::strerror(errno));
  if (temporary_.empty()) return;
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) fail(target_, error.message());
  temporary_.clear();
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

AtomicFolder::AtomicFolder(const fs::path& target)
    : target_(target.has_filename() ? target : target.parent_path()),
      temporary_(temporary_for(target_)) {
  std::error_code error;
  if (fs::exists(target_, error) && !fs::is_empty(target_, error)) {
    fail(target_, "it exists already; remove it or name another folder");
  }
  fs::create_directories(temporary_, error);
  if (error) fail(target_, error.message());
}

void AtomicFolder::commit() {
  std::error_code error;
  fs::rename(temporary_, target_, error);  // replaces an empty folder only
  if (error) fail(target_, error.message());
  temporary_.clear();
}

AtomicFolder::~AtomicFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

}  // namespace lockstep::data
