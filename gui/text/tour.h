// "What is this?" in five cards, each next to a part of the screen: the stage, the
// transport, the calls and the source, the numbers, the timeline (App::tour_places).
#pragma once

#include <array>

namespace lockstep::gui {

struct TourCard {
  const char* title;
  const char* text;  ///< **strong**
};

inline constexpr std::array<TourCard, 5> kTour = {{
    {"One training step, recorded",
     "The **stage** shows the host and its devices. Data flies between them while it "
     "is copied: the larger a packet, the more bytes; its colour shows why. The "
     "sentence below describes what is happening, with numbers."},
    {"Play it, or step",
     "**space** plays. **→** steps over to the next call, **↓** into what this one "
     "causes, **↑** up to its caller, **←** back. All of this also works backwards."},
    {"Who calls forward?",
     "The **calls** from the training step down to here, with what came before and "
     "what comes next. Below them, the source code that runs, with the current line "
     "highlighted."},
    {"Where time and bytes go",
     "Each **phase** of this step, the bytes through each **port**, and everything the "
     "trace records about the current event. Click anything blue to go there."},
    {"The whole trace",
     "Every thread and every device **stream**. Drag to pan, wheel to zoom, click an "
     "event to go there, drag the playhead to scrub. **?** lists all keys."},
}};

}  // namespace lockstep::gui
