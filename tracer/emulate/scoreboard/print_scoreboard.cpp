#include "tracer/emulate/scoreboard/print_scoreboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/csv.h"

namespace lockstep::tracer {
namespace {

/// `12.3`, or `-` for what is not known.
std::string per_cent(double share) {
  return std::isnan(share) || std::isinf(share) ? "-"
                                                : fmt::format("{:.1f}", 100 * share);
}

std::string number_or_dash(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.1f}", value);
}

std::string score_line(const std::string& name, const Score& score,
                       const Signs& signs) {
  return fmt::format("{:>4}/{:<4}{:>7}{:>7}{:>8}{:>9}{:>8}{:>7}  {}\n", score.predicted,
                     score.rows, per_cent(score.mean), per_cent(score.p95),
                     per_cent(score.coverage), per_cent(score.perfect),
                     per_cent(score.ring),
                     fmt::format("{}/{}", signs.wrong, signs.steps), name);
}

std::string families_text(const Scoreboard& board) {
  std::string text =
      fmt::format("{:>9}{:>7}{:>7}{:>8}{:>9}{:>8}{:>7}  family\n", "rows", "MAPE",
                  "P95", "covered", "perfect", "ring", "signs");
  std::vector<const RowPrediction*> all;
  for (const FamilyScore& family : family_scores(board)) {
    text += score_line(family.name, family.score, family.signs);
    // Bytes that are exact would only dilute the errors of times.
    if (family.name.starts_with("golden-bucket")) continue;
    all.insert(all.end(), family.predictions.begin(), family.predictions.end());
  }
  const Score score = score_of(all);
  return text + score_line("all", score, signs_of(all)) +
         fmt::format(
             "covered by intervals that no other machine's values widened: {} %\n",
             per_cent(score.own_coverage));
}

std::string goals_text(const Scoreboard& board) {
  std::string text = fmt::format("{:<10}{:>6}{:>8}{:>7}{:>7}{:>7}  goal\n", "", "rows",
                                 "value", "P95", "reach", "beat");
  for (const GoalScore& goal : goal_scores(board)) {
    const std::string judged = std::isnan(goal.value) ? "not judged"
                               : goal.reached()       ? "reached"
                                                      : "missed";
    text += fmt::format("{:<10}{:>6}{:>8}{:>7}{:>7}{:>7}  {}: {} ({}){}\n", goal.id,
                        goal.rows, number_or_dash(goal.value), number_or_dash(goal.p95),
                        number_or_dash(goal.reach), number_or_dash(goal.beat), judged,
                        goal.what, goal.unit,
                        goal.best_known.empty() ? "" : "; known: " + goal.best_known);
  }
  return text;
}

std::string claims_text(const Scoreboard& board) {
  std::string text;
  for (const PublishedRow& row : board.rows) {
    if (row.role != "goal") continue;
    text += fmt::format("  {}: {} % on {} ({}){}\n", row.source, row.printed, row.model,
                        row.evidence, row.notes.empty() ? "" : ": " + row.notes);
  }
  return text.empty() ? "  none in this file\n" : text;
}

std::string not_predicted_text(const Scoreboard& board) {
  std::string text;
  for (const auto& [reason, count] : reasons_not_predicted(board)) {
    text += fmt::format("{:>6}  {}\n", count, reason);
  }
  std::map<std::string, int> others;
  for (const PublishedRow& row : board.rows) {
    if (!row.scored()) ++others[row.role];
  }
  for (const auto& [role, count] : others) {
    text += fmt::format("{:>6}  not scored: role={}\n", count, role);
  }
  return text;
}

std::string described_row(const RowPrediction& p) {
  return fmt::format("row {}: {} {} on {} x {}, {}", p.row->line, p.row->model,
                     p.row->mode, p.row->devices.value_or(0), p.row->gpu,
                     p.row->precision);
}

std::string largest_text(const Scoreboard& board) {
  constexpr size_t kShown = 12;
  std::vector<const RowPrediction*> predicted;
  for (const RowPrediction& p : board.predictions) {
    if (p.is_predicted()) predicted.push_back(&p);
  }
  std::stable_sort(predicted.begin(), predicted.end(),
                   [](const auto* a, const auto* b) {
                     return std::abs(a->error()) > std::abs(b->error());
                   });
  predicted.resize(std::min(predicted.size(), kShown));
  std::string text;
  for (const RowPrediction* p : predicted) {
    text +=
        fmt::format("{:>+7.1f} %  {}: {:.4g}, predicted {:.4g} ({:.4g} to {:.4g}){}\n",
                    100 * p->error(), described_row(*p), p->row->value, p->predicted,
                    p->low, p->high, p->row->anomaly ? " ANOMALY" : "");
  }
  return text;
}

std::string protocol_text() {
  std::string text =
      "Each row is predicted from the row of the same program on one device, and from "
      "at\n"
      "most one row of several devices: another model on the same machine. Which row "
      "that\n"
      "is depends on what the rows are, not on their values. Rows marked ANOMALY are\n"
      "predicted, but neither fitted nor counted. covered: share of values inside "
      "their\n"
      "90 % interval, which is as wide as the values of all other machines ask for.\n"
      "perfect and ring: mean errors of perfect scaling, and of a ring\n"
      "whose messages nothing hides. signs: wrong ones of all steps to more "
      "devices.\n\n"
      "Costs before fitting; the standard deviation of the logarithm of each, and the "
      "part\n"
      "of it that differs between models on one machine:\n";
  for (const CostPrior& prior : cost_priors()) {
    text += fmt::format("  {:<13}{:>5.2f}{:>6.2f}  {}\n", prior.name, prior.machine,
                        prior.transfer, prior.centre);
  }
  return text;
}

Json score_json(const Score& score) {
  return {{"rows", score.rows},
          {"anomalies", score.anomalies},
          {"predicted", score.predicted},
          {"mape", score.mean},
          {"p95", score.p95},
          {"coverage", score.coverage},
          {"own_coverage", score.own_coverage},
          {"perfect", score.perfect},
          {"ring", score.ring}};
}

Json row_json(const RowPrediction& p) {
  Json row = {{"line", p.row->line},
              {"family", p.family},
              {"model", p.row->model},
              {"mode", p.row->mode},
              {"devices", p.row->devices.value_or(0)},
              {"precision", p.row->precision},
              {"metric", p.row->metric},
              {"measured", p.row->value},
              {"anomaly", p.row->anomaly}};
  if (!p.is_predicted()) {
    row["why_not"] = p.why_not;
    return row;
  }
  row.update(Json{{"predicted", p.predicted},
                  {"low", p.low},
                  {"high", p.high},
                  {"error", p.error()},
                  {"perfect", p.perfect},
                  {"ring", p.ring},
                  {"one_device_line", p.alone_line},
                  {"fitted_line", p.fit_line},
                  {"note", p.alone_note}});
  return row;
}

/// A field of the CSV file; empty if it is not known.
std::string csv_cell(double value) {
  return std::isnan(value) || std::isinf(value) ? "" : fmt::format("{:.6g}", value);
}

std::string csv_line(const RowPrediction& p) {
  const PublishedRow& row = *p.row;
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{},{},{}", row.line, csv_field(row.role),
                  csv_field(p.family), csv_field(row.model), csv_field(row.mode),
                  row.devices ? std::to_string(*row.devices) : "",
                  p.batch > 0 ? csv_cell(p.batch) : "", csv_field(row.precision),
                  csv_field(row.metric), row.anomaly ? 1 : 0, csv_cell(row.value));
  if (!p.is_predicted()) {
    return line + ",,,,,,,,,,,,,,," + csv_field(p.why_not) + '\n';
  }
  for (const double value :
       {p.predicted, p.low, p.high, 100 * p.error(), p.perfect, p.ring}) {
    line += ',' + csv_cell(value);
  }
  line += fmt::format(",{},{}", p.alone_line, p.fit_line);
  for (const double seconds : {p.parts.compute, p.parts.host, p.parts.hooks,
                               p.parts.waiting, p.parts.interference, p.parts.links}) {
    line += ',' + csv_cell(seconds * 1e3);
  }
  return line + ',' + csv_field(p.alone_note) + '\n';
}

}  // namespace

