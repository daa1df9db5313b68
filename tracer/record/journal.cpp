#include "tracer/record/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "tracer/record/collect.h"
#include "tracer/record/journal_file.h"

namespace lockstep::tracer {

std::atomic<bool> detail::journaling{false};

namespace {

constexpr size_t kSmallest = 1 << 20, kLargest = 16 << 20;
constexpr size_t kAlign = alignof(BlockHeader);

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

std::mutex mutex;  ///< of the open journal and its blocks; taken after shared().mutex
JournalFile* open_file = nullptr;

BlockHeader* fill_in(BlockHeader* block, BlockKind kind, uint32_t buffer,
                     uint64_t first, size_t bytes) {
  block->buffer = buffer;
  block->first = first;
  block->bytes = bytes;
  block->kind.store(kind, std::memory_order_release);
  return block;
}

/// What is recorded next goes to new blocks.
void end_blocks(Buffer& buffer) {
  buffer.entries.end_block();
  buffer.args.end_block();
  buffer.lists.end_block();
  buffer.noted = {};
}

}  // namespace

JournalFile::JournalFile(std::string path) : path_(std::move(path)) {
  ::unlink(path_.c_str());  // another process may be reading it
  fd_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd_) throw std::system_error(errno, std::generic_category());
  if (!grow(JournalStart::kBytes)) {
    const int error = errno;
    ::unlink(path_.c_str());
    throw std::system_error(error, std::generic_category());
  }
  start_ = new (segments_[0].memory) JournalStart;
  used_ = JournalStart::kBytes;
  JournalStart::kMagic.copy(start_->magic.data(), start_->magic.size());
}

JournalFile::~JournalFile() {
  for (const Segment& segment : segments_) ::munmap(segment.memory, segment.size);
}

void JournalFile::release() {
  if (--held_ == 0) delete this;
}

/// Reserves the space, so that a full disk is noticed here and not when a page is
/// written.
bool JournalFile::grow(size_t at_least) {
  const size_t last = segments_.empty() ? 0 : segments_.back().size;
  const size_t size = std::max((at_least + kSmallest - 1) / kSmallest * kSmallest,
                               std::clamp(2 * last, kSmallest, kLargest));
  errno =
      ::posix_fallocate(fd_.get(), static_cast<off_t>(size_), static_cast<off_t>(size));
  if (errno != 0) return false;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                        static_cast<off_t>(size_));
  if (memory == MAP_FAILED) return false;
  segments_.push_back({static_cast<char*>(memory), size});
  size_ += size;
  used_ = 0;
  return true;
}

BlockHeader* JournalFile::add_block(BlockKind kind, uint32_t buffer, uint64_t first,
                                    size_t bytes) {
  if (start_->full_at != INT64_MAX) return nullptr;
  const size_t needed = sizeof(BlockHeader) + aligned(bytes);
  const size_t left = segments_.back().size - used_;
  if (left < needed) {
    if (left > 0) {
      auto* filler = new (segments_.back().memory + used_) BlockHeader;
      fill_in(filler, BlockKind::filler, 0, 0, left - sizeof(BlockHeader));
    }
    if (!grow(needed)) {
      start_->full_at = now_ns();
      return nullptr;
    }
  }
  auto* block = new (segments_.back().memory + used_) BlockHeader;
  block->file = this;
  ++held_;
  used_ += needed;
  return fill_in(block, kind, buffer, first, aligned(bytes));
}

BlockHeader* memory_block(BlockKind kind, uint32_t buffer, uint64_t first,
                          size_t bytes) {
  void* memory = std::aligned_alloc(kAlign, sizeof(BlockHeader) + aligned(bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return fill_in(new (memory) BlockHeader, kind, buffer, first, bytes);
}

namespace {

/// Advises the kernel about the pages that lie completely within the block.
void advise(BlockHeader* block, int advice) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(block + 1), end = begin + block->bytes;
  const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first < last) {
    ::madvise(reinterpret_cast<void*>(first), last - first, advice);
  }
}

}  // namespace

BlockHeader* new_block(BlockKind kind, uint32_t buffer, uint64_t first, size_t bytes) {
  BlockHeader* block = nullptr;
  if (detail::journaling) {
    std::lock_guard lock(mutex);
    if (open_file != nullptr) block = open_file->add_block(kind, buffer, first, bytes);
  }
  if (block == nullptr) return memory_block(kind, buffer, first, bytes);
  advise(block, MADV_POPULATE_WRITE);  // one call instead of a fault for each page
  return block;
}

void free_block(BlockHeader* block) {
  if (block->file == nullptr) return std::free(block);
  std::lock_guard lock(mutex);
  block->file->release();
}

void rest_block(BlockHeader* block) {
  if (block->file != nullptr) advise(block, MADV_DONTNEED);
}

void note(NoteKind kind, int64_t number, std::string_view text) {
  if (!shared().notes) return;
  const NoteHeader header{number, kind, static_cast<uint32_t>(text.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += text;
  bytes.resize((bytes.size() + 7) / 8 * 8);
  shared().notes->append({bytes.data(), bytes.size()});
}

void note_texts(Buffer& buffer, const Record& record, std::span<const Arg> args) {
  const auto need = [&](const char* text) {
    if (text == nullptr || !buffer.noted.insert(text)) return;
    std::lock_guard lock(shared().mutex);
    if (!shared().noted.insert(text)) return;
    note(NoteKind::text, static_cast<int64_t>(reinterpret_cast<uintptr_t>(text)), text);
  };
  need(record.cat);
  need(record.name);
  for (const Arg& arg : args) {
    need(arg.key);
    if (arg.kind == Arg::Kind::text || arg.kind == Arg::Kind::texts) need(arg.text);
  }
}

std::string journal_of(const std::string& trace) { return trace + ".partial"; }

std::string open_journal(const std::string& path, const Trace& head) {
  close_journal();
  std::lock_guard lock(shared().mutex);
  try {
    std::lock_guard opening(mutex);
    open_file = new JournalFile(path);
  } catch (const std::system_error& error) {
    return error.code().message();
  }
  detail::journaling = true;
  for (const auto& buffer : shared().buffers) end_blocks(*buffer);
  shared().noted = {};
  shared().notes = std::make_unique<Arena<char>>(BlockKind::notes);
  note(NoteKind::head, 0, trace_text(head));
  for (const auto& [name, text] : registered_sources()) {
    note(NoteKind::source, 0, name + '\0' + std::string(text));
  }
  const std::vector<std::string>& lanes = shared().host_lanes;
  for (size_t i = 0; i < lanes.size(); ++i) {
    note(NoteKind::lane, static_cast<int64_t>(i), lanes[i]);
  }
  for (const auto& [device, rank] : shared().device_ranks) {
    note(NoteKind::device_rank, device, std::to_string(rank));
  }
  if (shared().origin != 0) note(NoteKind::origin, shared().origin, "");
  return "";
}

void leave_out_of_journal(int64_t step) {
  std::lock_guard lock(shared().mutex);
  note(NoteKind::left_out, step, "");
}

void close_journal() {
  std::lock_guard lock(shared().mutex);
  if (!detail::journaling.exchange(false)) return;
  shared().notes.reset();
  for (const auto& buffer : shared().buffers) end_blocks(*buffer);
  std::lock_guard closing(mutex);
  std::exchange(open_file, nullptr)->release();
}

void remove_journal() {
  const std::string file = open_journal_file();
  close_journal();
  if (!file.empty()) ::unlink(file.c_str());
}

std::string open_journal_file() {
  std::lock_guard lock(mutex);
  return open_file ? open_file->path() : "";
}

}  // namespace lockstep::tracer
