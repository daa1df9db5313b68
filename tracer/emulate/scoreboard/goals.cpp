// The goals that were set before any row was predicted, and what is reached of each.
#include <algorithm>
#include <cmath>
#include <map>

#include "tracer/emulate/scoreboard/scores.h"

namespace lockstep::tracer {
namespace {

using Chosen = std::function<bool(const RowPrediction&)>;

/// Chooses rows and judges them.
class GoalJudge {
 public:
  explicit GoalJudge(const Scoreboard& board) : board_(board) {
    for (const PublishedRow& row : board.rows) rows_[row.line] = &row;
  }

  /// The mean error of the chosen rows, in per cent.
  void mean_error(GoalScore goal, const Chosen& chosen, bool described = false) {
    const Score score = score_of(choose(chosen));
    goal.unit = "% MAPE";
    goal.rows = score.predicted;
    goal.value = 100 * (described ? score.described : score.mean);
    if (!described) goal.p95 = 100 * score.p95;
    goals_.push_back(goal);
  }

  /// The mean of a difference, in points; NaN is left out.
  void points(GoalScore goal, const Chosen& chosen,
              const std::function<double(const RowPrediction&)>& difference) {
    double sum = 0;
    for (const RowPrediction* p : choose(chosen)) {
      const double points = std::abs(difference(*p)) * 100;
      if (p->row->anomaly || std::isnan(points)) continue;
      sum += points;
      ++goal.rows;
    }
    goal.unit = "points";
    if (goal.rows > 0) goal.value = sum / goal.rows;
    goals_.push_back(goal);
  }

  void exact(GoalScore goal, const Chosen& chosen) {
    goal.unit = "rows that differ";
    goal.value = 0;
    for (const RowPrediction* p : choose(chosen)) {
      ++goal.rows;
      goal.value += p->predicted != p->row->value;
    }
    goals_.push_back(goal);
  }

  void wrong_signs(GoalScore goal, bool anomalies) {
    const Signs signs =
        signs_of(choose([](const RowPrediction&) { return true; }), anomalies);
    goal.unit = "wrong signs of " + std::to_string(signs.negative) + " negative";
    goal.rows = signs.steps;
    goal.value = signs.wrong;
    goals_.push_back(goal);
  }

  const PublishedRow* fitted(const RowPrediction& p) const {
    const auto found = rows_.find(p.fit_line);
    return found == rows_.end() ? nullptr : found->second;
  }
  std::vector<GoalScore> done() { return std::move(goals_); }

 private:
  std::vector<const RowPrediction*> choose(const Chosen& chosen) const {
    std::vector<const RowPrediction*> found;
    for (const RowPrediction& p : board_.predictions) {
      if (p.is_predicted() && chosen(p)) found.push_back(&p);
    }
    return found;
  }

