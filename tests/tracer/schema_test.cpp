// The schema accepts the writer's output, according to the independent implementation
// python3-jsonschema.
#include <cstdlib>

#include "tests/tracer/golden.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

int python(const std::string& script) {
  return std::system(("python3 -c '" + script + "' 2>/dev/null").c_str());
}

bool accepts(const std::string& path) {
  const std::string schema =
      fs::path(LOCKSTEP_SOURCE_DIR) / "tracer/format/schema.json";
  return python(
             "import json, jsonschema; jsonschema.Draft4Validator(json.load(open(\"" +
             schema + "\"))).validate(json.load(open(\"" + path + "\")))") == 0;
}

class Schema : public ::testing::Test {
  void SetUp() override {
    if (python("import jsonschema") == 0) return;
    if (const char* ci = std::getenv("CI"); ci && std::string(ci) == "true") {
      FAIL() << "CI needs python3-jsonschema";
    }
    GTEST_SKIP() << "python3-jsonschema is not installed";
  }
};

TEST_F(Schema, AcceptsWhatIsSound) {
  EXPECT_TRUE(accepts(minimal_path()));
  const TemporaryFolder folder;
  write_trace(emulate(read_trace(minimal_path())), folder / "t.json");
  EXPECT_TRUE(accepts(folder / "t.json"));
}

TEST_F(Schema, RejectsWhatOneEventShows) {
  for (const char* name :
       {"format.version", "format.clock", "format.model", "times.negative-dur",
        "ids-unique.no-id", "references.type", "references.no-op", "copy-bytes.none",
        "steps-whole.no-end"}) {
    EXPECT_FALSE(accepts(golden() / "damaged" / (std::string(name) + ".json"))) << name;
  }
}

}  // namespace
}  // namespace lockstep::tracer
