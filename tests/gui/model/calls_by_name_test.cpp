// One step's calls grouped by name, and the current event while no event starts.
#include <fmt/format.h>

#include "gui/model/breakdown.h"
#include "gui/model/position.h"
#include "tests/gui/model/named_model.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

/// A step of two equal calls with a kernel each, then a wait; times in us.
Model small(int kernel_start) {
  const auto x = [](const char* cat, const char* name, int pid, int ts, int dur, int id,
                    const std::string& more) {
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":0,"ts":{},)"
                       R"("dur":{},"args":{{"id":{},"step":0{}}}}})",
                       cat, name, pid, ts, dur, id, more);
  };
  const std::string device = R"(,"device":0,"stream":0,"op":)";
  std::string text = "[" + x("phase", "step", 0, 0, 100, 1, "");
  text += "," + x("op", "conv", 0, 10, 5, 2, "");
  text += "," + x("kernel", "k", 1, kernel_start, 20, 3, device + "2");
  text += "," + x("op", "conv", 0, 40, 5, 4, "");
  text += "," + x("kernel", "k", 1, 50, 20, 5, device + "4");
  text += "," + x("sync", "wait", 0, 47, 45, 6, "");
  return load_model("small.json", text + "]");
}

const char* const kSmall =
    "step 0\n"
    "  conv#1\n"
    "    k@device 0\n"
    "  conv#2\n"
    "    k@device 0\n"
    "  wait\n";

TEST(CallTree, AlikeCallsAreOneEntry) {
  const Model model = small(12);
  EXPECT_EQ(names_of(model).tree(), kSmall);
  const std::vector<CallEntry> tree = calls_by_name(model, 0);
  ASSERT_EQ(tree.size(), 4u);  // step, conv, its kernel, wait
  EXPECT_EQ(model.strings[tree[1].name], "conv");
  EXPECT_EQ(tree[1].count, 2u);
  EXPECT_EQ(tree[1].time, 10'000);
  EXPECT_EQ(tree[1].depth, 1);
  EXPECT_EQ(model.strings[tree[2].name], "k");
  EXPECT_EQ(tree[2].count, 2u);
  EXPECT_EQ(tree[2].time, 40'000);
  EXPECT_EQ(tree[2].depth, 2);
  EXPECT_EQ(tree[1].last, 3u);
  EXPECT_EQ(tree[0].last, 4u);
}

/// In an emulated trace, a kernel may start in the same nanosecond as its op and last
/// longer. The op is still its cause.
TEST(Links, AKernelMayStartWithItsOp) {
  const Model model = small(10);
  EXPECT_EQ(names_of(model).tree(), kSmall);
}

TEST(Position, WhileNothingStartsTheTrainingLoopIsCurrent) {
  const Model model = small(12);
  const auto names = names_of(model);
  const auto current = [&](int64_t us) {
    return names.path_of(event_at(model, {Order::time, us * 1000, 0, 0.5f}));
  };
  EXPECT_EQ(current(60), "step 0/conv#2/k@device 0")
      << "the kernel that started last runs";
  EXPECT_EQ(current(80), "step 0/wait") << "the kernel has ended; the host still waits";
  EXPECT_EQ(current(95), "step 0") << "only the step is left";
}

}  // namespace
}  // namespace lockstep::gui
