// Compares whole pictures with tests/golden/viewer/*.png, pixel by pixel. To regenerate
// them after reviewing a change: LOCKSTEP_UPDATE_GOLDENS=1 gui_test
// --gtest_filter=Golden*
//
// On one machine, a picture is always identical. Between processors, a few pixels of
// antialiased edges differ by a few levels of 255: Dear ImGui normalizes edges with
// RSQRTSS, an approximation that Intel and AMD compute differently.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "gui/render/image.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

struct Shot {
  const char* name;
  const char* trace;
  const char* at;
  bool dark = true;
  bool time_order = false;
  bool why = false, tracks = false;
};

constexpr int kEdgeStep = 4;             ///< of 255, per channel, between processors
constexpr size_t kMostEdgePixels = 200;  ///< of 716,800 in a picture

/// Returns the largest difference of any channel.
int difference(uint32_t a, uint32_t b) {
  int most = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const int one = static_cast<int>(a >> shift & 255);
    const int other = static_cast<int>(b >> shift & 255);
    most = std::max(most, std::abs(one - other));
  }
  return most;
}

class Golden : public testing::TestWithParam<Shot> {};

TEST_P(Golden, PictureIsTheSame) {
  const Shot& shot = GetParam();
  Driver viewer(shot.trace, 1024, 700);
  if (!viewer.screen.fonts().complete) {
    GTEST_SKIP() << "pictures need fonts-inter and fonts-jetbrains-mono";
  }
  viewer.app.settings.dark = shot.dark;
  viewer.app.settings.why = shot.why;
  viewer.app.settings.tracks = shot.tracks;
  viewer.go(shot.at);
  if (shot.time_order) {
    viewer.app.go(in_time_order(viewer.model(), viewer.app.trace().position));
  }
  viewer.frame();
  const Image& picture = viewer.frame();
  const std::string path = golden(std::string(shot.name) + ".png");
  if (std::getenv("LOCKSTEP_UPDATE_GOLDENS") != nullptr) write_png(picture, path);
  const Image expected = read_png(path);
  ASSERT_EQ(picture.width, expected.width);
  ASSERT_EQ(picture.height, expected.height);
  size_t different = 0, on_edges = 0;
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    const int step = difference(picture.pixels[i], expected.pixels[i]);
    if (step > kEdgeStep) ++different;
    if (step > 0) ++on_edges;
  }
  if (different > 0 || on_edges > kMostEdgePixels) {
    const auto seen =
        std::filesystem::temp_directory_path() / (std::string(shot.name) + "_seen.png");
    write_png(picture, seen.string());
    FAIL() << on_edges << " pixels differ, " << different << " by more than "
           << kEdgeStep << " of 255; what was drawn: " << seen;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Viewer, Golden,
    testing::Values(Shot{"dp_replicate", "dp.json.gz", "2:replicate"},
                    Shot{"dp_reduce_light", "dp.json.gz", "2:reduce", false},
                    Shot{"ddp_all_reduce", "ddp.json.gz", "2:all_reduce"},
                    Shot{"ddp_metrics_light", "ddp.json.gz", "rank1:2:metrics", false},
                    Shot{"single_forward", "single.json.gz", "2:forward", true, true},
                    Shot{"dp_tracks", "dp.json.gz", "2:backward", true, true, false,
                         true},
                    Shot{"memory_tracks_light", "memory_dp.json.gz", "1:forward", false,
                         true, false, true},
                    Shot{"dp_why", "dp.json.gz", "2:reduce", true, false, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::gui
