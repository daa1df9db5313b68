// The laws of parameter servers: what moves between workers and servers, in which order
// versions are made, and how far workers may be apart. N workers, on devices 0 to N −
// 1; K servers on the devices after them, each with a contiguous range of the keys.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/plan/key_ranges.h"
#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

/// A push, a pull or an update, as a phase states it.
struct Request {
  const Event* event;
  int64_t worker, server;
};

/// One direction between a worker and a server, in one step.
struct Way {
  int64_t step, worker, server;
  auto operator<=>(const Way&) const = default;
};

class ServerJudge {
 public:
  explicit ServerJudge(TraceUnderTest& test) : test_(test) {
    for (const Step& step : test.steps) {
      if (step.interrupted) skipped_.insert(step.number);
      if (step.train) trained_.insert(step.number);
      servers_ = std::max(servers_, int_arg(step.event->args, keys::servers));
      if (text_arg(step.event->args, keys::consistency) == "ssp") {
        bound_ = int_arg(step.event->args, keys::staleness, kNone);
      }
    }
    const auto devices = test.trace.lockstep.find(top::devices);
    if (devices != test.trace.lockstep.end() && devices->is_array()) {
      workers_ = static_cast<int64_t>(devices->size()) - servers_;
    }
    find_requests();
  }

  /// Without servers and workers, no other law can be judged.
  bool judge_facts() {
    Law& law =
        test_.law_of_ranks("servers", "a step names its servers, whose devices follow");
    law.expect(servers_ > 0 && workers_ > 0, kNone, [&] {
      return fmt::format("{} servers and {} workers", servers_, workers_);
    });
    return servers_ > 0 && workers_ > 0;
  }

  void judge_bytes() {
    judge_bytes("push-bytes", "a push moves the server's keys, once", reasons::push,
                pushes_);
    judge_bytes("pull-bytes", "a pull moves the server's keys, once", reasons::pull,
                pulls_);
    Law& all = test_.law_of_ranks("all-servers",
                                  "a step pushes to, or pulls from, every server");
    for (const auto* requests : {&pushes_, &pulls_}) {
      std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> met;
      std::map<std::pair<int64_t, int64_t>, const Event*> last;
      for (const Request& request : *requests) {
        const std::pair key(request.event->step, request.worker);
        met[key].insert(request.server);
        last[key] = request.event;
      }
      for (const auto& [key, found] : met) {
        law_of_all(all, key, static_cast<int64_t>(found.size()), *last[key]);
      }
    }
  }

  void judge_versions() {
    Law& order =
        test_.law_of_ranks("version-order", "each update of a server adds one version");
    Law& read =
        test_.law_of_ranks("read-version", "a gradient is for the weights pulled last");
    // So the staleness of a worker's updates adds up to at most the number of updates
    // that others made between its first one and its last one: a mean of N − 1, for N
    // workers, in the long run.
    Law& own = test_.law_of_ranks("own-updates-read", "a worker pulls its own updates");
    std::map<int64_t, int64_t> versions;
    std::map<std::pair<int64_t, int64_t>, int64_t> last_of;  // server, worker
    for (const Request& update : updates_) {
      const int64_t version = int_arg(update.event->args, keys::version);
      const int64_t read_version = int_arg(update.event->args, keys::read_version);
      const auto [before, is_first] = versions.try_emplace(update.server, version - 1);
      order.expect(version == before->second + 1 && read_version < version,
                   update.event->id, [&, before = before->second] {
                     return fmt::format(
                         "server {}: version {}, computed for version {}, follows "
                         "version {}",
                         update.server, version, read_version, before);
                   });
      before->second = version;
      int64_t& last = last_of[{update.server, update.worker}];
      own.expect(last <= read_version, update.event->id, [&] {
        return fmt::format(
            "worker {} pushes a gradient for version {} of server {}, after it made "
            "version {}",
            update.worker, read_version, update.server, last);
      });
      last = version;
    }
    std::map<std::pair<int64_t, int64_t>, int64_t> pulled;
    size_t next = 0;
    for (const Request& push : pushes_) {
      for (; next < pulls_.size() && pulls_[next].event->ts <= push.event->ts; ++next) {
        pulled[{pulls_[next].worker, pulls_[next].server}] =
            int_arg(pulls_[next].event->args, keys::read_version);
      }
      const auto found = pulled.find({push.worker, push.server});
      if (found == pulled.end()) continue;
      const int64_t version = int_arg(push.event->args, keys::read_version);
      read.expect(version == found->second, push.event->id, [&] {
        return fmt::format(
            "worker {} pushes a gradient for version {} to server {}, but pulled "
            "version {}",
            push.worker, version, push.server, found->second);
      });
    }
  }

