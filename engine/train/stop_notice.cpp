#include "engine/train/stop_notice.h"

#include <fmt/format.h>

#include <sstream>

namespace lockstep::train {
namespace {

constexpr const char* kStopKey = "stop";  ///< its value: `STEP SIGNAL`

}  // namespace

void StopNotice::give(int64_t step, int signal) {
  store_->compare_set(kStopKey, "", fmt::format("{} {}", step, signal));
}

int StopNotice::read_after(int64_t step) {
  const auto text = store_->try_get(kStopKey);
  if (!text) return 0;
  int64_t last = 0;
  int signal = 0;
  std::istringstream(*text) >> last >> signal;
  return last <= step ? signal : 0;
}

}  // namespace lockstep::train
