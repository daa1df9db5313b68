// Answers the sliders' questions beside the window's frames.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "gui/app/what_if.h"

namespace lockstep::gui {

/// Two threads at most: one computes the length of the step, which takes milliseconds,
/// and one the whole trace. Each takes the newest question when it is free. The
/// destructor waits for both.
class WhatIfJob {
 public:
  /// Starts what the App asks for, and hands it over when it is done. Call per frame.
  void update(App& app) {
    for (Work* work : {&step_, &trace_}) update(app, *work);
  }
  bool is_running() const { return step_.reply.valid() || trace_.reply.valid(); }

 private:
  struct Work {
    bool whole;
    std::shared_ptr<WhatIfLab> lab = nullptr;
    size_t tabs = 0;  ///< how many traces were open when the lab was made
    std::future<WhatIfReply> reply = {};
  };

  static void update(App& app, Work& work) {
    using namespace std::chrono_literals;
    if (work.reply.valid()) {
      if (work.reply.wait_for(0s) != std::future_status::ready) return;
      take_what_if(app, work.reply.get());
    }
    const WhatIfPanel* panel = awaits_what_if(app, work.whole);
    if (panel == nullptr) return;
    if (work.lab == nullptr || work.lab->text() != panel->text ||
        work.tabs != app.traces().size()) {
      work.lab = std::make_shared<WhatIfLab>(what_if_source(app));
      work.tabs = app.traces().size();
    }
    work.reply = std::async(
        std::launch::async, [lab = work.lab, question = panel->question, &work] {
          return work.whole ? lab->answer(question) : lab->step(question);
        });
  }

  Work step_{false}, trace_{true};
};

}  // namespace lockstep::gui