  /// The pull with which a worker begins its p-th step must not end before every worker
  /// has pushed in its step p − s − 1, counted from the first that was recorded.
  void judge_bound() {
    Law& law = test_.law_of_ranks("ssp-bound", "no worker is more than s steps ahead");
    if (bound_ == kNone) return;
    std::map<Way, std::vector<const Event*>> pulls, pushes;  // step is not used
    for (const Request& pull : pulls_) {
      if (!trained_.contains(pull.event->step)) continue;
      pulls[{0, pull.worker, pull.server}].push_back(pull.event);
    }
    for (const Request& push : pushes_) {
      const Way way{0, push.worker, push.server};
      if (pulls.contains(way) && pulls[way][0]->ts <= push.event->ts) {
        pushes[way].push_back(push.event);
      }
    }
    for (const auto& [way, begun] : pulls) {
      for (size_t p = static_cast<size_t>(bound_) + 1; p < begun.size(); ++p) {
        for (int64_t other = 0; other < workers_; ++other) {
          const auto& done = pushes[{0, other, way.server}];
          const size_t due = p - static_cast<size_t>(bound_) - 1;
          if (due >= done.size()) continue;  // it has stopped
          law.expect(done[due]->end() <= begun[p]->end(), begun[p]->id, [&] {
            return fmt::format(
                "worker {} begins step {} before worker {} has pushed in step {}: more "
                "than {} ahead",
                way.worker, begun[p]->step, other, done[due]->step, bound_);
          });
        }
      }
    }
  }

  /// The next kernel of a server after a pull waits for it, even if it would have found
  /// the pull complete.
  void judge_overwriting() {
    Law& law =
        test_.law_of_ranks("pull-before-update",
                           "no update of a server runs while its weights are pulled");
    std::map<int64_t, std::vector<const Event*>> kernels;  // by server
    std::set<int64_t> awaited;                             // copies, by a kernel there
    for (const Event& event : test_.trace.events) {
      if (event.ph != 'X' || !event.is(categories::kernel)) continue;
      const int64_t server = test_.lanes.of(event).device - workers_;
      if (server < 0 || server >= servers_) continue;
      kernels[server].push_back(&event);
      awaited.insert(event.deps.begin(), event.deps.end());
    }
    std::map<int64_t, int64_t> newest;  // server → version
    for (const Request& update : updates_) {
      int64_t& version = newest[update.server];
      version = std::max(version, int_arg(update.event->args, keys::version));
    }
    for (const Request& pull : pulls_) {
      const Way way{pull.event->step, pull.worker, pull.server};
      const auto copy = pull_copies_.find(way);
      if (copy == pull_copies_.end()) continue;
      const auto send = sends_.find(copy_facts(*copy->second).seq);
      // A process has read its weights when its send ends; they may arrive later.
      const Event& reads = send == sends_.end() ? *copy->second : *send->second;
      judge_meanwhile(law, way, reads, kernels[pull.server]);
      const int64_t version = int_arg(pull.event->args, keys::read_version);
      if (newest[pull.server] <= version) continue;  // it was not replaced
      const bool waits =
          awaited.contains(copy->second->id) || awaited.contains(reads.id);
      law.expect(waits, copy->second->id, [&] {
        return fmt::format(
            "step {}: no update of server {} waits until worker {} has pulled version "
            "{}",
            way.step, way.server, way.worker, version);
      });
    }
  }

 private:
  /// `kernels` of a server, by their starts; they run one at a time.
  static void judge_meanwhile(Law& law, const Way& way, const Event& reads,
                              const std::vector<const Event*>& kernels) {
    const auto next = std::partition_point(
        kernels.begin(), kernels.end(),
        [&](const Event* kernel) { return kernel->end() <= reads.ts; });
    const bool meets = next != kernels.end() && (*next)->ts < reads.end();
    law.expect(!meets, reads.id, [&] {
      return fmt::format("step {}: {} #{} runs while worker {} pulls from server {}",
                         way.step, name_of(**next), (*next)->id, way.worker,
                         way.server);
    });
  }

