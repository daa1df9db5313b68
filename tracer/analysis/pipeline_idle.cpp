// Why a device of a pipeline does nothing: what the division of the step says or, where
// that is unknown, what its next pass waits for by the schedule. Works on what ended
// first, so that the causes of a device that is waited for are known.
#include <algorithm>
#include <utility>

#include "tracer/analysis/pipeline_parts.h"

namespace lockstep::tracer {

const SlotWords& words_of(Slot slot) {
  const auto same = [](Spent spent) {
    return SlotWords{words_of(spent).name, words_of(spent).rule};
  };
  static const std::array<SlotWords, kSlots> words = {{
      {"passes", "a kernel of a pass runs"},
      {"fill",
       "it waits for its first forward or backward pass: the first micro-batch is "
       "still on its way"},
      {"drain",
       "its forward passes are over, and it waits for backward passes of others"},
      {"order",
       "the order in which passes were queued lets it wait for another device"},
      {"uneven stages",
       "it waits for another device's passes longer than with equally fast stages"},
      {"knock-on",
       "it waits for a device that is late: links, cores, a GPU or the host delayed "
       "it"},
      {"link",
       "its input is on its way, or its output is, and no kernel runs or could start"},
      same(Spent::host),
      same(Spent::core),
      same(Spent::gpu),
      same(Spent::wake_ups),
      {"outside passes",
       "it runs what belongs to no pass: the loss, the optimizer, copies"},
      same(Spent::unknown),
  }};
  return words[static_cast<size_t>(slot)];
}

const char* rule_of(Slot slot, Processor processor) {
  return slot == Slot::gpu ? waiting_rule(processor) : words_of(slot).rule;
}

namespace grid {
namespace {

using plan::PipelineAction;
using plan::PipelineOp;

/// Returns the slot for a class of the step's division; std::nullopt if the schedule
/// has to say it.
std::optional<Slot> slot_of(Spent spent) {
  switch (spent) {
    case Spent::core:
      return Slot::core;
    case Spent::gpu:
      return Slot::gpu;
    case Spent::activations:
    case Spent::collectives:
      return Slot::link;
    case Spent::imbalance:
      return kComputes;
    case Spent::lock:
    case Spent::loader:
    case Spent::host:
      return Slot::host;
    case Spent::wake_ups:
      return Slot::wake_ups;
    case Spent::undivided:
    case Spent::unknown:
      return std::nullopt;
    default:
      return Slot::other;
  }
}

/// Returns the class of an idle slot that the schedule found.
Spent spent_of(Slot slot) {
  switch (slot) {
    case Slot::link:
      return Spent::activations;
    case Slot::host:
      return Spent::host;
    case Slot::core:
      return Spent::core;
    case Slot::gpu:
      return Spent::gpu;
    case Slot::wake_ups:
      return Spent::wake_ups;
    case Slot::unknown:
      return Spent::unknown;
    default:
      return Spent::imbalance;
  }
}

class Causes {
 public:
  Causes(Pipeline& pipeline, const Findings& findings)
      : grid_(pipeline), findings_(findings) {
    for (uint32_t i = 0; i < grid_.passes.size(); ++i) {
      const PipelineAction& action = grid_.passes[i].action;
      const bool forward = action.op == PipelineOp::forward;
      if (action.op == PipelineOp::weight_backward) continue;
      made_.emplace(Parcel(forward, action.stage, action.micro_batch), i);
    }
  }

  /// Cuts the time of every device into busy pieces and gaps, then explains the gaps.
  void find() {
    for (size_t device = 0; device < grid_.devices.size(); ++device) cut(device);
    std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return std::tuple(a.end, a.is_gap) < std::tuple(b.end, b.is_gap);
    });
    for (const Part& part : parts_) {
      if (part.is_gap) {
        explain_gap(part);
      } else {
        const Slot slot = part.pass == kNoPass ? Slot::other : Slot::pass;
        put(part.device, part.begin, part.end, slot,
            slot == Slot::pass ? part.pass : part.next);
      }
    }
  }

 private:
  struct Part {
    int64_t begin = 0, end = 0;
    size_t device = 0;
    bool is_gap = false;
    uint32_t pass = kNoPass;     ///< whose kernel runs
    uint32_t next = kNoPass;     ///< of a gap or other work: the next pass
    bool inside = false;         ///< of a gap: kernels of `next` ran before it, too
    const Work* work = nullptr;  ///< of a gap: what ends it
  };

