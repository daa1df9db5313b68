// Analyses large traces beside the window's frames.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "base/work.h"
#include "gui/app/app.h"
#include "gui/model/analyse.h"

namespace lockstep::gui {

/// Computes what the panel "Why not 4x?" shows of one trace at a time, on a thread of
/// its own, and says at the bottom of the screen what it does. Closing the trace, or
/// destroying this, stops it; the destructor waits until the thread has noticed.
class WhyJob {
 public:
  WhyJob() = default;
  WhyJob(const WhyJob&) = delete;
  WhyJob& operator=(const WhyJob&) = delete;
  ~WhyJob() {
    if (is_running()) work_->cancel();
  }

  /// Starts what the App asks for, and hands it over when it is done. Call per frame.
  void update(App& app) {
    if (is_running() && !take(app)) return;
    const Model* model = app.awaits_why();
    if (model == nullptr) return;
    text_ = model->text.data();
    work_ = std::make_unique<Work>();
    result_ =
        std::async(std::launch::async, [source = why_source(*model), &work = *work_] {
          return analyse(source, work);
        });
  }
  bool is_running() const { return result_.valid(); }
  /// Stops the analysis that runs. Its trace may ask for another one.
  void cancel() {
    if (is_running()) work_->cancel();
  }

 private:
  /// Returns true if the thread has ended.
  bool take(App& app) {
    using namespace std::chrono_literals;
    const bool open = std::ranges::any_of(app.traces(), [&](const OpenTrace& trace) {
      return trace.model->text.data() == text_;
    });
    if (!open) work_->cancel();
    if (result_.wait_for(0s) != std::future_status::ready) {
      if (open) app.say(fmt::format("{}: {} …", kTitle, work_->doing()));
      return false;
    }
    try {
      app.take_why(text_, result_.get());
    } catch (const Cancelled&) {
    }
    if (app.message.starts_with(kTitle)) app.message_left = 0;
    return true;
  }

  static constexpr const char* kTitle = "Computing";

  const char* text_ = nullptr;  ///< identifies the trace
  std::unique_ptr<Work> work_;  ///< outlives `result_`, whose destructor waits
  std::future<WhyAnalysis> result_;
};

}  // namespace lockstep::gui
