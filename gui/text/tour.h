// "What is this?" in five cards, each beside a part of the screen.
#pragma once

#include <array>

namespace lockstep::gui {

struct TourCard {
  const char* title;
  const char* text;  ///< **strong**
  float x, y, w, h;  ///< what it speaks of, as shares of the screen
};

inline constexpr std::array<TourCard, 5> kTour = {{
    {"One training step, recorded",
     "The **stage** shows the host and its devices. Data flies between them while it "
     "is copied: the larger, the more bytes; the colour says why. The sentence below "
     "tells what happens now, with its numbers.",
     0.235f, 0.06f, 0.56f, 0.66f},
    {"Play it, or step",
     "**space** plays. **→** goes over to the next call, **↓** into what this one "
     "causes, **↑** up to its caller, **←** back. All of it also works backwards.",
     0.34f, 0.0f, 0.3f, 0.06f},
    {"Who calls forward?",
     "The **calls** from the training step down to here, with what came before and "
     "what comes next. Below it, the source that runs: the line is lit.",
     0.005f, 0.06f, 0.225f, 0.66f},
    {"Where time and bytes go",
     "Each **phase** of this step, the bytes through each **port**, and all that the "
     "trace says about the current event. Click what is blue to go there.",
     0.795f, 0.06f, 0.2f, 0.66f},
    {"The whole trace",
     "Every thread and every device **stream**. Drag to pan, wheel to zoom, click an "
     "event to go there, drag the playhead to scrub. **?** lists all keys.",
     0.005f, 0.73f, 0.99f, 0.265f},
}};

}  // namespace lockstep::gui