std::string scoreboard_text(const Scoreboard& board) {
  return protocol_text() + "\n" + families_text(board) + "\n" + goals_text(board) +
         "\nErrors that other systems state of themselves, on rows of their own:\n" +
         claims_text(board) + "\nRows without a prediction:\n" +
         not_predicted_text(board) + "\nThe largest errors:\n" + largest_text(board);
}

Json scoreboard_json(const Scoreboard& board) {
  Json families = Json::array(), goals = Json::array(), rows = Json::array();
  for (const FamilyScore& family : family_scores(board)) {
    Json json = score_json(family.score);
    json["family"] = family.name;
    json["steps"] = family.signs.steps;
    json["negative"] = family.signs.negative;
    json["wrong_signs"] = family.signs.wrong;
    families.push_back(std::move(json));
  }
  for (const GoalScore& goal : goal_scores(board)) {
    goals.push_back({{"id", goal.id},
                     {"what", goal.what},
                     {"unit", goal.unit},
                     {"rows", goal.rows},
                     {"value", goal.value},
                     {"p95", goal.p95},
                     {"reach", goal.reach},
                     {"beat", goal.beat},
                     {"reached", goal.reached()}});
  }
  for (const RowPrediction& p : board.predictions) rows.push_back(row_json(p));
  return {{"families", families}, {"goals", goals}, {"rows", rows}};
}

std::string scoreboard_csv(const Scoreboard& board) {
  std::string text =
      "line,role,family,model,mode,devices,batch_each,precision,metric,anomaly,"
      "measured,"
      "predicted,low,high,error_pct,perfect,ring,one_device_line,fitted_line,compute_"
      "ms,"
      "host_ms,hooks_ms,waiting_ms,interference_ms,links_ms,note\n";
  for (const RowPrediction& p : board.predictions) text += csv_line(p);
  return text;
}

std::string scoreboard_summary(const Scoreboard& board) {
  std::string text;
  for (const FamilyScore& family : family_scores(board)) {
    text += fmt::format("{} | {} of {} | {} | {} | {}\n", family.name,
                        family.score.predicted, family.score.rows,
                        per_cent(family.score.mean), per_cent(family.score.coverage),
                        family.signs.wrong);
  }
  return text;
}

}  // namespace lockstep::tracer
