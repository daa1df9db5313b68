// Orders events by time, by id, and as a tree.
#include <algorithm>
#include <numeric>
#include <utility>

#include "gui/model/raw_model.h"

namespace lockstep::gui {

namespace {

/// Sorts a list that is nearly sorted, as traces usually are. Returns false if the list
/// is too far from sorted.
template <typename Less>
bool sort_nearly_sorted(std::vector<uint32_t>& list, Less less) {
  size_t moves = 0;
  for (size_t i = 1; i < list.size(); ++i) {
    const uint32_t entry = list[i];
    size_t to = i;
    for (; to > 0 && less(entry, list[to - 1]); --to) list[to] = list[to - 1];
    list[to] = entry;
    moves += i - to;
    if (moves > 2 * list.size()) return false;
  }
  return true;
}

/// Moves the element at from[i] to place i without a second list.
template <typename List>
void reorder(List& list, std::vector<uint32_t> from) {
  for (uint32_t i = 0; i < from.size(); ++i) {
    if (from[i] == i) continue;
    const auto held = list[i];
    uint32_t at = i;
    while (from[at] != i) {
      list[at] = list[from[at]];
      at = std::exchange(from[at], at);
    }
    list[at] = held;
    from[at] = at;
  }
}

/// Sorts the events by time and returns the new index of each event of the file.
std::vector<uint32_t> sort_by_time(RawModel& raw) {
  const std::vector<Event>& events = raw.model.events;
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return comes_before(events[a], events[b]);
  };
  std::vector<uint32_t> from(events.size());
  std::iota(from.begin(), from.end(), 0);
  if (!sort_nearly_sorted(from, earlier)) {
    std::iota(from.begin(), from.end(), 0);  // equal events stay in file order
    std::stable_sort(from.begin(), from.end(), earlier);
  }
  reorder(raw.model.events, from);
  reorder(raw.references, from);
  std::vector<uint32_t> to(from.size());
  for (uint32_t i = 0; i < from.size(); ++i) to[from[i]] = i;
  return to;
}

/// Updates and sorts a list that refers to events by index.
template <typename List>
void follow(const std::vector<uint32_t>& to, List& list) {
  for (auto& entry : list) entry.event = to[entry.event];
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.event < b.event; });
}

}  // namespace

void sort_events(RawModel& raw) {
  if (!raw.sorted) {
    const std::vector<uint32_t> to = sort_by_time(raw);
    follow(to, raw.copies);
    follow(to, raw.collectives);
    follow(to, raw.queued);
    follow(to, raw.steps);
    follow(to, raw.profiler_steps);
    follow(to, raw.launches);
    follow(to, raw.launched);
  }
  std::vector<Event>& events = raw.model.events;
  const int64_t first = events.front().ts;
  for (Event& event : events) {
    event.ts -= first;
    event.dur = std::min<int64_t>(event.dur, kMaxSpan - event.ts);
    raw.model.length = std::max(raw.model.length, event.end());
  }
  raw.model.length = std::max<int64_t>(1, raw.model.length);
  for (RawCounter& counter : raw.counters) counter.ts -= first;
}

void index_ids(RawModel& raw) {
  Model& model = raw.model;
  uint32_t highest = 0;
  size_t count = 0, twice = 0;
  for (const RawReference& reference : raw.references) {
    if (reference.id == kNoId) continue;
    highest = std::max(highest, reference.id);
    ++count;
  }
  if (count == 0) return;
  if (highest <= 4 * count + 1024) {
    model.dense_ids.assign(size_t{highest} + 1, kNoEvent);
    for (uint32_t i = 0; i < raw.references.size(); ++i) {
      const uint32_t id = raw.references[i].id;
      if (id == kNoId) continue;
      if (model.dense_ids[id] != kNoEvent)
        ++twice;
      else
        model.dense_ids[id] = i;
    }
  } else {
    model.sparse_ids.reserve(count);
    for (uint32_t i = 0; i < raw.references.size(); ++i) {
      if (raw.references[i].id != kNoId) {
        model.sparse_ids.emplace_back(raw.references[i].id, i);
      }
    }
    std::sort(model.sparse_ids.begin(), model.sparse_ids.end());
    for (size_t i = 1; i < model.sparse_ids.size(); ++i) {
      twice += model.sparse_ids[i].first == model.sparse_ids[i - 1].first;
    }
  }
  if (twice > 0) {
    model.problems.push_back(std::to_string(twice) +
                             " ids occur more than once; links lead to the first");
  }
}

