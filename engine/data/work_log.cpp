#include "engine/data/work_log.h"

#include <fmt/format.h>

#include <utility>

#include "tracer/record/recorder.h"

namespace lockstep::data {
namespace {

/// Returns the event's id.
int64_t record_work(const Work& work) {
  tracer::Record record;
  record.cat = "call";
  record.name = "_MapDatasetFetcher.fetch";
  record.lane = tracer::host_lane(fmt::format("loader worker {}", work.worker));
  record.rank = tracer::current_rank();
  record.step = tracer::current_step();
  record.ts = work.begin_ns;
  record.dur = work.end_ns - work.begin_ns;
  record.id = tracer::next_id();
  const tracer::Arg args[] = {{"batch", work.batch}, {"samples", work.samples}};
  tracer::append(record, args);
  return record.id;
}

}  // namespace

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
  for (const Work& work : works) {
    if (work.begin_ns < tracer::recording_origin()) continue;
    const int64_t id = record_work(work);
    if (work.batch != taken || work.end_ns <= asked_ns) continue;
    tracer::HostEvent wait("sync", "wait for batch");
    wait.begin_at(asked_ns);
    wait.arg({"why", "queue"});
    wait.waits_for({&id, 1});
  }
}

}  // namespace lockstep::data