  const Scoreboard& board_;
  std::map<int, const PublishedRow*> rows_;
  std::vector<GoalScore> goals_;
};

bool is_role(const RowPrediction& p, std::string_view role) {
  return p.row->role == role;
}

bool is_vgg(const RowPrediction& p) { return p.row->model.starts_with("vgg"); }

bool sums_gradients(const RowPrediction& p) {
  return is_role(p, "validate-ddp") || is_role(p, "validate-allreduce");
}

/// Predicted efficiency minus the row's.
double efficiency_error(const RowPrediction& p) {
  if (p.row->unit == Measure::efficiency) return (p.predicted - p.row->value) / 100;
  if (p.seconds == 0) return NAN;
  return p.alone_value / p.seconds - p.alone_value / iteration_seconds(*p.row, p.batch);
}

GoalScore goal(std::string id, std::string what, double reach, double beat,
               std::string best) {
  GoalScore result;
  result.id = std::move(id);
  result.what = std::move(what);
  result.reach = reach;
  result.beat = beat;
  result.best_known = std::move(best);
  return result;
}

void judge_data_parallel(GoalJudge& judge) {
  const auto dp = [](const RowPrediction& p) { return is_role(p, "validate-dp"); };
  judge.mean_error(goal("G3",
                        "DataParallel, all rows of a machine fitted (no "
                        "prediction)",
                        5, 3, "three-parameter fit 3.3-5"),
                   dp, true);
  judge.mean_error(goal("G4a", "DataParallel, ResNets, one row of another model fitted",
                        6, 5, "three-parameter fit 5.5-12"),
                   [&](const RowPrediction& p) { return dp(p) && !is_vgg(p); });
  judge.mean_error(goal("G4b", "DataParallel, VGG16, one row of another model fitted",
                        10, 5, "none"),
                   [&](const RowPrediction& p) { return dp(p) && is_vgg(p); });
}

void judge_ddp(GoalJudge& judge) {
  judge.mean_error(goal("G2", "DDP, from the own row on one device", 3, 2,
                        "Proteus 3.0, Lumos 3.3, dPRO below 5"),
                   [](const RowPrediction& p) { return is_role(p, "validate-ddp"); });
  judge.mean_error(
      goal("G2a", "DDP, where DDP on one device is given", 2, 2, ""),
      [](const RowPrediction& p) { return is_role(p, "validate-ddp") && p.hooked; });
}

void judge_transfer(GoalJudge& judge) {
  const auto transfer = [&](std::string_view from, bool to_vgg) {
    return [&judge, from, to_vgg](const RowPrediction& p) {
      const PublishedRow* fitted = judge.fitted(p);
      return is_role(p, "validate-allreduce") && is_vgg(p) == to_vgg && fitted &&
             fitted->model.starts_with(from);
    };
  };
  judge.mean_error(goal("G5", "all-reduce, VGG16, a row of ResNet50 fitted", 8, 5,
                        "ring without overlap 11.9"),
                   transfer("resnet50", true));
  judge.mean_error(goal("G6", "all-reduce, ResNet50, a row of VGG16 fitted", 4, 2,
                        "ring without overlap 4.4"),
                   transfer("vgg16", false));
}

void judge_points(GoalJudge& judge) {
  judge.points(
      goal("G10", "bucket cap of 1 MB: change of speed", 2, 1, "none"),
      [](const RowPrediction& p) { return !std::isnan(p.cap_change_stated); },
      [](const RowPrediction& p) { return p.cap_change - p.cap_change_stated; });
  judge.points(
      goal("G11", "efficiency at 8, 16 and 32 devices", 2, 1, "none"),
      [](const RowPrediction& p) {
        const int devices = p.row->devices.value_or(0);
        return sums_gradients(p) && (devices == 8 || devices == 16 || devices == 32);
      },
      efficiency_error);
  judge.points(
      goal("G12", "efficiency at 256 devices and more", 5, 3,
           "vTrain 14.7 % on several machines"),
      [](const RowPrediction& p) { return p.row->devices.value_or(0) >= 256; },
      efficiency_error);
}

}  // namespace

std::vector<GoalScore> goal_scores(const Scoreboard& board) {
  GoalJudge judge(board);
  judge_ddp(judge);
  judge_data_parallel(judge);
  judge_transfer(judge);
  judge.exact(goal("G8", "bytes of DDP's buckets", 0, 0, "a published trace"),
              [](const RowPrediction& p) { return is_role(p, "golden-bucket"); });
  judge_points(judge);
  judge.mean_error(goal("G13", "parameter servers, 8 devices", 10, 5, "none"),
                   [](const RowPrediction& p) {
                     return is_role(p, "validate-ps") && p.row->devices == 8;
                   });
  judge.mean_error(
      goal("pipelines", "pipelines, from one row", 5, 4, "closed form 8.1 (AmoebaNet)"),
      [](const RowPrediction& p) { return is_role(p, "validate-pipeline"); });
  judge.wrong_signs(
      goal("signs", "more devices, fewer images per second", 0, 0, "none"), false);
  judge.wrong_signs(
      goal("signs!", "the same, with the rows marked ANOMALY", 0, 0, "none"), true);
  judge.points(
      goal("G15", "coverage of the 90 % intervals, difference from 90 %", 5, 0,
           "nobody states intervals"),
      [](const RowPrediction& p) { return !p.row->role.starts_with("golden"); },
      [](const RowPrediction& p) { return p.covered() ? 0.0 : 1.0; });
  std::vector<GoalScore> goals = judge.done();
  goals.back().value = std::abs(goals.back().value - 10);
  return goals;
}

}  // namespace lockstep::tracer
