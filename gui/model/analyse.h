// The analysis of a trace on a thread that another one watches.
#pragma once

#include "base/work.h"
#include "gui/model/why.h"

namespace lockstep::gui {

/// Like `analyse(source)`; says in `work` what it does. Throws Cancelled if `work` is
/// stopped, and nothing else.
WhyAnalysis analyse(const WhySource& source, Work& work);

}  // namespace lockstep::gui
