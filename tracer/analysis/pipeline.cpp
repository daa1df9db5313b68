#include "tracer/analysis/pipeline.h"

#include <algorithm>
#include <climits>
#include <numeric>
#include <set>

#include "tracer/analysis/pipeline_parts.h"
#include "tracer/analysis/spans.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer {

namespace grid {
namespace {

using plan::PipelineOp;

bool is_null(const Trace& trace) {
  const auto devices = trace.lockstep.find(top::devices);
  if (devices == trace.lockstep.end() || !devices->is_array()) return false;
  return std::any_of(devices->begin(), devices->end(), [](const Json& device) {
    return string_arg(device, keys::name).rfind("null", 0) == 0;
  });
}

/// Puts together the grid of one step.
class Builder {
 public:
  Builder(const Trace& trace, const Lanes& lanes, const Index& index,
          const Ranges& ranges, const Step& step, std::vector<DevicePieces>& pieces)
      : trace_(trace),
        lanes_(lanes),
        index_(index),
        ranges_(ranges),
        step_(step),
        pieces_(pieces) {
    grid_.processor = processor_of(trace.lockstep);
    findings_.imported = trace.lockstep.contains(top::imported);
  }

  std::shared_ptr<const Pipeline> take() {
    take_ranges();
    if (grid_.passes.empty()) return nullptr;
    take_kernels();
    drop_idle_passes();
    if (grid_.passes.empty()) return nullptr;
    order_work();
    describe();
    take_pieces();
    explain(grid_, findings_);
    return std::make_shared<const Pipeline>(std::move(grid_));
  }

 private:
  using Place = std::pair<int64_t, int64_t>;  // rank, device

  /// The schedule's first run: an action that comes again belongs to the next one.
  void take_ranges() {
    std::map<std::tuple<int, char, int>, int> seen;
    for (uint32_t i = 0; i < ranges_.all().size(); ++i) {
      const auto& [event, action] = ranges_.all()[i];
      const int64_t rank = lanes_.of(*event).rank;
      if (event->step != step_.number) continue;
      if (step_.rank != kNone && rank != step_.rank) continue;
      const auto key =
          std::tuple(action.stage, static_cast<char>(action.op), action.micro_batch);
      const int round = seen[key]++;
      grid_.rounds = std::max(grid_.rounds, round + 1);
      if (round > 0) continue;
      pass_of_range_[i] = static_cast<uint32_t>(grid_.passes.size());
      PipelinePass& pass = grid_.passes.emplace_back();
      pass.action = action;
      pass.event = event->id;
      pass.rank = rank;
      pass.host_begin = event->ts, pass.host_end = event->end();
    }
    kernels_.resize(grid_.passes.size());
  }

  /// Gives each pass the kernels that its ops enqueued on its stage's device.
  void take_kernels() {
    const std::vector<int64_t> given = ints_arg(step_.event->args, keys::stage_devices);
    for (const Event* task : step_.tasks) {
      const Lane& lane = lanes_.of(*task);
      if (lane.is_host()) continue;
      const Place place{lane.rank, lane.device};
      const bool imported_link = findings_.imported && task->is(categories::collective);
      if (imported_link) collectives_[place].emplace_back(task->ts, task->end());
      if (!task->is(categories::kernel)) {
        if (task->is(categories::copy)) take_copy(*task, place);
        continue;
      }
      const Event* op = index_.find(task->op);
      Work work{task->ts, task->end(), op == nullptr ? task->ts : op->ts,
                std::max<int64_t>(0, kernel_facts(*task).queued), kNoPass};
      for (const int64_t dep : task->deps) take_awaited(index_.find(dep), work);
      const uint32_t range = op == nullptr ? kNoPass : ranges_.around(*op, index_);
      const auto pass = pass_of_range_.find(range);
      if (pass != pass_of_range_.end()) {
        const auto stage = static_cast<size_t>(grid_.passes[pass->second].action.stage);
        const bool elsewhere = stage < given.size() && given[stage] != lane.device;
        if (!elsewhere) work.pass = pass->second;
      }
      if (work.pass != kNoPass) {
        const auto [first, fresh] = place_of_pass_.emplace(work.pass, place);
        if (!fresh && first->second != place) work.pass = kNoPass;
      }
      work_[place].push_back(work);
      if (work.pass != kNoPass) kernels_[work.pass].add(work.begin, work.end);
    }
  }

  /// Keeps which copy between stages a kernel's stream waited for.
  void take_awaited(const Event* copy, Work& work) const {
    if (copy == nullptr) return;
    // A message between processes ends with the receipt of which it is a part.
    if (!copy->is(categories::copy) && !copy->is(categories::collective)) return;
    const std::string_view why = text_arg(copy->args, keys::why);
    const bool forward = why == reasons::activation;
    if (!forward && why != reasons::activation_grad) return;
    work.awaits =
        Parcel(forward, static_cast<int>(int_arg(copy->args, keys::stage, -1)),
               static_cast<int>(int_arg(copy->args, keys::micro_batch, -1)));
  }

