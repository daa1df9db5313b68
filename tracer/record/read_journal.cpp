// From a journal's file to a trace. The process may have been killed at any moment, or
// may still be recording, so all input is validated: an event that refers to an unknown
// address, or to a place that does not exist, is left out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "tracer/format/partial.h"
#include "tracer/record/collect.h"
#include "tracer/record/journal.h"
#include "tracer/record/journal_file.h"

namespace lockstep::tracer {
namespace {

[[noreturn]] void fail(const std::string& name, std::string_view reason) {
  throw std::runtime_error(fmt::format("{}: {}", name, reason));
}

constexpr int kMostRanks = 1 << 20, kMostLanes = 1 << 20;

/// Everything that a journal says.
class JournalReader {
 public:
  JournalReader(std::string_view text, const std::string& name)
      : text_(text), name_(name) {}

  Trace read() {
    read_start();
    for (const auto part :
         {BlockKind::notes, BlockKind::args, BlockKind::lists, BlockKind::entries}) {
      read_blocks(part);  // each refers to those before
    }
    for (auto& [number, buffer] : buffers_) {
      recorded_.buffers.push_back(std::move(buffer));
    }
    if (head_.empty()) fail(name_, "has no description; the process died at its start");
    Trace head = parse_trace(head_, name_);
    head.events = events_of(recorded_, {});
    std::erase_if(head.events, [&](const Event& event) {
      return left_out_.contains(event.step) ||
             event.end() > full_at_ - recorded_.origin;
    });
    const int64_t last = keep_complete_steps(head);
    if (last == kNone) {
      throw NoCompleteStep(
          name_ +
          ": its process ended before the first traced step was complete; fix: record "
          "earlier steps with --trace-steps A:B");
    }
    forget_what_was_left_out(head.events, !left_out_.empty());
    auto events = std::move(head.events);
    Trace trace = finish_trace(std::move(head), std::move(events), sources_);
    say_what_is_missing(trace, last);
    return trace;
  }

 private:
  void read_start() {
    JournalStart expected;
    if (text_.size() < JournalStart::kBytes)
      fail(name_, "is cut off in its first page");
    uint32_t sizes[2];
    std::memcpy(sizes, text_.data() + sizeof(expected.magic), sizeof(sizes));
    if (sizes[0] != expected.entry_bytes || sizes[1] != expected.arg_bytes) {
      fail(name_,
           "was written by another build of lockstep; fix: read it with that one");
    }
    std::memcpy(&full_at_, text_.data() + offsetof(JournalStart, full_at), 8);
    full_at_ = std::max<int64_t>(full_at_, 0);
  }

  void read_blocks(BlockKind wanted) {
    size_t at = JournalStart::kBytes;
    while (at + sizeof(BlockHeader) <= text_.size()) {
      BlockKind kind;
      uint64_t bytes, used, first;
      uint32_t buffer;
      const char* block = text_.data() + at;
      std::memcpy(&kind, block + offsetof(BlockHeader, kind), sizeof(kind));
      std::memcpy(&buffer, block + offsetof(BlockHeader, buffer), sizeof(buffer));
      std::memcpy(&first, block + offsetof(BlockHeader, first), sizeof(first));
      std::memcpy(&bytes, block + offsetof(BlockHeader, bytes), sizeof(bytes));
      std::memcpy(&used, block + offsetof(BlockHeader, used), sizeof(used));
      if (kind == BlockKind::none) return;
      at += sizeof(BlockHeader);
      if (bytes > text_.size() - at) fail(name_, "is damaged: a block ends after it");
      if (kind == wanted) take({kind, buffer, first, used}, text_.substr(at, bytes));
      at += bytes;
    }
  }

  struct Block {
    BlockKind kind;
    uint32_t buffer;
    uint64_t first, used;
  };

  void take(const Block& block, std::string_view values) {
    if (block.kind == BlockKind::notes) {
      return take_notes(values.substr(0, std::min(block.used, values.size())));
    }
    auto& buffer = buffers_[block.buffer];
    if (!buffer) buffer = std::make_unique<Buffer>(block.buffer);
    if (block.kind == BlockKind::lists) {
      adopt(buffer->lists, block, values_of<int64_t>(block, values));
    } else if (block.kind == BlockKind::args) {
      std::vector<Arg> args = values_of<Arg>(block, values);
      for (Arg& arg : args) translate(arg);
      adopt(buffer->args, block, args);
    } else {
      std::vector<Entry> entries = values_of<Entry>(block, values);
      std::erase_if(entries, [&](Entry& entry) { return !translate(entry, *buffer); });
      buffer->entries.adopt(buffer->entries.size(), entries);
    }
  }

  template <typename T>
  static std::vector<T> values_of(const Block& block, std::string_view bytes) {
    std::vector<T> values(std::min<uint64_t>(block.used, bytes.size() / sizeof(T)));
    if (values.empty()) return values;
    std::memcpy(static_cast<void*>(values.data()), bytes.data(),
                values.size() * sizeof(T));
    return values;
  }

  template <typename T>
  void adopt(Arena<T>& arena, const Block& block, const std::vector<T>& values) {
    if (block.first < arena.size() || block.first > UINT32_MAX) {
      fail(name_, "is damaged: its blocks are not in order");
    }
    arena.adopt(block.first, values);
  }

  /// Returns nullptr for an address without a note.
  const char* text_at(const char* address) const {
    const auto found =
        texts_.find(static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)));
    return found == texts_.end() ? nullptr : found->second;
  }

  /// Makes `key` null if the argument is not known.
  void translate(Arg& arg) const {
    arg.key = text_at(arg.key);
    if (arg.kind != Arg::Kind::text && arg.kind != Arg::Kind::texts) return;
    arg.text = text_at(arg.text);
    if (arg.text == nullptr) arg.key = nullptr;
  }

