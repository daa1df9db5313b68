#include "tracer/format/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace lockstep::tracer {

namespace {

constexpr size_t kBlock = 1 << 18;
/// Smaller files are copied: if another process truncates a mapped file, reading the
/// mapping terminates the program.
constexpr size_t kMapped = size_t{512} << 20;
constexpr size_t kHarmless = size_t{64} << 20;
constexpr size_t kMaxGrowth = 1000;  // the limit of DEFLATE itself is 1,032

[[noreturn]] void fail_reading(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}

[[noreturn]] void fail_too_large(const std::string& path, size_t bytes) {
  fail_reading(path, fmt::format("unpacks to more than {} MiB, too large for a trace; "
                                 "fix: record fewer steps with --trace-steps A:B",
                                 bytes >> 20));
}

class Mapping {
 public:
  Mapping(int file, size_t size)
      : begin_(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0)), size_(size) {}
  ~Mapping() {
    if (ok()) munmap(begin_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool ok() const { return begin_ != MAP_FAILED; }
  std::string_view text() const { return {static_cast<const char*>(begin_), size_}; }

 private:
  void* begin_;
  size_t size_;
};

FileText in_memory(const std::string& path, Ending ending) {
  const auto owner = std::make_shared<const std::string>(read_whole_file(path, ending));
  return {*owner, owner};
}

}  // namespace

std::string read_whole_file(const std::string& path, Ending ending) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail_reading(path, "is a folder; fix: name a trace file");
  }
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) {
    fail_reading(path, fmt::format("cannot be opened ({}); fix: check the name",
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
    const bool cut = code == Z_BUF_ERROR;
    if (cut && ending == Ending::any && !text.empty()) return text;
    if (got < 0 || cut) {
      fail_reading(
          path,
          fmt::format("cannot be read past byte {} ({}), perhaps after an incomplete "
                      "download or copy; fix: fetch or record it again",
                      text.size(), code == Z_ERRNO ? std::strerror(errno) : reason));
    }
    if (got == 0) return text;
    const auto packed = static_cast<size_t>(std::max<z_off_t>(gzoffset(file.get()), 1));
    if (text.size() > kMaxText ||
        (text.size() > kHarmless && text.size() / packed > kMaxGrowth)) {
      fail_too_large(path, text.size());
    }
  }
}

FileText open_file_text(const std::string& path, size_t most, Ending ending) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info{};
  if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    if (file >= 0) close(file);
    return in_memory(path, ending);  // which reports the error, or reads the pipe
  }
  unsigned char magic[2] = {0, 0};
  const bool gzip =
      pread(file, magic, 2, 0) == 2 && magic[0] == 0x1F && magic[1] == 0x8B;
  const auto size = static_cast<size_t>(info.st_size);
  if (gzip || size < kMapped) {
    close(file);
    return in_memory(path, ending);
  }
  const auto mapping = std::make_shared<const Mapping>(file, size);
  close(file);
  if (size > most) fail_too_large(path, most);
  if (!mapping->ok()) return in_memory(path, ending);
  return {mapping->text(), mapping};
}

}  // namespace lockstep::tracer