namespace {

/// PyTorch's profiler: sets a kernel's caller to the launch with the same correlation.
void link_launches(RawModel& raw) {
  std::vector<Event>& events = raw.model.events;
  const auto by_correlation = [](const RawLaunch& a, const RawLaunch& b) {
    return a.correlation < b.correlation;
  };
  std::stable_sort(raw.launches.begin(), raw.launches.end(), by_correlation);
  for (const RawLaunch& kernel : raw.launched) {
    const auto launch = std::lower_bound(raw.launches.begin(), raw.launches.end(),
                                         kernel, by_correlation);
    if (launch == raw.launches.end() || launch->correlation != kernel.correlation ||
        launch->event >= kernel.event || raw.references[kernel.event].cause != kNoId) {
      continue;
    }
    events[kernel.event].parent = launch->event;
  }
}

}  // namespace

/// A collective's messages run inside it and name the same op; they are its children.
static bool is_message(const std::vector<Event>& events,
                       const std::vector<uint32_t>& around, uint32_t cause) {
  if (around.empty()) return false;
  const Event& nearest = events[around.back()];
  return nearest.what() == Kind::collective && nearest.parent == cause;
}

/// Fills `latest` if it is needed.
static void note_overlaps(const Model& model, Lane& lane) {
  if (lane.is_host()) return;
  std::vector<int64_t> latest;
  bool overlaps = false;
  for (const uint32_t index : lane.events) {
    const Event& event = model.events[index];
    const int64_t before = latest.empty() ? INT64_MIN : latest.back();
    overlaps |= event.dur > 0 && event.ts < before;
    latest.push_back(event.is_task() ? std::max(before, event.end()) : before);
  }
  if (overlaps) lane.latest = std::move(latest);
}

/// Fills the lanes, and determines the row and the parent of each event.
void nest_events(RawModel& raw) {
  Model& model = raw.model;
  std::vector<Event>& events = model.events;
  std::vector<std::vector<uint32_t>> open(model.lanes.size());
  for (uint32_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    std::vector<uint32_t>& stack = open[event.lane];
    // A mark at the exact end of an event still belongs to it.
    const auto is_over = [&](const Event& before) {
      if (before.dur == 0 || event.dur > 0) return before.end() <= event.ts;
      return before.end() < event.ts;
    };
    while (!stack.empty() && is_over(events[stack.back()])) stack.pop_back();
    event.row = static_cast<uint32_t>(std::min<size_t>(stack.size(), kMaxRow));
    if (!stack.empty()) event.parent = stack.back();
    if (raw.references[i].cause != kNoId) {
      const uint32_t cause = model.event_of_id(raw.references[i].cause);
      if (cause < i && !is_message(events, stack, cause)) event.parent = cause;
    }
    Lane& lane = model.lanes[event.lane];
    lane.events.push_back(i);
    if (event.what() == Kind::mark) continue;
    lane.rows = std::max(lane.rows, static_cast<int>(event.row) + 1);
    stack.push_back(i);
  }
  link_launches(raw);
  for (Lane& lane : model.lanes) note_overlaps(model, lane);
}

/// Places each event before those it caused. A parent precedes its children in time, so
/// one backward pass counts the events that each caused, and one forward pass assigns
/// their places. Each rank runs one program; the programs are concatenated.
void order_program(Model& model) {
  std::vector<Event>& events = model.events;
  for (Event& event : events) event.last = 1;
  for (size_t i = events.size(); i-- > 0;) {
    if (events[i].parent != kNoEvent) events[events[i].parent].last += events[i].last;
  }
  std::vector<uint32_t>& next = model.program;  // borrowed: place of the next child
  next.resize(events.size());
  std::vector<uint32_t>& next_root = model.rank_places;  // also borrowed
  next_root.assign(static_cast<size_t>(model.ranks()) + 1, 0);
  const auto rank_of = [&](const Event& event) { return model.lanes[event.lane].rank; };
  for (const Event& event : events) {
    if (event.parent == kNoEvent) next_root[rank_of(event) + 1] += event.last;
  }
  std::partial_sum(next_root.begin(), next_root.end(), next_root.begin());
  for (uint32_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    uint32_t& place =
        event.parent == kNoEvent ? next_root[rank_of(event)] : next[event.parent];
    event.order = place;
    place += event.last;
    event.last += event.order;
    next[i] = event.order + 1;
  }
  // At this point, each rank's next place is where the following rank begins.
  std::rotate(next_root.begin(), next_root.end() - 1, next_root.end());
  next_root.front() = 0;
  for (uint32_t i = 0; i < events.size(); ++i) {
    next[events[i].order] = i;
    const Kind kind = events[i].what();
    if (kind == Kind::copy || kind == Kind::collective) {
      model.movements.push_back(events[i].order);
    } else if (kind == Kind::phase || kind == Kind::step) {
      model.phase_places.push_back(events[i].order);
    }
  }
  for (std::vector<uint32_t>* places : {&model.movements, &model.phase_places}) {
    std::sort(places->begin(), places->end());
    places->shrink_to_fit();
  }
}

}  // namespace lockstep::gui
