// The equality matrix: which ways of sharing the work train the same, with which nets.
//
// Each row compares two ways on every problem: all losses, gradients and final weights
// of two steps. What breaks the equality is a property of the row; that the problem
// has it is a property of the column. A cell without a reason must be equal, a cell
// with one must not. The table is tests/golden/equality.txt, which the book shows;
// LOCKSTEP_UPDATE_GOLDENS=1 writes it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/engine/sharing/ways.h"

namespace lockstep {
namespace {

using test::Problem;
using test::Way;

/// What a problem has, or a way adds, that may break an equality.
enum Property : unsigned {
  kNothing = 0,
  kBatchNorm = 1,
  kDropout = 2,
  kUneven = 4,
  kAlways = 8,
};

struct Column {
  const char* name;
  unsigned has;
  Problem problem;
};

struct Row {
  const char* name;
  const char* reference;
  Way way, other;
  unsigned broken_by;
  const char* why;     ///< with what breaks it
  bool exact = false;  ///< every operation is the same, in the same order
};

nn::ModulePtr vgg() { return std::make_shared<test::SmallVgg>(false, 0.0); }
nn::ModulePtr vgg_bn() { return std::make_shared<test::SmallVgg>(true, 0.0); }
nn::ModulePtr vgg_dropout() { return std::make_shared<test::SmallVgg>(false, 0.5); }
nn::ModulePtr vgg_all() { return std::make_shared<test::SmallVgg>(true, 0.5); }

const std::vector<Column>& columns() {
  static const std::vector<int64_t> even{8, 8}, uneven{8, 10};
  static const std::vector<int64_t> image{2, 8, 8};
  static const std::vector<Column> all{
      {"toy", kNothing, {test::make_toy, {5}, 2, even}},
      {"toy u", kUneven, {test::make_toy, {5}, 2, uneven}},
      {"resnet", kBatchNorm, {test::make_small_resnet, image, 3, even}},
      {"resnet u", kBatchNorm | kUneven, {test::make_small_resnet, image, 3, uneven}},
      {"vgg", kNothing, {vgg, image, 3, even}},
      {"vgg u", kUneven, {vgg, image, 3, uneven}},
      {"vgg d", kDropout, {vgg_dropout, image, 3, even}},
      {"vgg bn", kBatchNorm, {vgg_bn, image, 3, even}},
      {"vgg bdu", kBatchNorm | kDropout | kUneven, {vgg_all, image, 3, uneven}},
  };
  return all;
}

const std::vector<Row>& rows() {
  constexpr unsigned kSplit = kBatchNorm | kDropout;
  static const std::vector<Row> all{
      {"dp", "single", test::by_data_parallel, test::by_one_device, kSplit,
       "each replica normalizes its own chunk, and draws its own dropout masks"},
      {"ddp", "single", test::by_ddp, test::by_one_device, kSplit | kUneven,
       "as dp; and each rank counts equally, whatever its number of samples"},
      {"ddp", "dp", test::by_ddp, test::by_data_parallel, kUneven,
       "dp's loss is the mean over the batch, ddp's the mean of the ranks' means"},
      {"dp-criterion", "dp", test::by_criterion, test::by_data_parallel, kUneven,
       "dp-criterion's loss is the mean of the chunks' means"},
      {"dp-criterion", "ddp", test::by_criterion, test::by_ddp, kNothing, ""},
      {"loss-in-forward", "dp-criterion", test::by_loss_in_forward, test::by_criterion,
       kNothing, "", true},
      {"local-sgd H=1", "ddp", test::by_local_sgd(1), test::by_ddp, kNothing, ""},
      {"local-sgd H=2", "ddp", test::by_local_sgd(2), test::by_ddp, kAlways,
       "between two averages the ranks' weights differ"},
  };
  return all;
}

constexpr double kEqual = 1e-12, kDifferent = 1e-7;

/// Returns the properties that break the row's equality in the column: `≠ b d u`.
std::string inequality(unsigned properties) {
  std::string text = "≠";
  if (properties & kBatchNorm) text += " b";
  if (properties & kDropout) text += " d";
  if (properties & kUneven) text += " u";
  return text;
}

/// Pads to a width in characters: `≠` has three bytes.
std::string padded(const std::string& text, size_t width) {
  const auto characters = std::count_if(text.begin(), text.end(),
                                        [](char c) { return (c & 0xC0) != 0x80; });
  return text + std::string(width - std::min<size_t>(width, characters), ' ');
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

constexpr size_t kFirst = 17, kEach = 10;

/// Returns the cell of an equal pair: `bit-equal` where the row promises it. Another
/// pair may be bit-equal by chance, with one instruction set and not with another.
std::string equality(const Row& row, double difference) {
  if (row.exact && difference == 0) return "bit-equal";
  return difference < kEqual ? "1e-12" : "unclear";
}

/// Trains with each way once per problem.
class Outcomes {
 public:
  const test::Outcome& of(const char* way, const Way& train, const Column& column) {
    const auto key = std::pair<std::string, std::string>(way, column.name);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, train(column.problem)).first->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, test::Outcome> known_;
};

std::string table() {
  Outcomes outcomes;
  std::string text = padded("way", kFirst) + padded("as", kFirst);
  for (const Column& column : columns()) text += padded(column.name, kEach);
  text = trimmed(text);
  std::string reasons = "\n";
  for (const Row& row : rows()) {
    std::string line = padded(row.name, kFirst) + padded(row.reference, kFirst);
    for (const Column& column : columns()) {
      const double found =
          test::difference(outcomes.of(row.name, row.way, column),
                           outcomes.of(row.reference, row.other, column));
      const unsigned reason = row.broken_by & (column.has | kAlways);
      const bool differs = found > kDifferent;
      EXPECT_EQ(differs, reason != kNothing)
          << row.name << " and " << row.reference << " on " << column.name
          << " differ by " << found;
      if (row.exact) EXPECT_EQ(found, 0) << row.name << " on " << column.name;
      line += padded(differs ? inequality(reason) : equality(row, found), kEach);
    }
    text += trimmed(line);
    if (*row.why) {
      reasons += fmt::format("{} is not {}: {}\n", row.name, row.reference, row.why);
    }
  }
  return text + reasons;
}

TEST(EqualityMatrix, IsTheCommittedTable) {
  const std::string file = LOCKSTEP_SOURCE_DIR "/tests/golden/equality.txt";
  const std::string found = table();
  if (std::getenv("LOCKSTEP_UPDATE_GOLDENS")) std::ofstream(file) << found;
  std::ostringstream committed;
  committed << std::ifstream(file).rdbuf();
  EXPECT_EQ(found, committed.str());
}

}  // namespace
}  // namespace lockstep