  void cut(size_t device) {
    const std::vector<Work>& work = findings_.work[device];
    std::vector<uint32_t> next(work.size() + 1, kNoPass);
    for (size_t i = work.size(); i-- > 0;) {
      next[i] = work[i].pass != kNoPass ? work[i].pass : next[i + 1];
    }
    int64_t at = grid_.begin;
    uint32_t before = kNoPass;
    for (size_t i = 0; i < work.size(); ++i) {
      const int64_t begin = std::clamp(work[i].begin, grid_.begin, grid_.end);
      const int64_t end = std::min(work[i].end, grid_.end);
      if (begin > at) {
        const bool inside = before != kNoPass && before == next[i];
        parts_.push_back({at, begin, device, true, kNoPass, next[i], inside, &work[i]});
        at = begin;
      }
      if (work[i].pass != kNoPass) before = work[i].pass;
      if (end <= at) continue;
      parts_.push_back({at, end, device, false, work[i].pass, next[i], false, nullptr});
      at = end;
    }
    if (at < grid_.end) {
      parts_.push_back({at, grid_.end, device, true, kNoPass, kNoPass, false, nullptr});
    }
  }

  /// Moves `at_` to `to`, at most to the end of the gap, or of what is explained.
  void until(int64_t to, Slot slot) {
    to = std::min({to, gap_->end, limit_});
    if (to <= at_) return;
    put(gap_->device, at_, to, slot, gap_->next);
    at_ = to;
  }

  void explain_gap(const Part& gap) {
    gap_ = &gap;
    at_ = gap.begin;
    const DevicePieces* step = findings_.spent[gap.device];
    if (findings_.imported || step == nullptr) return by_schedule(gap.end);
    const int64_t arrived = arrival_of_input();
    auto piece = std::ranges::upper_bound(step->pieces, at_, {}, &SpentPiece::end);
    for (; piece != step->pieces.end() && at_ < gap.end; ++piece) {
      const std::optional<Slot> slot = slot_of(piece->spent);
      if (!slot) {
        by_schedule(std::min(piece->end, gap.end));
        continue;
      }
      const bool waits = slot == kComputes && gap.work != nullptr && gap.work->awaits;
      if (waits) until(std::min(piece->end, arrived), kComputes);
      until(piece->end, waits ? kQueued : *slot);
    }
    by_schedule(gap.end);
  }

  /// Explains the gap until `end` by what its next pass needs.
  void by_schedule(int64_t end) {
    limit_ = end;
    const Part& gap = *gap_;
    if (gap.work == nullptr) {  // after the device's last kernel
      until_done(last_pass());
      until(end, Slot::unknown);
    } else {
      if (gap.next != kNoPass) until_input(gap.next);
      until(gap.work->launched, Slot::host);
      if (gap.work->awaits) until_queued(*gap.work->awaits);
      until(gap.work->begin - gap.work->queued,
            findings_.imported ? Slot::unknown : Slot::wake_ups);
      const Slot queued = grid_.processor == Processor::cores ? Slot::core : Slot::gpu;
      until(end, gap.work->queued > 0 ? queued : Slot::unknown);
    }
    limit_ = INT64_MAX;
  }

  /// Returns when the input of the gap's next pass is on its device: INT64_MIN if it
  /// needs none, INT64_MAX if that is not known.
  int64_t arrival_of_input() const {
    if (gap_->next == kNoPass) return INT64_MAX;
    const std::optional<Parcel> input = input_of(gap_->next);
    if (!input) return INT64_MIN;
    const auto link = findings_.links.find(*input);
    if (link != findings_.links.end()) return link->second.end;
    const auto maker = made_.find(maker_of(*input));
    return maker == made_.end() ? INT64_MAX : grid_.passes[maker->second].end;
  }

  uint32_t last_pass() const {
    uint32_t last = 0;
    for (uint32_t i = 0; i < grid_.passes.size(); ++i) {
      if (grid_.passes[i].end > grid_.passes[last].end) last = i;
    }
    return last;
  }

  /// Returns what a pass receives from another stage, if anything.
  std::optional<Parcel> input_of(uint32_t pass) const {
    const PipelineAction& action = grid_.passes[pass].action;
    const bool forward = action.op == PipelineOp::forward;
    const bool first = action.stage == (forward ? 0 : findings_.last_stage);
    if (action.op == PipelineOp::weight_backward || first) return std::nullopt;
    return Parcel(forward, action.stage, action.micro_batch);
  }

  /// Returns the key in `made_` of the pass that computes a parcel.
  static Parcel maker_of(const Parcel& parcel) {
    const auto& [forward, stage, micro_batch] = parcel;
    return {forward, stage + (forward ? -1 : 1), micro_batch};
  }

