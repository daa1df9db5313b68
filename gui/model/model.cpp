#include "gui/model/model.h"

#include <algorithm>
#include <set>

#include "gui/model/details.h"

namespace lockstep::gui {

uint32_t Model::event_of_id(int64_t id) const {
  if (id < 0 || id >= UINT32_MAX) return kNoEvent;
  const auto small = static_cast<uint32_t>(id);
  if (!dense_ids.empty()) return small < dense_ids.size() ? dense_ids[small] : kNoEvent;
  const auto found = std::lower_bound(sparse_ids.begin(), sparse_ids.end(),
                                      std::pair<uint32_t, uint32_t>(small, 0));
  return found != sparse_ids.end() && found->first == small ? found->second : kNoEvent;
}

const Copy* Model::copy_of(uint32_t event) const {
  const auto found =
      std::lower_bound(copies.begin(), copies.end(), event,
                       [](const Copy& copy, uint32_t e) { return copy.event < e; });
  return found != copies.end() && found->event == event ? &*found : nullptr;
}

uint32_t Model::collective_of(uint32_t event) const {
  const auto found =
      std::lower_bound(collective_of_event.begin(), collective_of_event.end(),
                       std::pair<uint32_t, uint32_t>(event, 0));
  return found != collective_of_event.end() && found->first == event ? found->second
                                                                     : kNoEvent;
}

uint32_t Step::event_of(int rank) const {
  const auto index = static_cast<size_t>(rank);
  return rank >= 0 && index < by_rank.size() ? by_rank[index] : event;
}

size_t Model::step_at(int64_t ts, int rank) const {
  size_t step = step_at(ts);
  const auto begins = [&](size_t i) {
    const uint32_t own = steps[i].event_of(rank);
    return own == kNoEvent ? steps[i].begin : events[own].ts;
  };
  while (step + 1 < steps.size() && begins(step + 1) <= ts) ++step;
  while (step > 0 && begins(step) > ts) --step;
  return step;
}

size_t Model::step_of(const Event& event) const {
  const size_t near = step_at(event.ts);
  if (event.step == kNoStep) return near;
  for (const size_t step : {near, near + 1, near - 1}) {
    if (step < steps.size() && steps[step].number == event.step) return step;
  }
  return near;
}

size_t Model::step_at(int64_t ts) const {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), ts,
                       [](int64_t t, const Step& step) { return t < step.begin; });
  return after == steps.begin() ? 0 : static_cast<size_t>(after - steps.begin()) - 1;
}

std::string Model::meta_text(const char* key) const {
  const tracer::Json& all = meta_of(*this);
  const auto found = all.find(key);
  return found != all.end() && found->is_string() ? found->get<std::string>() : "";
}

bool Model::has_device_times() const {
  return !is_measured() ||
         std::none_of(devices.begin(), devices.end(), [](const Device& device) {
           return device.name.starts_with("null");
         });
}

int Model::servers() const {
  if (steps.empty() || steps[0].by_rank.empty() || meta_text(top::mode) != "ps") {
    return 0;
  }
  int servers = 0;
  for (int rank = 0, all = ranks(); rank < all; ++rank) {
    servers += std::all_of(steps.begin(), steps.end(), [rank](const Step& step) {
      return step.event_of(rank) == kNoEvent;
    });
  }
  return servers;
}

int Model::ranks() const {
  int most = 0;
  for (const Lane& lane : lanes) most = std::max(most, lane.rank);
  return most + 1;
}

int Model::ranks_recorded() const {
  if (!represented.empty()) return all_represented;
  std::set<int> recorded;
  for (const Lane& lane : lanes) {
    if (!lane.events.empty()) recorded.insert(lane.rank);
  }
  return static_cast<int>(recorded.size());
}

size_t resident_bytes(const Model& model) {
  const auto bytes = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  size_t total = bytes(model.events) + bytes(model.program) + bytes(model.copies) +
                 bytes(model.movements) + bytes(model.phase_places) +
                 bytes(model.dense_ids) + bytes(model.sparse_ids) +
                 bytes(model.collective_of_event);
  for (const Collective& c : model.collectives)
    total += bytes(c.events) + bytes(c.copies);
  for (const Lane& lane : model.lanes)
    total += sizeof(Lane) + bytes(lane.events) + bytes(lane.latest);
  for (const Device& device : model.devices)
    total += bytes(device.memory) + bytes(device.changes) + bytes(device.sums);
  for (const Port& port : model.ports) total += bytes(port.points);
  return total;
}

}  // namespace lockstep::gui
