#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr size_t kBlock = 1 << 18;

[[noreturn]] void fail_to_write(const fs::path& target, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  const bool refused = error == EACCES || error == EPERM || error == EROFS;
  throw std::runtime_error(
      fmt::format("{}: cannot be written ({}); fix: choose another location{}",
                  target.string(), std::strerror(error),
                  full      ? " or free some space"
                  : refused ? " or make this one writable"
                            : ""));
}

/// "a/b" → "a/.b.3f2c09d1.tmp": hidden, unique and on the same file system.
fs::path temporary_for(const fs::path& target) {
  std::random_device random;
  const auto name = fmt::format(".{}.{:08x}.tmp", target.filename().string(), random());
  return target.parent_path() / name;
}

/// Returns the file that `path` refers to after following links; it need not exist.
fs::path follow_links(fs::path path) {
  constexpr int most = 40;  // the kernel's limit
  std::error_code error;
  for (int links = 0; links < most && fs::is_symlink(path, error); ++links) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target, Packing packing, Durability durability)
    : named_(target), target_(target), durability_(durability) {
  std::error_code none;
  const fs::file_status status = fs::status(target, none);
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    target_ = follow_links(target);
    const fs::path temporary = temporary_for(target_);
    open(temporary, O_CREAT | O_EXCL);
    temporary_ = temporary;
  } else {
    open(target, 0);
  }
  if (packing == Packing::by_name && target.extension() == ".gz") {
    gzip_ = gzdopen(fd_.get(), "wb6");
    if (!gzip_) {
      discard();  // no destructor runs if a constructor throws
      fail(ENOMEM);
    }
    fd_.release();  // gzclose closes it
    gzbuffer(gzip_, kBlock);
  }
}

AtomicFile::~AtomicFile() {
  if (gzip_) gzclose(gzip_);
  discard();
}

void AtomicFile::discard() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::open(const fs::path& name, int flags) {
  fd_ = Fd(::open(name.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  if (!fd_) fail(errno);
}

void AtomicFile::write(std::string_view bytes) {
  if (gzip_) return write_packed(bytes);
  if (waiting_.size() + bytes.size() < kBlock) {
    waiting_ += bytes;
    return;
  }
  write_plain(std::exchange(waiting_, {}));
  if (bytes.size() < kBlock) {
    waiting_ = bytes;
  } else {
    write_plain(bytes);
  }
}

void AtomicFile::write_packed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kBlock);
    if (gzwrite(gzip_, part.data(), static_cast<unsigned>(part.size())) == 0) {
      fail(errno);
    }
    bytes.remove_prefix(part.size());
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::write_plain(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (gzip_) {
    if (gzclose(std::exchange(gzip_, nullptr)) != Z_OK) fail(errno);
    open(temporary_.empty() ? target_ : temporary_, 0);
  }
  write_plain(std::exchange(waiting_, {}));
  if (durability_ == Durability::synced) sync();
  fd_ = Fd();
  if (temporary_.empty()) return;
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) fail(error.value());
  temporary_.clear();
}

void AtomicFile::sync() const {
  while (::fsync(fd_.get()) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == EROFS) return;  // pipes and devices cannot sync
    fail(errno);
  }
}

void AtomicFile::fail(int error) const { fail_to_write(named_, error); }

AtomicFolder::AtomicFolder(const fs::path& target)
    : target_(target.has_filename() ? target : target.parent_path()),
      temporary_(temporary_for(target_)) {
  std::error_code error;
  const bool is_empty_folder =
      fs::is_directory(target_, error) && fs::is_empty(target_, error);
  if (fs::exists(target_, error) && !is_empty_folder) {
    throw std::runtime_error(
        fmt::format("{}: cannot be written (it already exists); fix: remove it or "
                    "choose another folder",
                    target_.string()));
  }
  fs::create_directories(temporary_, error);
  if (error) fail_to_write(target_, error.value());
}

void AtomicFolder::commit() {
  std::error_code error;
  fs::rename(temporary_, target_, error);  // replaces only an empty folder
  if (error) fail_to_write(target_, error.value());
  temporary_.clear();
}

AtomicFolder::~AtomicFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

}  // namespace lockstep