  void take_copy(const Event& copy, const Place& place) {
    const CopyFacts facts = copy_facts(copy);
    const bool forward = facts.why == reasons::activation;
    if (!forward && facts.why != reasons::activation_grad) {
      if (!facts.is_message) others_[place].push_back({copy.ts, copy.end(), copy.ts});
      return;
    }
    const Event* op = index_.find(copy.op);
    Link& link = findings_.links[Parcel(
        forward, static_cast<int>(int_arg(copy.args, keys::stage, -1)),
        static_cast<int>(int_arg(copy.args, keys::micro_batch, -1)))];
    link.launched = std::min(link.launched, op == nullptr ? copy.ts : op->ts);
    link.end = std::max(link.end, copy.end());
  }

  /// Removes passes without kernels, and numbers the others by begin.
  void drop_idle_passes() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < grid_.passes.size(); ++i) {
      const auto spans = kernels_[i].merged();
      if (spans.empty()) continue;
      grid_.passes[i].begin = spans.front().first;
      grid_.passes[i].end = spans.back().second;
      grid_.passes[i].running = kernels_[i].covered();
      order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return grid_.passes[a].begin < grid_.passes[b].begin;
    });
    std::vector<uint32_t> renamed(grid_.passes.size(), kNoPass);
    std::vector<PipelinePass> passes;
    std::map<Place, size_t> devices;
    for (const uint32_t i : order) devices.emplace(place_of_pass_.at(i), 0);
    for (auto& [place, number] : devices) {
      number = grid_.devices.size();
      grid_.devices.emplace_back().rank = place.first;
      grid_.devices.back().device = place.second;
    }
    for (const uint32_t i : order) {
      renamed[i] = static_cast<uint32_t>(passes.size());
      passes.push_back(grid_.passes[i]);
      passes.back().device = devices.at(place_of_pass_.at(i));
      grid_.devices[passes.back().device].passes.push_back(renamed[i]);
    }
    grid_.passes = std::move(passes);
    findings_.work.resize(grid_.devices.size());
    findings_.collectives.resize(grid_.devices.size());
    for (const auto& [place, number] : devices) {
      findings_.work[number] = std::move(work_[place]);
      for (Work& work : findings_.work[number]) {
        if (work.pass != kNoPass) work.pass = renamed[work.pass];
      }
      findings_.collectives[number] = std::move(collectives_[place]);
      const auto other = others_.find(place);
      if (other == others_.end()) continue;
      auto& all = findings_.work[number];
      all.insert(all.end(), other->second.begin(), other->second.end());
    }
  }

  void order_work() {
    grid_.begin = INT64_MAX, grid_.end = INT64_MIN;
    for (const PipelinePass& pass : grid_.passes) {
      grid_.begin = std::min(grid_.begin, pass.begin);
      grid_.end = std::max(grid_.end, pass.end);
    }
    const auto by_begin = [](const Work& a, const Work& b) {
      return a.begin < b.begin;
    };
    for (auto& all : findings_.work) {
      std::stable_sort(all.begin(), all.end(), by_begin);
      all = around_passes(all);
      std::stable_sort(all.begin(), all.end(), by_begin);
    }
  }

  /// Leaves of other work what lies outside the passes' kernels. `all`: by begin.
  static std::vector<Work> around_passes(const std::vector<Work>& all) {
    Spans running;
    for (const Work& work : all) {
      if (work.pass != kNoPass) running.add(work.begin, work.end);
    }
    const auto spans = running.merged();
    std::vector<Work> left;
    size_t first = 0;  // that ends after the work begins
    for (Work work : all) {
      if (work.pass != kNoPass) {
        left.push_back(work);
        continue;
      }
      while (first < spans.size() && spans[first].second <= work.begin) ++first;
      for (size_t i = first; i < spans.size() && work.begin < work.end; ++i) {
        if (spans[i].first >= work.end) break;
        if (spans[i].first > work.begin) {
          left.push_back(work);
          left.back().end = spans[i].first;
        }
        work.begin = spans[i].second;
        work.queued = 0;
      }
      if (work.begin < work.end) left.push_back(work);
    }
    return left;
  }

  void describe() {
    grid_.schedule = string_arg(step_.event->args, keys::schedule);
    find_last_stage();
    std::map<int, PipelineStage> stages;
    std::map<int, std::pair<int, int>> counts;
    std::set<int> micro_batches;
    for (const PipelinePass& pass : grid_.passes) {
      PipelineStage& stage = stages[pass.action.stage];
      stage.stage = pass.action.stage;
      stage.device = pass.device;
      micro_batches.insert(pass.action.micro_batch);
      const bool forward = pass.action.op == PipelineOp::forward;
      (forward ? stage.forward : stage.backward) += pass.running;
      auto& [forwards, backwards] = counts[pass.action.stage];
      forwards += forward;
      backwards += pass.action.op == PipelineOp::backward ||
                   pass.action.op == PipelineOp::input_backward;
      const bool ends = !forward && pass.action.op != PipelineOp::input_backward;
      if (forward) stage.live.emplace_back(pass.begin, 1);
      if (ends) stage.live.emplace_back(pass.end, -1);
    }
    grid_.micro_batches = static_cast<int>(micro_batches.size());
    for (auto& [number, stage] : stages) {
      const auto [forwards, backwards] = counts[number];
      stage.forward /= std::max(1, forwards);
      stage.backward /= std::max(1, backwards);
      std::sort(stage.live.begin(), stage.live.end());  // ends before begins
      int live = 0;
      for (auto& [ts, change] : stage.live) {
        live = std::max(0, live + change);
        change = live;
        stage.most_live = std::max(stage.most_live, live);
      }
      grid_.devices[stage.device].stages.push_back(number);
      grid_.stages.push_back(std::move(stage));
    }
    take_memory();
  }

  /// In the profiler's file of one rank, there may be stages after its own.
  void find_last_stage() {
    for (const PipelinePass& pass : grid_.passes) {
      findings_.last_stage = std::max(findings_.last_stage, pass.action.stage);
    }
    const auto given = ints_arg(step_.event->args, keys::stage_devices).size();
    if (given > 0 && given < 4096) {
      findings_.last_stage =
          std::max(findings_.last_stage, static_cast<int>(given) - 1);
    } else if (grid_.devices.size() == 1) {
      findings_.last_stage = INT_MAX;
    }
  }

  void take_pieces() {
    for (const PipelineDevice& device : grid_.devices) {
      const auto own = std::ranges::find_if(pieces_, [&](const DevicePieces& pieces) {
        return pieces.rank == device.rank && pieces.device == device.device;
      });
      findings_.spent.push_back(own == pieces_.end() ? nullptr : &*own);
    }
  }

  void take_memory() {
    for (const Event& event : trace_.events) {
      if (event.ph != 'C' || event.name != names::memory) continue;
      if (event.ts < step_.begin || event.ts > step_.last_end) continue;
      const Value bytes = event.args.find("activations");
      if (!bytes.exists()) continue;
      const Lane& lane = lanes_.of(event);
      for (PipelineDevice& device : grid_.devices) {
        if (device.rank != lane.rank || device.device != lane.device) continue;
        device.activations = std::max(device.activations, bytes.integer());
      }
    }
  }

  const Trace& trace_;
  const Lanes& lanes_;
  const Index& index_;
  const Ranges& ranges_;
  const Step& step_;
  std::vector<DevicePieces>& pieces_;
  Pipeline grid_;
  Findings findings_;
  std::map<uint32_t, uint32_t> pass_of_range_;
  std::map<uint32_t, Place> place_of_pass_;
  std::vector<Spans> kernels_;  ///< by pass
  std::map<Place, std::vector<Work>> work_, others_;
  std::map<Place, std::vector<std::pair<int64_t, int64_t>>> collectives_;
};

}  // namespace
}  // namespace grid