  bool translate(Entry& entry, const Buffer& buffer) {
    constexpr int64_t kMost = int64_t{1} << 61;
    Record& record = entry.record;
    record.cat = text_at(record.cat);
    record.name = text_at(record.name);
    const bool host = record.device < 0;
    const bool known = record.cat != nullptr && record.name != nullptr;
    const bool kind = record.ph == 'X' || record.ph == 'i' || record.ph == 'C';
    const bool lane = record.lane >= 0 && (host ? recorded_.host_lanes.size() : 3) >
                                              static_cast<size_t>(record.lane);
    const bool place =
        record.rank >= 0 && record.rank < kMostRanks && record.device < kMostRanks;
    const bool time = record.ts > -kMost && record.ts < kMost && record.dur >= 0 &&
                      record.dur < kMost;
    const bool lists = buffer.lists.has(entry.first_dep, entry.dep_count) &&
                       buffer.lists.has(entry.first_wait, entry.wait_count);
    if (!known || !kind || !lane || !place || !time || !lists ||
        !buffer.args.has(entry.first_arg, entry.arg_count)) {
      return false;
    }
    spend(entry.arg_count + uint64_t{entry.dep_count} + entry.wait_count);
    const auto args = buffer.args.at(entry.first_arg, entry.arg_count);
    return std::all_of(args.begin(), args.end(),
                       [&](const Arg& arg) { return is_whole(arg, buffer); });
  }

  /// No event has the values of another one, so all of them need less than the file.
  void spend(uint64_t values) {
    spent_ += values;
    if (spent_ > text_.size() / sizeof(int64_t)) {
      fail(name_, "is damaged: its events share values");
    }
  }

  bool is_whole(const Arg& arg, const Buffer& buffer) {
    if (arg.key == nullptr || arg.kind > Arg::Kind::texts) return false;
    const bool shapes = arg.kind == Arg::Kind::shapes;
    if (arg.kind != Arg::Kind::integers && !shapes) return true;
    if (!buffer.lists.has(arg.list.first, arg.list.count)) return false;
    spend(arg.list.count);
    auto rest = buffer.lists.at(arg.list.first, arg.list.count);
    while (shapes && !rest.empty()) {
      if (rest[0] < 0 || rest[0] >= static_cast<int64_t>(rest.size())) return false;
      rest = rest.subspan(1 + rest[0]);
    }
    return true;
  }

  void take_notes(std::string_view notes) {
    while (notes.size() >= sizeof(NoteHeader)) {
      NoteHeader header;
      std::memcpy(&header, notes.data(), sizeof(header));
      notes.remove_prefix(sizeof(header));
      if (header.length > notes.size()) return;  // being written
      take_note(header, notes.substr(0, header.length));
      notes.remove_prefix(std::min<size_t>((header.length + 7) / 8 * 8, notes.size()));
    }
  }

  void take_note(const NoteHeader& note, std::string_view text) {
    switch (note.kind) {
      case NoteKind::text:
        texts_[note.number] = intern(text);
        break;
      case NoteKind::lane:
        if (note.number < 0 || note.number > kMostLanes) break;
        recorded_.host_lanes.resize(
            std::max<size_t>(recorded_.host_lanes.size(), note.number + 1));
        recorded_.host_lanes[note.number] = text;
        break;
      case NoteKind::device_rank: {
        int rank = 0;
        std::from_chars(text.data(), text.data() + text.size(), rank);
        recorded_.device_ranks[static_cast<int>(note.number)] =
            std::clamp(rank, 0, kMostRanks);
        break;
      }
      case NoteKind::origin:
        recorded_.origin = std::clamp<int64_t>(note.number, 0, INT64_MAX / 4);
        break;
      case NoteKind::head:
        head_ = text;
        break;
      case NoteKind::source: {
        const size_t end = std::min(text.find('\0'), text.size());
        sources_[std::string(text.substr(0, end))] =
            text.substr(std::min(end + 1, text.size()));
        break;
      }
      case NoteKind::left_out:
        left_out_.insert(note.number);
        break;
    }
  }

  void say_what_is_missing(Trace& trace, int64_t last) const {
    const Json& info = object_arg(trace.other, top::distributed);
    Partial partial;
    partial.last_step = last;
    const int64_t rank = int_arg(info, top::rank, kNone);
    partial.of = int_arg(info, top::world_size, 1);
    if (partial.of > kMostRanks) fail(name_, "is damaged: it names too many ranks");
    for (int64_t i = 0; i < partial.of; ++i) {
      if (rank == kNone || rank == i) partial.ranks.push_back(i);
    }
    set_partial(trace, partial);
  }

  const std::string_view text_;
  const std::string& name_;
  int64_t full_at_ = INT64_MAX;
  uint64_t spent_ = 0;  ///< values that the events have
  Recorded recorded_;
  std::map<uint32_t, std::unique_ptr<Buffer>> buffers_;
  std::unordered_map<int64_t, const char*> texts_;
  std::string head_;
  Sources sources_;
  std::set<int64_t> left_out_;
};

}  // namespace

bool is_journal(std::string_view text) {
  return text.starts_with(JournalStart::kMagic);
}

Trace read_journal(std::string_view text, const std::string& name) {
  return JournalReader(text, name).read();
}

FileText open_trace_text(const std::string& path, size_t most, Ending ending) {
  FileText file = open_file_text(path, most, ending);
  if (!is_journal(file.text)) return file;
  const auto text =
      std::make_shared<const std::string>(trace_text(read_journal(file.text, path)));
  return {*text, text};
}

}  // namespace lockstep::tracer
