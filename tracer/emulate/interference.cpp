#include "tracer/emulate/interference.h"

#include <algorithm>
#include <cmath>

#include "tracer/format/facts.h"

namespace lockstep::tracer {

int64_t Interference::end_of(size_t moment, int64_t start, int64_t duration,
                             int64_t now) const {
  if (lost_ == 0 || !TimingGraph::is_end(moment)) return now;
  const auto at_start = busy_at_start_.find(TimingGraph::event_of(moment));
  if (at_start == busy_at_start_.end()) return now;
  const int64_t pid = graph_.trace().events[TimingGraph::event_of(moment)].pid;
  const int64_t busy = devices_.at(pid).busy_until(now) - at_start->second;
  const double done =
      static_cast<double>(now - start) - lost_ * static_cast<double>(busy);
  const double left = static_cast<double>(duration) - done;
  return left < 0.5 ? now : now + static_cast<int64_t>(std::ceil(left));
}

void Interference::happens(size_t moment, int64_t now) {
  if (lost_ == 0) return;
  const size_t i = TimingGraph::event_of(moment);
  const Event& event = graph_.trace().events[i];
  if (event.is(categories::collective)) {
    Device& device = devices_[event.pid];
    device.busy = device.busy_until(now);
    device.since = now;
    device.in_flight += TimingGraph::is_end(moment) ? -1 : 1;
  } else if (event.is(categories::kernel) && !TimingGraph::is_end(moment)) {
    busy_at_start_[i] = devices_[event.pid].busy_until(now);
  }
}

}  // namespace lockstep::tracer
