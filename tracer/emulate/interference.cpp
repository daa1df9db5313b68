#include "tracer/emulate/interference.h"

#include <algorithm>
#include <cmath>

#include "tracer/format/facts.h"

namespace lockstep::tracer {

int64_t Interference::end_of(size_t moment, int64_t start, int64_t duration,
                             int64_t now) const {
  if (is_idle() || !TimingGraph::is_end(moment)) return now;
  const size_t event = TimingGraph::event_of(moment);
  const auto started = started_.find(event);
  if (started == started_.end()) return now;
  const Event& kernel = graph_.trace().events[event];
  const Device& device = devices_.at(kernel.pid);
  const double to_others =
      weights_.contention ? 1 - 1 / weights_.contention(kernel) : 0;
  const auto since = [now](const Stopwatch& watch, int64_t at_start) {
    return static_cast<double>(watch.until(now) - at_start);
  };
  // The speed is (1 − lost_) during collectives, times (1 − to_others) while contended.
  const double done =
      static_cast<double>(now - start) -
      lost_ * since(device.during_collectives, started->second.during_collectives) -
      to_others * since(contended_, started->second.contended) +
      lost_ * to_others * since(device.both, started->second.both);
  const double left = static_cast<double>(duration) - done;
  return left < 0.5 ? now : now + static_cast<int64_t>(std::ceil(left));
}

void Interference::happens(size_t moment, int64_t now) {
  if (is_idle()) return;
  const size_t i = TimingGraph::event_of(moment);
  const Event& event = graph_.trace().events[i];
  const bool ends = TimingGraph::is_end(moment);
  if (event.is(categories::collective)) {
    collective(devices_[event.pid], ends, now);
  } else if (event.is(categories::kernel)) {
    Device& device = devices_[event.pid];
    kernel(device, ends, now);
    if (ends) return;
    started_[i] = {device.during_collectives.until(now), contended_.until(now),
                   device.both.until(now)};
  }
}

void Interference::collective(Device& device, bool ends, int64_t now) {
  device.collectives += ends ? -1 : 1;
  device.during_collectives.set(device.collectives > 0, now);
  device.both.set(device.collectives > 0 && are_several(), now);
}

void Interference::kernel(Device& device, bool ends, int64_t now) {
  const bool were_several = are_several();
  if (!ends && device.kernels++ == 0) ++computing_;
  if (ends && --device.kernels == 0) --computing_;
  if (are_several() == were_several) return;
  contended_.set(are_several(), now);
  for (auto& [pid, other] : devices_) {
    other.both.set(other.collectives > 0 && are_several(), now);
  }
}

}  // namespace lockstep::tracer
