#include "engine/distributed/rendezvous/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace lockstep::distributed {
namespace {

using store::Frame;
using store::Op;

// Files have no condition variables, so waiting means polling, at PyTorch's interval.
constexpr Milliseconds kPollInterval(10);
constexpr Milliseconds kLockInterval(1);

}  // namespace

/// Exclusive access to the store: no other thread uses this object, no other process
/// writes the file (LOCK_SH) or even reads it (LOCK_EX), and the table is up to date.
class FileStore::Turn {
 public:
  Turn(FileStore& store, int kind) : own_(store.mutex_), file_(store.file_.get()) {
    store.lock(kind);
    try {
      if (store.is_removed()) store.fail("was removed while in use");
      store.read_what_is_new();
    } catch (...) {
      ::flock(file_, LOCK_UN);
      throw;
    }
  }
  ~Turn() { ::flock(file_, LOCK_UN); }

 private:
  std::lock_guard<std::mutex> own_;
  const int file_;
};

FileStore::FileStore(std::filesystem::path path, Milliseconds timeout)
    : Store(timeout),
      path_(std::move(path)),
      exceptions_at_construction_(std::uncaught_exceptions()) {
  do {  // repeat if the last member of an earlier run has removed the file
    open();
    lock(LOCK_SH);
  } while (is_removed());
  ::flock(file_.get(), LOCK_UN);
  Turn(*this, LOCK_SH);  // rejects a file that is not a store file
}

FileStore::~FileStore() {
  if (std::uncaught_exceptions() > exceptions_at_construction_) return;
  try {
    leave();
  } catch (const std::exception&) {  // other users of the file get the error, too
  }
}

void FileStore::open() {
  file_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
}

void FileStore::lock(int kind) const {
  // Not a single blocking flock: a process stopped while holding the lock would block
  // all others forever.
  const auto deadline = deadline_after(timeout());
  while (::flock(file_.get(), kind | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      fail(fmt::format("cannot be locked: {}", std::strerror(errno)));
    }
    if (Clock::now() >= deadline) {
      fail(fmt::format(
          "has been locked by another process for {}; is that process stopped?",
          store::seconds(timeout())));
    }
    std::this_thread::sleep_for(kLockInterval);
  }
}

