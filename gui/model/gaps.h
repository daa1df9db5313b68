// The gaps of a trace's streams, each with what it waits for, in words.
//
// A pure function of a Model and what tracer/emulate/binding.h says of the same trace.
#pragma once

#include <string>
#include <vector>

#include "gui/model/model.h"
#include "tracer/emulate/binding.h"

namespace lockstep::gui {

struct Gap {
  uint32_t event = kNoEvent;  ///< the task that ends it
  uint32_t after = kNoEvent;  ///< what it waits for
  int64_t begin = 0, end = 0;
  tracer::Binding::Kind kind = tracer::Binding::Kind::host;
  int64_t length() const { return end - begin; }
};

/// Returns the gaps that lie in a step, sorted by lane, then by begin.
std::vector<Gap> gaps_of(const Model& model, const std::vector<tracer::Binding>& all);

/// Returns the gap of a lane at `ts`, or nullptr.
const Gap* gap_at(const Model& model, const std::vector<Gap>& gaps, uint32_t lane,
                  int64_t ts);
/// Returns the longest gap of the compute streams in a step, or nullptr.
const Gap* longest_gap(const Model& model, const std::vector<Gap>& gaps,
                       const Step& step);

/// Returns "device 1 waits 3.1 ms for data: conv2d starts when copy ends".
std::string gap_words(const Model& model, const Gap& gap);

}  // namespace lockstep::gui
