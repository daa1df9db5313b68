// The viewer and the tracer agree on causes and on program order.
#include "tests/gui/model/named_model.h"

#include "tests/gui/model/valid.h"
#include "tests/tracer/named_trace.h"

namespace lockstep::gui {
namespace {

using namespace tracer::testing;  // NOLINT

TEST(NamedModel, HasTheTreeOfTheTrace) {
  for (const std::string& path : {minimal_path(), minimal_ddp_path()}) {
    const Model model = test::load_file(path);
    EXPECT_EQ(test::names_of(model).tree(),
              NamedTrace(tracer::read_trace(path)).tree());
  }
}

}  // namespace
}  // namespace lockstep::gui
