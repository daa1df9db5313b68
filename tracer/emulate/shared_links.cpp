#include "tracer/emulate/shared_links.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

#include "tracer/emulate/interference.h"
#include "tracer/emulate/moments.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNothing = 1e-3;  // bytes
constexpr double kInstant = 1e-2;  // ns: sums of doubles are not exact

/// The messages that are being sent.
class Traffic {
 public:
  explicit Traffic(const std::vector<Segment>& segments) : segments_(segments) {}

  double now() const { return now_; }

  void begin(double now, uint32_t event, const LinkMessage& message) {
    advance(now);
    paths_.push_back(message.path);
    flows_.push_back({event, message.bytes, 0});
    are_fair_ = false;
  }

  /// Returns when the next message ends, if no other begins; kNever if there is none.
  double next_end() {
    if (are_fair_) return next_end_;
    share();
    next_end_ = kNever;
    for (const Flow& flow : flows_) {
      next_end_ = std::min(next_end_, now_ + std::max(0.0, flow.left) / flow.rate);
    }
    return next_end_;
  }

  /// Calls `visit` for every message that is over at `now`.
  template <typename Visit>
  void end(double now, Visit visit) {
    advance(now);
    for (size_t i = 0; i < flows_.size();) {
      if (flows_[i].left > kNothing + flows_[i].rate * kInstant) {
        ++i;
        continue;
      }
      visit(flows_[i].event);
      flows_.erase(flows_.begin() + static_cast<int64_t>(i));
      paths_.erase(paths_.begin() + static_cast<int64_t>(i));
      are_fair_ = false;
    }
  }

 private:
  struct Flow {
    uint32_t event;
    double left, rate;  ///< bytes, bytes per ns
  };

  void share() {
    const std::vector<double> rates = fair_rates(paths_, segments_);
    for (size_t i = 0; i < flows_.size(); ++i) flows_[i].rate = rates[i];
    are_fair_ = true;
  }

  void advance(double now) {
    if (now <= now_) return;
    next_end();
    for (Flow& flow : flows_) flow.left -= flow.rate * (now - now_);
    now_ = now;
  }

  const std::vector<Segment>& segments_;
  std::vector<Flow> flows_;
  std::vector<const Path*> paths_;  ///< of each flow
  double now_ = -kNever;
  double next_end_ = kNever;
  bool are_fair_ = true;  ///< rates and the next end belong to the present flows
};

/// Which messages share a link depends on when they begin, so moments are taken in the
/// order of time.
class LinkScheduler {
 public:
  LinkScheduler(const TimingGraph& graph, const Weights& weights,
                const std::vector<Segment>& segments, const MessageOf& message_of)
      : graph_(graph),
        weights_(weights),
        message_of_(message_of),
        followers_(graph),
        interference_(graph, weights),
        traffic_(segments),
        messages_(graph.moments() / 2) {
    schedule_.times.resize(graph.moments());
    schedule_.decisive.resize(graph.moments());
  }

  Schedule run() {
    for (const uint32_t moment : graph_.order()) {
      if (!followers_.waits(moment)) make_ready(moment);
    }
    while (true) {
      const double ready = ready_.empty() ? kNever : ready_.top().time;
      const double begins = waiting_.empty() ? kNever : waiting_.top().time;
      const double soonest = std::min(ready, begins);
      // What happens at the same time has no effect on when a message ends.
      const double ends = soonest <= traffic_.now() ? kNever : traffic_.next_end();
      if (std::min(soonest, ends) == kNever) break;
      if (ends <= soonest) {
        traffic_.end(ends, [&](uint32_t event) { finish(event, ends); });
      } else if (begins <= ready) {
        begin_next();
      } else {
        take_next();
      }
    }
    return std::move(schedule_);
  }

 private:
  struct At {
    double time;
    uint32_t what;  ///< a moment, or the event of a message
    bool operator>(const At& other) const {
      return std::tie(time, what) > std::tie(other.time, other.what);
    }
  };
  using Queue = std::priority_queue<At, std::vector<At>, std::greater<>>;

  /// The end of a message is ready once it has been sent.
  void make_ready(uint32_t moment) {
    const size_t event = TimingGraph::event_of(moment);
    if (TimingGraph::is_end(moment) && messages_[event]) return;
    place(graph_, weights_, schedule_, moment);
    ready_.push({static_cast<double>(schedule_.times[moment]), moment});
  }

  void take_next() {
    const auto [time, moment] = ready_.top();
    ready_.pop();
    const auto event = static_cast<uint32_t>(TimingGraph::event_of(moment));
    const int64_t now = std::llround(time);
    if (const auto later = put_off(schedule_, interference_, moment, now)) {
      ready_.push({static_cast<double>(*later), moment});
      return;
    }
    interference_.happens(moment, now);
    if (!TimingGraph::is_end(moment)) {
      const Event& task = graph_.trace().events[event];
      messages_[event] = is_task(task) ? message_of_(task) : std::nullopt;
      if (messages_[event]) {
        waiting_.push({time + messages_[event]->latency_ns, event});
      }
    }
    followers_.release(moment, [this](uint32_t other) { make_ready(other); });
  }

  void begin_next() {
    const auto [time, event] = waiting_.top();
    waiting_.pop();
    traffic_.begin(time, event, *messages_[event]);
  }

  void finish(uint32_t event, double now) {
    const auto end = static_cast<uint32_t>(TimingGraph::end_of(event));
    const auto start = static_cast<uint32_t>(TimingGraph::start_of(event));
    schedule_.decisive[end] = start;
    const double time = std::min(now, static_cast<double>(2 * kMaxTime));
    schedule_.times[end] =
        std::max<int64_t>(std::llround(time), schedule_.times[start]);
    ready_.push({static_cast<double>(schedule_.times[end]), end});
  }

  const TimingGraph& graph_;
  const Weights& weights_;
  const MessageOf& message_of_;
  Followers followers_;
  Interference interference_;
  Traffic traffic_;
  std::vector<std::optional<LinkMessage>> messages_;  ///< by event
  Queue ready_, waiting_;
  Schedule schedule_;
};

}  // namespace

Schedule retime_with_links(const TimingGraph& graph, const Weights& weights,
                           const std::vector<Segment>& segments,
                           const MessageOf& message_of) {
  return LinkScheduler(graph, weights, segments, message_of).run();
}

}  // namespace lockstep::tracer