int64_t SlotTimes::sum() const {
  return std::accumulate(times.begin(), times.end(), int64_t{0});
}

int64_t SlotTimes::idle() const {
  return sum() - (*this)[Slot::pass] - (*this)[Slot::other];
}

double Pipeline::bubble() const {
  const int64_t whole = times.sum();
  return whole <= 0 ? 0
                    : static_cast<double>(times.idle()) / static_cast<double>(whole);
}

struct PipelineReader::Known {
  Known(const Trace& trace, const Lanes& lanes)
      : trace(trace), lanes(lanes), ranges(trace, lanes) {
    if (!ranges.all().empty() && !grid::is_null(trace)) index.emplace(trace);
  }
  const Trace& trace;
  const Lanes& lanes;
  const grid::Ranges ranges;
  std::optional<Index> index;  ///< unset if there is nothing to find
};

PipelineReader::PipelineReader(const Trace& trace, const Lanes& lanes)
    : known_(std::make_unique<const Known>(trace, lanes)) {}
PipelineReader::~PipelineReader() = default;

std::shared_ptr<const Pipeline> PipelineReader::of(
    const Step& step, std::vector<DevicePieces>& pieces) const {
  if (!known_->index) return nullptr;
  return grid::Builder(known_->trace, known_->lanes, *known_->index, known_->ranges,
                       step, pieces)
      .take();
}

}  // namespace lockstep::tracer
