#include "tracer/format/file_io.h"

#include <fmt/format.h>
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
constexpr size_t kMaxText = size_t{2} << 30;
constexpr size_t kHarmless = size_t{64} << 20;
constexpr size_t kMaxGrowth = 1000;  // DEFLATE itself ends at 1,032

[[noreturn]] void fail_reading(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
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

}  // namespace lockstep::tracer
