#include "engine/data/work_log.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <utility>

#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::data {
namespace keys = tracer::keys;
namespace {

/// Records the work of a worker. Returns the id of the event.
int64_t record_work(const Work& work, int64_t after) {
  tracer::Record record;
  record.cat = "call";
  record.name = "_MapDatasetFetcher.fetch";
  record.lane = tracer::host_lane(fmt::format("loader worker {}", work.worker));
  record.rank = tracer::current_rank();
  record.step = tracer::current_step();
  record.ts = work.begin_ns;
  record.dur = work.end_ns - work.begin_ns;
  record.id = tracer::next_id();
  const tracer::Arg args[] = {{"batch", work.batch},
                              {"samples", work.samples},
                              tracer::Arg::integers("indices", work.indices),
                              {"after", after}};
  tracer::append(record, std::span(args).first(after == tracer::kNone ? 3 : 4));
  return record.id;
}

int64_t find(const std::map<int64_t, int64_t>& events, int64_t batch) {
  const auto found = events.find(batch);
  return found == events.end() ? tracer::kNone : found->second;
}

}  // namespace

WorkLog::WorkLog(int64_t depth, int64_t first)
    : depth_(depth),
      first_(first),
      epoch_begun_after_(tracer::recording() ? tracer::last_closed_event()
                                             : tracer::kNone) {}

void WorkLog::add(const Work& work) {
  if (!tracer::recording()) return;
  std::lock_guard lock(mutex_);
  added_.push_back(work);
}

void WorkLog::record(int64_t taken, int64_t asked_ns) {
  if (!tracer::recording() || tracer::current_step() < 0) return;
  std::vector<Work> works;
  {
    std::lock_guard lock(mutex_);
    works = std::exchange(added_, {});
  }
  const int64_t here = tracer::innermost_event();
  taken_in_[taken] = here;  // a worker may already have used the room
  for (const Work& work : works) {
    if (work.begin_ns < tracer::recording_origin()) continue;
    const int64_t after = work.batch < first_ + depth_
                              ? epoch_begun_after_
                              : find(taken_in_, work.batch - depth_);
    made_by_[work.batch] = record_work(work, after);
  }
  taken_in_.erase(taken_in_.begin(), taken_in_.upper_bound(taken - depth_));
  const int64_t call = find(made_by_, taken);
  made_by_.erase(made_by_.begin(), made_by_.upper_bound(taken));
  if (call == tracer::kNone || here == tracer::kNone) return;
  tracer::HostEvent wait("sync", "wait for batch");
  wait.begin_at(asked_ns);
  wait.arg({keys::why, "queue"});
  wait.waits_for({&call, 1});
}

}  // namespace lockstep::data
