// The version of a model that workers share, at any time.
#include <gtest/gtest.h>

#include "gui/model/loader.h"
#include "gui/model/why.h"
#include "gui/panels/stage_parts.h"
#include "tracer/format/keys.h"

namespace lockstep::gui {
namespace {

/// Version 2 is complete before version 1 is.
Model two_updates(const std::string& mode) {
  const std::string update = R"("cat":"phase","name":"optimizer","pid":0,"ph":"X",)";
  return load_model(
      "made", R"({"lockstep":{"format":1,"clock":"measured","mode":")" + mode +
                  R"("},"traceEvents":[)" +
                  R"({"cat":"phase","name":"step","pid":0,"tid":0,"ph":"X","ts":0,)"
                  R"("dur":100,"args":{"id":1,"step":3,"kind":"train"}},{)" +
                  update +
                  R"("tid":0,"ts":10,"dur":60,"args":{"id":2,"step":3,"worker":0,)"
                  R"("read_version":0,"version":1}},{)" +
                  update +
                  R"("tid":1,"ts":20,"dur":20,"args":{"id":3,"step":3,"worker":1,)"
                  R"("read_version":0,"version":2}}]})");
}

TEST(SharedModel, HasTheNewestVersionThatIsComplete) {
  const Model model = two_updates("hogwild");
  const auto why = placed(model, analyse(why_source(model)));
  ASSERT_EQ(why->problem, "");
  ASSERT_EQ(why->versions.size(), 2u);
  const int64_t begin = model.events[0].ts;
  EXPECT_EQ(why->version_at(begin + 39'999), tracer::kNone) << "none is complete";
  EXPECT_EQ(why->version_at(begin + 40'000), 2);
  EXPECT_EQ(why->version_at(begin + 70'000), 2) << "version 1 is older";
  EXPECT_TRUE(has_shared_model(model));
}

TEST(SharedModel, IsOnlyInHostMemory) {
  EXPECT_TRUE(has_shared_model(two_updates("locked")));
  EXPECT_FALSE(has_shared_model(two_updates("ps")));
  EXPECT_FALSE(has_shared_model(two_updates("ddp")));
}

}  // namespace
}  // namespace lockstep::gui