bool FileStore::is_removed() const {
  struct stat status{};
  return ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

void FileStore::set(const std::string& key, const std::string& value) {
  Turn turn(*this, LOCK_EX);
  append({Op::set, {key, value}});
}

std::string FileStore::get(const std::string& key, Milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  for (;;) {
    if (const auto value = try_get(key)) return *value;
    if (Clock::now() >= deadline) throw StoreTimeout({key}, describe(), timeout);
    std::this_thread::sleep_for(kPollInterval);
  }
}

std::optional<std::string> FileStore::try_get(const std::string& key) {
  Turn turn(*this, LOCK_SH);
  return values_.find(key);
}

void FileStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  const auto missing = [&] {
    Turn turn(*this, LOCK_SH);
    return values_.missing(keys);
  };
  for (auto absent = missing(); !absent.empty(); absent = missing()) {
    if (Clock::now() >= deadline) {
      throw StoreTimeout(absent, describe(), timeout);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

int64_t FileStore::add(const std::string& key, int64_t amount) {
  Turn turn(*this, LOCK_EX);
  const int64_t sum = values_.plus(key, amount);
  append({Op::set, {key, std::to_string(sum)}});
  return sum;
}

std::string FileStore::compare_set(const std::string& key, const std::string& expected,
                                   const std::string& desired) {
  Turn turn(*this, LOCK_EX);
  if (!values_.matches(key, expected)) return values_.find(key).value_or(expected);
  append({Op::set, {key, desired}});
  return desired;
}

bool FileStore::remove(const std::string& key) {
  Turn turn(*this, LOCK_EX);
  if (!values_.find(key)) return false;
  append({Op::remove, {key}});
  return true;
}

/// Every process notes the beats in the log when it reads them, by its own clock.
Health FileStore::beat(const Beat& mine) {
  Turn turn(*this, LOCK_EX);
  append({Op::beat, store::fields_of(mine)});
  return heartbeats_.health(mine.rank, Clock::now(), values_.by_rank("gone/"),
                            values_.by_rank("failed/"));
}

void FileStore::join(int rank, int world_size) {
  store::check_rank(rank, world_size);
  const std::string who = store::this_process();
  Turn turn(*this, LOCK_EX);
  if (const auto refusal = members_.refusal(rank, world_size, who)) {
    fail(fmt::format("{}, or delete {} (it was left by another run)", *refusal,
                     path_.string()));
  }
  append({Op::join, {std::to_string(rank), std::to_string(world_size), who}});
  joined_.push_back(rank);
}

void FileStore::leave() {
  {
    std::lock_guard own(mutex_);
    if (joined_.empty()) return;
  }
  Turn turn(*this, LOCK_EX);
  for (const int rank : joined_) append({Op::leave, {std::to_string(rank)}});
  joined_.clear();
  if (members_.all_have_left()) ::unlink(path_.c_str());
}

void FileStore::append(const Frame& change) {
  const std::string bytes = store::encode(change);
  const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
  // Our table is updated like every other process's: by reading the log.
  if (written == static_cast<ssize_t>(bytes.size())) return read_what_is_new();
  const int error = written < 0 ? errno : ENOSPC;
  // Remove a partial record. If this fails, too, readers report a truncated file.
  [[maybe_unused]] const int failed = ::ftruncate(file_.get(), read_until_);
  fail(fmt::format("cannot be written: {}", std::strerror(error)));
}

void FileStore::read_what_is_new() {
  std::string bytes;  // contents of the file from read_until_
  char piece[1 << 16];
  for (;;) {
    const off_t from = read_until_ + static_cast<off_t>(bytes.size());
    const ssize_t got = ::pread(file_.get(), piece, sizeof piece, from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    bytes.append(piece, got);

    size_t used = 0;
    for (;;) {
      const auto parsed = store::parse_frame(std::string_view(bytes).substr(used));
      if (parsed.state == store::Parsed::State::incomplete) break;
      if (parsed.state == store::Parsed::State::garbage) {
        fail(fmt::format(
            "is not a store file: {} at byte {}; fix: delete it or choose another file",
            parsed.reason, read_until_));
      }
      apply(parsed.frame);
      used += parsed.consumed;
      read_until_ += static_cast<off_t>(parsed.consumed);
    }
    bytes.erase(0, used);
  }
  if (!bytes.empty()) {
    fail(fmt::format("is truncated in the record at byte {}; fix: delete it",
                     read_until_));
  }
}

void FileStore::apply(const Frame& change) {
  const store::Fields& fields = change.fields;
  const auto number = [&](size_t i) {
    return static_cast<int>(store::parse_number(fields[i]).value_or(-1));
  };
  if (change.op == Op::set && fields.size() == 2) {
    values_.set(fields[0], fields[1]);
  } else if (change.op == Op::remove && fields.size() == 1) {
    values_.remove(fields[0]);
  } else if (const auto beat = store::beat_of(fields); beat && change.op == Op::beat) {
    heartbeats_.note(*beat, Clock::now());
  } else if (change.op == Op::join && fields.size() == 3) {
    members_.join(number(0), number(1), fields[2]);
  } else if (change.op == Op::leave && fields.size() == 1) {
    members_.leave(number(0));
  } else {
    fail(
        fmt::format("is not a store file: invalid record at byte {}; fix: delete it or "
                    "choose another file",
                    read_until_));
  }
}

std::string FileStore::describe() const { return "file://" + path_.string(); }

void FileStore::fail(const std::string& reason) const {
  throw std::runtime_error(fmt::format("{}: {}", path_.string(), reason));
}

}  // namespace lockstep::distributed
