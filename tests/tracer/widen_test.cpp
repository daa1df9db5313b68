// Intervals of the scoreboard: as wide as the other machines' values ask for.
#include "tracer/emulate/scoreboard/widen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace lockstep::tracer {
namespace {

/// Predictions of 10, with intervals from half to twice that.
class Board {
 public:
  /// Adds rows whose values are so many half-widths above the prediction.
  void add(const std::string& family, const std::vector<double>& distances) {
    for (const double distance : distances) {
      rows_.emplace_back();
      rows_.back().value = 10 * std::pow(2, distance);
      RowPrediction& p = board_.predictions.emplace_back();
      p.row = &rows_.back();
      p.family = family;
      p.predicted = 10;
      p.low = 5;
      p.high = 20;
    }
  }
  std::vector<RowPrediction>& widened() {
    widen_intervals(board_);
    return board_.predictions;
  }

  std::vector<RowPrediction>& predictions() { return board_.predictions; }

 private:
  std::deque<PublishedRow> rows_;  // predictions point to them
  Scoreboard board_;
};

TEST(Widen, TheOtherMachinesDecide) {
  Board board;
  board.add("calm", {0.1, -0.2, 0.3});
  // Of 19, the 18th: at most 3.
  board.add("wild", {1, 2, -3, 1, 2, -3, 1, 2, 3, 1, 2, 9, 1, 2, 3, 1, 2, 3, 1});
  const auto& rows = board.widened();
  EXPECT_NEAR(rows.front().high, 10 * std::pow(2, 3), 1e-9);
  EXPECT_NEAR(rows.front().low, 10 * std::pow(2, -3), 1e-9);
  EXPECT_EQ(rows.front().own_high, 20);
  EXPECT_EQ(rows.front().predicted, 10);
  EXPECT_EQ(rows.back().high, 20) << "calm values make no interval narrower";
}

TEST(Widen, AMachinesOwnValuesChangeNothing) {
  Board board;
  board.add("alone", {7, 7, 7, 7});
  for (const RowPrediction& p : board.widened()) EXPECT_EQ(p.high, 20);
}

TEST(Widen, ExactPredictionsStayExact) {
  Board board;
  board.add("wild", {3, 3, 3});
  board.add("exact", {0});
  RowPrediction& exact = board.predictions().back();
  exact.low = exact.high = exact.predicted;
  EXPECT_EQ(board.widened().back().high, 10);
}

}  // namespace
}  // namespace lockstep::tracer
