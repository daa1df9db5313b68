// Analyses large traces beside the window's frames.
#pragma once

#include <chrono>
#include <future>
#include <utility>

#include "gui/app/app.h"
#include "gui/model/why.h"

namespace lockstep::gui {

/// Computes what the panel "Why not 4x?" shows of one trace at a time, on a thread of
/// its own. Its destructor waits for that thread.
class WhyJob {
 public:
  /// Starts what the App asks for, and hands it over when it is done. Call per frame.
  void update(App& app) {
    using namespace std::chrono_literals;
    if (result_.valid()) {
      if (result_.wait_for(0s) != std::future_status::ready) return;
      app.take_why(text_, result_.get());
    }
    const Model* model = app.awaits_why();
    if (model == nullptr) return;
    text_ = model->text.data();
    result_ = std::async(std::launch::async,
                         [source = why_source(*model)] { return analyse(source); });
  }
  bool is_running() const { return result_.valid(); }

 private:
  const char* text_ = nullptr;  ///< identifies the trace
  std::future<WhyAnalysis> result_;
};

}  // namespace lockstep::gui
