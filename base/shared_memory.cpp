#include "base/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

namespace lockstep {
namespace {

/// Precedes the data. A process on another machine may have the same process id: the
/// number, drawn at random, shows that it is another memory.
struct Header {
  uint64_t nonce;
};
constexpr size_t kHeaderBytes = 64;

constexpr const char* kFix =
    "fix: start all workers on one machine, as one user, in one container";

uint64_t draw_nonce() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

uint64_t& nonce_of(void* mapping) { return static_cast<Header*>(mapping)->nonce; }

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

SharedMemory::SharedMemory(Fd file, size_t bytes)
    : file_(std::move(file)), bytes_(bytes) {
  void* const mapping = ::mmap(nullptr, kHeaderBytes + bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED, file_.get(), 0);
  if (mapping == MAP_FAILED) fail(fmt::format("cannot map {} bytes", bytes));
  mapping_ = mapping;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      bytes_(other.bytes_),
      mapping_(std::exchange(other.mapping_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (mapping_) ::munmap(mapping_, kHeaderBytes + bytes_);
}

char* SharedMemory::data() const { return static_cast<char*>(mapping_) + kHeaderBytes; }

SharedMemory SharedMemory::create(size_t bytes) {
  Fd file(::memfd_create("lockstep", MFD_CLOEXEC));
  if (!file) fail("cannot create shared memory");
  if (::ftruncate(file.get(), static_cast<off_t>(kHeaderBytes + bytes)) != 0) {
    fail(fmt::format("cannot allocate {} bytes of shared memory", bytes));
  }
  SharedMemory memory(std::move(file), bytes);
  nonce_of(memory.mapping_) = draw_nonce();
  return memory;
}

std::string SharedMemory::address() const {
  return fmt::format("{} {} {}", ::getpid(), file_.get(), nonce_of(mapping_));
}

SharedMemory SharedMemory::open(const std::string& address, size_t bytes) {
  int process = 0, number = 0;
  unsigned long long nonce = 0;
  if (std::sscanf(address.c_str(), "%d %d %llu", &process, &number, &nonce) != 3) {
    throw std::runtime_error("not the address of shared memory: " + address);
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", process, number);
  const auto because = [&](const std::string& why) {
    return std::runtime_error(fmt::format(
        "cannot open the memory of process {}: {}; {}", process, why, kFix));
  };
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) throw because(std::strerror(errno));
  const bool fits =
      S_ISREG(info.st_mode) && info.st_size == static_cast<off_t>(kHeaderBytes + bytes);
  if (!fits) throw because("it has another size");
  SharedMemory memory(std::move(file), bytes);
  if (nonce_of(memory.mapping_) != nonce) throw because("it is another run's");
  memory.seal();
  return memory;
}

}  // namespace lockstep
