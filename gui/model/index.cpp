// Converts events in file order, linked by the ids in the file, to a Model. The last
// stage is here, too: it matches collectives across ranks. Events with the same group
// and sequence number form one collective, and copies with the same group and number
// are its messages.
#include <algorithm>
#include <map>

#include "gui/model/raw_model.h"

namespace lockstep::gui {

Model index_model(RawModel raw) {
  sort_events(raw);
  index_ids(raw);
  index_lanes(raw);
  nest_events(raw);
  index_steps(raw);
  order_program(raw.model);
  index_copies(raw);
  index_memory(raw);
  index_collectives(raw);
  return std::move(raw.model);
}

namespace {

using GroupAndSeq = std::pair<uint32_t, int64_t>;

constexpr int64_t kLastRound = INT16_MAX;

}  // namespace

void index_collectives(RawModel& raw) {
  Model& model = raw.model;
  std::map<GroupAndSeq, uint32_t> known;
  for (const RawCollective& part : raw.collectives) {
    auto index = static_cast<uint32_t>(model.collectives.size());
    if (part.seq >= 0)
      index = known.emplace(GroupAndSeq{part.group, part.seq}, index).first->second;
    if (index == model.collectives.size()) model.collectives.emplace_back();
    model.collectives[index].events.push_back(part.event);
    model.collective_of_event.emplace_back(part.event, index);
  }
  for (size_t i = 0; i < raw.copies.size(); ++i) {
    const RawCopy& message = raw.copies[i];
    const auto found = known.find({message.group, message.seq});
    if (message.seq < 0 || message.ring_step < 0 || found == known.end()) continue;
    Copy& copy = model.copies[i];
    copy.collective = found->second;
    copy.round = static_cast<int16_t>(std::min(message.ring_step, kLastRound));
    model.collectives[found->second].copies.push_back(static_cast<uint32_t>(i));
  }
  for (Collective& collective : model.collectives) {
    std::stable_sort(collective.copies.begin(), collective.copies.end(),
                     [&](uint32_t a, uint32_t b) {
                       return model.copies[a].round < model.copies[b].round;
                     });
  }
}

}  // namespace lockstep::gui