  /// Explains the gap until the input of `pass` has arrived. A kernel that starts
  /// earlier does not wait for it.
  void until_input(uint32_t pass) {
    const std::optional<Parcel> input = input_of(pass);
    if (!input) return;
    const auto maker = made_.find(maker_of(*input));
    if (maker == made_.end()) {
      if (gap_->inside) return;
      return until(gap_->work->begin - gap_->work->queued, Slot::unknown);
    }
    if (grid_.passes[maker->second].end > gap_->end) return;
    until_done(maker->second);
    const auto link = findings_.links.find(*input);
    if (link != findings_.links.end()) {
      until(link->second.launched, Slot::host);
      until(link->second.end, Slot::link);
    }
    for (const auto& [begin, end] : findings_.collectives[gap_->device]) {
      if (begin <= at_ && end > at_) until(end, Slot::link);
    }
  }

  /// … until the input of another pass has, which the stream awaits before this one.
  void until_queued(const Parcel& parcel) {
    const auto link = findings_.links.find(parcel);
    if (link == findings_.links.end() || link->second.end > gap_->end) return;
    until(link->second.end, kQueued);
  }

  /// Explains the gap until `pass` has ended.
  void until_done(uint32_t pass) {
    const PipelinePass& awaited = grid_.passes[pass];
    const auto& pieces = grid_.devices[awaited.device].pieces;
    auto piece = std::upper_bound(
        pieces.begin(), pieces.end(), at_,
        [](int64_t ts, const PipelinePiece& other) { return ts < other.end; });
    const auto index = static_cast<size_t>(piece - pieces.begin());
    // `until` adds to the pieces of this device, which may be the same list.
    const size_t count = pieces.size();
    for (size_t i = index; i < count && at_ < awaited.end; ++i) {
      const PipelinePiece other = pieces[i];
      const bool works = other.slot == Slot::pass || other.slot == Slot::other;
      until(std::min(other.end, awaited.end), works ? kComputes : other.slot);
    }
    until(awaited.end, Slot::unknown);
  }

  void put(size_t device, int64_t begin, int64_t end, Slot slot, uint32_t pass) {
    auto& pieces = grid_.devices[device].pieces;
    const bool same = !pieces.empty() && pieces.back().end == begin &&
                      pieces.back().slot == slot && pieces.back().pass == pass;
    if (same) {
      pieces.back().end = end;
    } else {
      pieces.push_back({begin, end, slot, pass});
    }
  }

  Pipeline& grid_;
  const Findings& findings_;
  std::map<Parcel, uint32_t> made_;  ///< what was computed: by which pass
  std::vector<Part> parts_;
  const Part* gap_ = nullptr;
  int64_t at_ = 0, limit_ = INT64_MAX;
};

/// Gives what the step's division did not know the class of the grid.
void give_back(const PipelineDevice& device, bool imported, DevicePieces& step) {
  std::vector<SpentPiece> pieces;
  auto own = device.pieces.begin();
  for (SpentPiece piece : step.pieces) {
    const bool open = piece.spent != Spent::computing && piece.spent != Spent::other &&
                      (imported || !slot_of(piece.spent));
    while (piece.begin < piece.end) {
      while (own != device.pieces.end() && own->end <= piece.begin) ++own;
      const bool inside = own != device.pieces.end() && own->begin <= piece.begin;
      const int64_t next = own == device.pieces.end() ? piece.end
                           : inside                   ? own->end
                                                      : own->begin;
      const int64_t end = std::min(piece.end, next);
      const bool idle = inside && own->slot != Slot::pass && own->slot != Slot::other;
      pieces.push_back(
          {piece.begin, end, idle && open ? spent_of(own->slot) : piece.spent});
      piece.begin = end;
    }
  }
  step.pieces = std::move(pieces);
}

}  // namespace

void explain(Pipeline& pipeline, const Findings& findings) {
  Causes(pipeline, findings).find();
  divide_waits(pipeline, findings.last_stage);
  for (size_t i = 0; i < pipeline.devices.size(); ++i) {
    PipelineDevice& device = pipeline.devices[i];
    if (findings.spent[i] != nullptr) {
      give_back(device, findings.imported, *findings.spent[i]);
    }
    for (const PipelinePiece& piece : device.pieces) {
      device.times[piece.slot] += piece.end - piece.begin;
    }
    for (size_t k = 0; k < kSlots; ++k) {
      pipeline.times.times[k] += device.times.times[k];
    }
  }
}

}  // namespace grid
}  // namespace lockstep::tracer
