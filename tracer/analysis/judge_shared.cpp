// Laws of a model in host memory that workers share (modes `hogwild` and `locked`).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracer/analysis/judge.h"
#include "tracer/analysis/shared_updates.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {
namespace {

void judge_versions(TraceUnderTest& test, const std::vector<SharedUpdate>& updates) {
  Law& law = test.law_of_ranks(
      "update-versions", "each update makes the next version, from an earlier one");
  Law& own = test.law("own-updates-read", "a worker reads its own updates");
  std::map<int64_t, int64_t> last_of;  // worker → the version that it made last
  for (size_t i = 0; i < updates.size(); ++i) {
    const SharedUpdate& update = updates[i];
    const int64_t id = update.event->id;
    const bool follows = i == 0 || update.version == updates[i - 1].version + 1;
    law.expect(follows, id, [&] {
      return fmt::format("worker {} made version {}, after version {}", update.worker,
                         update.version, updates[i - 1].version);
    });
    law.expect(update.read_version >= 0 && update.read_version < update.version, id,
               [&] {
                 return fmt::format("worker {} made version {} from version {}",
                                    update.worker, update.version, update.read_version);
               });
    law.expect(update.worker == test.lanes.of(*update.event).rank, id, [&] {
      return fmt::format("an update of worker {} is on a lane of rank {}",
                         update.worker, test.lanes.of(*update.event).rank);
    });
    const auto last = last_of.find(update.worker);
    own.expect(last == last_of.end() || last->second <= update.read_version, id, [&] {
      return fmt::format("worker {} read version {} after it had made version {}",
                         update.worker, update.read_version, last->second);
    });
    last_of[update.worker] = update.version;
  }
}

int64_t moved_for(const Step& step, std::string_view why) {
  int64_t bytes = 0;
  for (const Event* task : step.tasks) {
    if (!task->is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(*task);
    const bool to_host = why == reasons::push;
    const bool right_way = (copy.dst == kHost) == to_host;
    if (copy.why == why && right_way)
      bytes = add_within_range(bytes, copy.known_bytes());
  }
  return bytes;
}

void judge_pulls(TraceUnderTest& test) {
  Law& pulls = test.law("pull-bytes", "a worker reads the whole model: P + B");
  Law& pushes = test.law("push-bytes", "a worker's update changes it: P + B");
  const Json& model = object_arg(test.trace.lockstep, top::model);
  const int64_t whole = add_within_range(int_arg(model, top::parameter_bytes),
                                         int_arg(model, top::buffer_bytes));
  for (const Step& step : test.steps) {
    if (step.interrupted) continue;
    const auto judge = [&](Law& law, const char* why, const char* phase) {
      const int64_t due = step.train && step.has_phase(phase) ? whole : 0;
      const int64_t bytes = moved_for(step, why);
      law.expect(bytes == due, step.event->id, [&] {
        return fmt::format("step {}, worker {}: {} moved {} B, expected {} B",
                           step.number, step.rank, why, bytes, due);
      });
    };
    judge(pulls, reasons::pull, phases::pull);
    judge(pushes, reasons::push, phases::optimizer);
  }
}

/// A time in which a worker holds the lock.
struct Held {
  int64_t from = 0, to = 0;
  const Event* event = nullptr;  ///< with which it ends
};

/// Returns the times, sorted. `whole_step`: from reading the weights to updating them.
std::vector<Held> find_held(const TraceUnderTest& test, bool whole_step) {
  std::vector<Held> held;
  LaneMap<int64_t> read_at;  // step and rank → when it read
  for (const Event& event : test.trace.events) {
    if (!event.is(categories::op)) continue;
    const bool reads = event.name == names::read_shared;
    if (!reads && event.name != names::update_shared) continue;
    int64_t& read = read_at[{event.step, test.lanes.of(event).rank}];
    if (reads) read = event.ts;
    if (reads && whole_step) continue;
    held.push_back({whole_step && read > 0 ? read : event.ts, event.end(), &event});
  }
  std::sort(held.begin(), held.end(),
            [](const Held& a, const Held& b) { return a.from < b.from; });
  return held;
}

void judge_lock(TraceUnderTest& test, const std::vector<SharedUpdate>& updates) {
  Law& alone = test.law("lock-exclusive", "one worker at a time holds the lock");
  const auto keeps = [](const Step& step) {
    return string_arg(step.event->args, keys::lock) == "step";
  };
  const bool whole_step = std::any_of(test.steps.begin(), test.steps.end(), keeps);
  const std::vector<Held> held = find_held(test, whole_step);
  for (size_t i = 0; i < held.size(); ++i) {
    alone.expect(i == 0 || held[i - 1].to <= held[i].from, held[i].event->id, [&] {
      return fmt::format(
          "rank {} gets the lock at {} µs, but rank {} holds it to {} µs",
          test.lanes.of(*held[i].event).rank, format_microseconds(held[i].from),
          test.lanes.of(*held[i - 1].event).rank, format_microseconds(held[i - 1].to));
    });
  }
  Law& lost = test.law("lock-loses-nothing", "under the lock no update is lost");
  Law& fresh =
      test.law("lock-staleness", "a lock for the whole step lets none be stale");
  for (const SharedUpdate& update : updates) {
    lost.expect(update.lost == kNone || update.lost == 0, update.event->id, [&] {
      return fmt::format("version {} overwrote {} elements", update.version,
                         update.lost);
    });
    if (!whole_step) continue;
    fresh.expect(update.staleness() == 0, update.event->id, [&] {
      return fmt::format("worker {} made version {} from version {}", update.worker,
                         update.version, update.read_version);
    });
  }
}

}  // namespace

void judge_shared(TraceUnderTest& test) {
  const std::string mode = string_arg(test.trace.lockstep, top::mode);
  if (mode != "hogwild" && mode != "locked") return;
  const std::vector<SharedUpdate> updates = find_shared_updates(test.trace);
  judge_versions(test, updates);
  judge_pulls(test);
  if (mode == "locked") judge_lock(test, updates);
}

}  // namespace lockstep::tracer
