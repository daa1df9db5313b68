#include "gui/files/trace_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/format/file_io.h"

namespace lockstep::gui {

namespace {

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

TraceText in_memory(const std::string& path) {
  std::string text = tracer::read_whole_file(path);
  auto owner = std::make_shared<const std::string>(std::move(text));
  return {*owner, owner};
}

}  // namespace

TraceText open_trace_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info{};
  if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    if (file >= 0) close(file);
    return in_memory(path);  // reports the error, or reads the pipe
  }
  unsigned char magic[2] = {0, 0};
  const bool gzip =
      pread(file, magic, 2, 0) == 2 && magic[0] == 0x1F && magic[1] == 0x8B;
  const auto size = static_cast<size_t>(info.st_size);
  if (gzip || size == 0) {
    close(file);
    return in_memory(path);
  }
  auto mapping = std::make_shared<const Mapping>(file, size);
  close(file);
  if (!mapping->ok()) return in_memory(path);
  return {mapping->text(), mapping};
}

}  // namespace lockstep::gui
