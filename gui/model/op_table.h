// The table of kernels, operations and transfers: how often each ran and for how long.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// All events of one name and kind.
struct OpRow {
  uint32_t name = 0;  ///< index into Model::strings
  Kind kind = Kind::kernel;
  uint32_t count = 0;
  int64_t total = 0, slowest = 0;     ///< ns
  uint32_t slowest_event = kNoEvent;  ///< the first one if several take equally long
  int64_t mean() const { return count == 0 ? 0 : total / count; }
};

enum class OpColumn : uint8_t { name, count, total, mean, slowest };

/// Returns the kernels, copies, collectives and host operations that started in
/// [from, to), in order of total time. Walks all events of that time.
std::vector<OpRow> op_table(const Model& model, int64_t from, int64_t to);
/// As above, for one step of all ranks, or for the whole trace if `step` is SIZE_MAX.
std::vector<OpRow> op_table_of_step(const Model& model, size_t step);

/// Sorts by a column: names ascending, numbers descending; `reversed`: the other way.
void sort_rows(const Model& model, std::vector<OpRow>& rows, OpColumn column,
               bool reversed);

/// Returns the next (or previous) event of a row after (or before) `from`, wrapping
/// around at the ends. Stays within one step unless `step` is SIZE_MAX, and among the
/// events that start in [begin, end).
uint32_t next_instance(const Model& model, const OpRow& row, uint32_t from,
                       bool forward, size_t step, int64_t begin = INT64_MIN,
                       int64_t end = INT64_MAX);

/// A table together with what it was computed for.
struct OpTable {
  std::vector<OpRow> rows;
  int64_t from = 0, to = 0;  ///< of a selected range; equal: of `step`
  size_t step = SIZE_MAX - 1;
  OpColumn column = OpColumn::total;
  bool reversed = false;
};

/// Returns the table as CSV with a header, times in ns (RFC 4180); tasks of null
/// devices have none.
std::string csv_of(const Model& model, const std::vector<OpRow>& rows);
/// Returns "kernel", "op", "copy" or "collective".
const char* row_kind(Kind kind);

}  // namespace lockstep::gui
