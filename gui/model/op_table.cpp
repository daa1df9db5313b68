#include "gui/model/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/csv.h"

namespace lockstep::gui {

namespace {

bool is_listed(const Event& event) {
  return event.is_task() || event.what() == Kind::op;
}

uint64_t key_of_row(uint32_t name, Kind kind) {
  return uint64_t{name} << 8 | static_cast<uint64_t>(kind);
}

class RowCollector {
 public:
  void add(const Event& event, uint32_t index) {
    const auto [place, fresh] =
        places_.try_emplace(key_of_row(event.name, event.what()), rows_.size());
    if (fresh) rows_.push_back({event.name, event.what(), 0, 0, -1, kNoEvent});
    OpRow& row = rows_[place->second];
    ++row.count;
    row.total += event.dur;
    if (event.dur <= row.slowest) return;
    row.slowest = event.dur;
    row.slowest_event = index;
  }

  std::vector<OpRow> rows() && { return std::move(rows_); }

 private:
  std::vector<OpRow> rows_;
  std::unordered_map<uint64_t, size_t> places_;
};

bool belongs_to(const Model& model, const Event& event, size_t step) {
  return step == SIZE_MAX || model.step_of(event) == step;
}

}  // namespace

const char* row_kind(Kind kind) {
  return kind == Kind::kernel ? "kernel"
         : kind == Kind::copy ? "copy"
         : kind == Kind::op   ? "op"
                              : "collective";
}

namespace {

/// Returns the rows of the events that start in [from, to) and belong to a step.
std::vector<OpRow> table_between(const Model& model, int64_t from, int64_t to,
                                 size_t step) {
  const auto before = [](const Event& e, int64_t t) { return e.ts < t; };
  const auto& events = model.events;
  RowCollector collector;
  auto at = std::lower_bound(events.begin(), events.end(), from, before);
  for (; at != events.end() && at->ts < to; ++at) {
    if (!is_listed(*at) || !belongs_to(model, *at, step)) continue;
    collector.add(*at, static_cast<uint32_t>(at - events.begin()));
  }
  std::vector<OpRow> rows = std::move(collector).rows();
  sort_rows(model, rows, OpColumn::total, false);
  return rows;
}

}  // namespace

std::vector<OpRow> op_table(const Model& model, int64_t from, int64_t to) {
  return table_between(model, from, to, SIZE_MAX);
}

std::vector<OpRow> op_table_of_step(const Model& model, size_t step) {
  if (step == SIZE_MAX) return op_table(model, INT64_MIN, INT64_MAX);
  int64_t from = model.steps[step].begin, to = model.steps[step].end;
  for (const uint32_t of_rank : model.steps[step].by_rank) {
    if (of_rank == kNoEvent) continue;
    from = std::min<int64_t>(from, model.events[of_rank].ts);
    to = std::max<int64_t>(to, model.events[of_rank].end());
  }
  return table_between(model, from, to + 1, step);
}

void sort_rows(const Model& model, std::vector<OpRow>& rows, OpColumn column,
               bool reversed) {
  const auto value = [&](const OpRow& row) -> int64_t {
    switch (column) {
      case OpColumn::count:
        return row.count;
      case OpColumn::mean:
        return row.mean();
      case OpColumn::slowest:
        return row.slowest;
      default:
        return row.total;
    }
  };
  const auto precedes = [&](const OpRow& a, const OpRow& b) {
    const std::string &x = model.strings[a.name], &y = model.strings[b.name];
    if (column == OpColumn::name) return x != y ? x < y : a.kind < b.kind;
    if (value(a) != value(b)) return value(a) > value(b);
    return x != y ? x < y : a.kind < b.kind;
  };
  std::sort(rows.begin(), rows.end(), [&](const OpRow& a, const OpRow& b) {
    return reversed ? precedes(b, a) : precedes(a, b);
  });
}

uint32_t next_instance(const Model& model, const OpRow& row, uint32_t from,
                       bool forward, size_t step, int64_t begin, int64_t end) {
  const auto count = static_cast<int64_t>(model.events.size());
  for (int64_t i = 1; i <= count; ++i) {
    const int64_t at = ((int64_t{from} + (forward ? i : -i)) % count + count) % count;
    const Event& event = model.events[at];
    if (event.name == row.name && event.what() == row.kind && event.ts >= begin &&
        event.ts < end && belongs_to(model, event, step)) {
      return static_cast<uint32_t>(at);
    }
  }
  return kNoEvent;
}

std::string csv_of(const Model& model, const std::vector<OpRow>& rows) {
  std::string csv = "name,kind,count,total_ns,mean_ns,slowest_ns\n";
  const bool timed = model.has_device_times();
  for (const OpRow& row : rows) {
    csv += fmt::format("{},{},{},", csv_field(model.strings[row.name]),
                       row_kind(row.kind), row.count);
    const bool on_device = row.kind != Kind::op;
    csv += !timed && on_device
               ? ",,\n"
               : fmt::format("{},{},{}\n", row.total, row.mean(), row.slowest);
  }
  return csv;
}

}  // namespace lockstep::gui
