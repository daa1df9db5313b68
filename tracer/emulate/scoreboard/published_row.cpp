#include "tracer/emulate/scoreboard/published_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

namespace lockstep::tracer {
namespace {

constexpr std::string_view kRoleMark = "role=";

std::optional<double> csv_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc() || read.ptr != end ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

/// Reads one row of a table: the columns by name.
class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvTable::Line& line)
      : table_(table), line_(line) {}

  const std::string& text(std::string_view column) const {
    return line_.fields[table_.column(column)];
  }
  [[noreturn]] void wrong(std::string_view column, const std::string& what) const {
    throw std::runtime_error(fmt::format("{}: row {}: {} '{}' {}", table_.file,
                                         line_.number, column, text(column), what));
  }
  double number(std::string_view column) const {
    const std::optional<double> value = csv_number(text(column));
    if (!value || *value <= 0) {
      wrong(column,
            "is not a positive number; fix: correct it, or give the row a role "
            "that is not scored, such as role=context");
    }
    return *value;
  }
  std::optional<double> number_if_given(std::string_view column) const {
    if (text(column).empty()) return std::nullopt;
    return number(column);
  }

 private:
  const CsvTable& table_;
  const CsvTable::Line& line_;
};

/// The number after `key` in a text: `bucket` in `sec_bucket1MB`.
std::optional<double> number_after(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  size_t end = at + key.size();
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])))) {
    ++end;
  }
  return csv_number(text.substr(at + key.size(), end - at - key.size()));
}

void read_unit(PublishedRow& row) {
  const std::string& metric = row.metric;
  const auto unit = [&](Measure kind, double factor = 1) {
    row.unit = kind;
    row.factor = factor;
  };
  if (metric == "ms_per_iter") return unit(Measure::seconds, 1e-3);
  if (metric.starts_with("sec_per_iter")) return unit(Measure::seconds);
  if (metric == "img_per_s") return unit(Measure::images);
  if (metric == "img_per_s_per_gpu") return unit(Measure::images_each);
  if (metric == "scaling_efficiency_pct") return unit(Measure::efficiency);
  if (metric.starts_with("allreduce_bytes_bucket")) return unit(Measure::bucket_bytes);
}

Sharing sharing_of(const std::string& mode) {
  if (mode == "single") return Sharing::single;
  if (mode == "dp") return Sharing::dp;
  if (mode == "ddp") return Sharing::ddp;
  if (mode == "ps") return Sharing::server;
  if (mode == "pipeline") return Sharing::pipeline;
  const bool sums =
      mode == "horovod" || mode == "allreduce" || mode.starts_with("replicated");
  return sums ? Sharing::collective : Sharing::unknown;
}

void read_role(PublishedRow& row, const std::string& notes, const RowReader& reader) {
  if (!notes.starts_with(kRoleMark)) {
    reader.wrong("notes",
                 "does not begin with role=; fix: say what the row is for, "
                 "such as role=validate-ddp");
  }
  const size_t end = std::min(notes.find(';'), notes.size());
  row.role = notes.substr(kRoleMark.size(), end - kRoleMark.size());
  const size_t rest = notes.find_first_not_of("; ", end);
  if (rest != std::string::npos) row.notes = notes.substr(rest);
  row.anomaly = notes.find("ANOMALY") != std::string::npos;
}

void read_numbers(PublishedRow& row, const RowReader& reader) {
  if (const auto devices = reader.number_if_given("n_gpus")) {
    if (*devices != std::floor(*devices) || *devices > 1e6) {
      reader.wrong("n_gpus", "is not a number of devices; fix: write a whole number");
    }
    row.devices = static_cast<int>(*devices);
  }
  row.batch = reader.number_if_given("global_batch");
  row.value = reader.number("value") * row.factor;
}

void read_settings(PublishedRow& row) {
  auto cap = number_after(row.metric, "bucket");
  if (row.unit == Measure::bucket_bytes) cap = number_after(row.metric, "_cap");
  if (cap) row.bucket_cap = static_cast<int64_t>(*cap) << 20;
  const std::string notes = "; " + row.notes;
  row.stages = static_cast<int>(number_after(notes, "; stages=").value_or(0));
  row.micro_batches =
      static_cast<int>(number_after(notes, "; micro_batches=").value_or(0));
}

int decimals_of(const std::string& printed) {
  const size_t point = printed.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(printed.size() - point - 1);
}

/// A table prints a column with the same digits; `0.1` is 0.100 beside 0.103.
void share_decimals(std::vector<PublishedRow>& rows) {
  std::map<std::pair<std::string, std::string>, int> most;
  for (const PublishedRow& row : rows) {
    int& decimals = most[{row.source, row.metric}];
    decimals = std::max(decimals, row.decimals);
  }
  for (PublishedRow& row : rows) row.decimals = most[{row.source, row.metric}];
}

PublishedRow published_row(const CsvTable& table, const CsvTable::Line& line) {
  const RowReader reader(table, line);
  PublishedRow row;
  row.line = line.number;
  row.source = reader.text("source");
  row.model = reader.text("model");
  row.framework = reader.text("framework");
  row.mode = reader.text("mode");
  row.gpu = reader.text("gpu");
  row.interconnect = reader.text("interconnect");
  row.precision = reader.text("precision");
  row.metric = reader.text("metric");
  row.evidence = reader.text("evidence");
  row.printed = reader.text("value");
  row.decimals = decimals_of(row.printed);
  row.sharing = sharing_of(row.mode);
  read_role(row, reader.text("notes"), reader);
  read_unit(row);
  if (row.scored() || row.role == "single-baseline") {
    read_numbers(row, reader);
    read_settings(row);
  }
  return row;
}

}  // namespace

bool PublishedRow::scored() const {
  return role.starts_with("validate-") || role == "golden-bucket" ||
         role == "input-bound";
}

std::optional<double> PublishedRow::batch_each() const {
  if (!batch || !devices) return std::nullopt;
  return *batch / *devices;
}

double PublishedRow::resolution() const {
  return 0.5 * std::pow(10.0, -decimals) * factor;
}

int64_t PublishedRow::gradient_bytes() const {
  return precision.starts_with("fp16") ? 2 : 4;
}

std::string PublishedRow::repository() const {
  return source.substr(0, source.find(' '));
}

std::vector<PublishedRow> published_rows(const CsvTable& table) {
  std::vector<PublishedRow> rows;
  for (const CsvTable::Line& line : table.lines) {
    rows.push_back(published_row(table, line));
  }
  share_decimals(rows);
  return rows;
}

}  // namespace lockstep::tracer