  void find_requests() {
    for (const Event& event : test_.trace.events) {
      if (event.ph != 'X' || skipped_.contains(event.step)) continue;
      if (event.is(categories::copy)) take_copy(event);
      if (event.is(categories::collective)) take_send(event);
      if (!event.is(categories::phase) || !event.args.contains(keys::server)) continue;
      const Request request{&event, int_arg(event.args, keys::worker),
                            int_arg(event.args, keys::server)};
      if (event.name == phases::push) pushes_.push_back(request);
      if (event.name == phases::pull) pulls_.push_back(request);
      if (event.name == phases::optimizer) updates_.push_back(request);
    }
  }

  /// Servers that are processes send weights as messages, which have numbers.
  void take_send(const Event& event) {
    if (event.name != categories::send) return;
    const CollectiveFacts facts = collective_facts(event);
    if (facts.why == reasons::pull) sends_[facts.seq] = &event;
  }

  void take_copy(const Event& event) {
    const CopyFacts copy = copy_facts(event);
    const bool push = copy.why == reasons::push && copy.tensor == "gradients";
    if (!push && copy.why != reasons::pull) return;
    const Way way{event.step, push ? copy.src : copy.dst,
                  (push ? copy.dst : copy.src) - workers_};
    auto& [bytes, last] = moved_[push ? reasons::push : reasons::pull][way];
    bytes = add_within_range(bytes, copy.known_bytes());
    last = event.id;
    if (!push) pull_copies_[way] = &event;
    if (copy.dtype == "float64") item_ = 8;
  }

  void judge_bytes(const char* name, const char* meaning, const char* why,
                   const std::vector<Request>& requests) {
    Law& law = test_.law_of_ranks(name, meaning);
    const Json& model = object_arg(test_.trace.lockstep, top::model);
    const auto ranges = plan::key_ranges(int_arg(model, top::parameter_bytes) / item_,
                                         static_cast<int>(servers_));
    struct Sum {
      int64_t bytes = 0, wanted = 0, event = kNone;
    };
    std::map<Way, Sum> sums;
    for (const auto& [way, moved] : moved_[why]) {
      sums[way] = {moved.first, 0, moved.second};
    }
    for (const Request& request : requests) {
      Sum& sum = sums[{request.event->step, request.worker, request.server}];
      const bool exists = request.server >= 0 && request.server < servers_;
      sum.wanted += exists ? ranges[request.server].size() * item_ : -1;
      if (sum.event == kNone) sum.event = request.event->id;
    }
    for (const auto& [way, sum] : sums) {
      law.expect(sum.bytes == sum.wanted, sum.event, [&] {
        return fmt::format(
            "step {}: {} of worker {} and server {} moved {} B, "
            "expected {} B",
            way.step, why, way.worker, way.server, sum.bytes, sum.wanted);
      });
    }
  }

  void law_of_all(Law& law, const std::pair<int64_t, int64_t>& key, int64_t found,
                  const Event& event) {
    law.expect(found == servers_, event.id, [&] {
      return fmt::format("step {}: worker {} has a {} with {} of {} servers", key.first,
                         key.second, event.name.view(), found, servers_);
    });
  }

  TraceUnderTest& test_;
  int64_t servers_ = 0, workers_ = 0, bound_ = kNone, item_ = 4;
  std::set<int64_t> skipped_, trained_;
  std::vector<Request> pushes_, pulls_, updates_;
  std::map<Way, const Event*> pull_copies_;
  std::map<int64_t, const Event*> sends_;  ///< of weights, by number
  std::map<std::string_view, std::map<Way, std::pair<int64_t, int64_t>>> moved_;
};

}  // namespace

void judge_ps(TraceUnderTest& test) {
  if (string_arg(test.trace.lockstep, top::mode) != "ps") return;
  ServerJudge judge(test);
  if (!judge.judge_facts()) return;
  judge.judge_bytes();
  judge.judge_versions();
  judge.judge_bound();
  judge.judge_overwriting();
}

}  // namespace lockstep::tracer
