// Any bytes as a trace file: the viewer opens it or rejects it with a one-line message.
// Its Model is valid and every position can be reached. Run for some time with
//   cp tests/golden/minimal.json tests/golden/damaged/*.json corpus
//   viewer_fuzz -max_len=16384 -max_total_time=600 corpus
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "gui/model/breakdown.h"
#include "gui/model/details.h"
#include "gui/model/loader.h"
#include "gui/model/state.h"

using namespace lockstep::gui;  // NOLINT

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void judge(const Model& m) {
  require(!m.events.empty() && m.program.size() == m.events.size());
  require(m.ports.size() == m.devices.size() + 1 && !m.steps.empty());
  for (uint32_t i = 0; i < m.events.size(); ++i) {
    const Event& event = m.events[i];
    require(event.lane < m.lanes.size() && event.name < m.strings.size());
    require(event.phase < m.phases.size() && m.text[event.text] == '{');
    require(event.ts >= 0 && event.dur >= 0 && event.end() <= m.length);
    require(m.program[event.order] == i && event.last > event.order);
    require(event.parent == kNoEvent ||
            (event.parent < i && event.last <= m.events[event.parent].last));
    require((event.what() == Kind::copy) == (m.copy_of(i) != nullptr));
  }
}

void ask(const Model& m, Position position) {
  position = moved(m, position, Move::into);
  state_at(m, position);
  state_at(m, in_time_order(m, position));
}

/// Navigates; the bytes after the text choose the moves.
void wander(const Model& m, const uint8_t* data, size_t size) {
  Position position;
  for (size_t i = 0; i < 64 && i < size; ++i) {
    const uint8_t choice = data[size - 1 - i];
    position = moved(m, position, static_cast<Move>(choice % 14));
    position.progress = static_cast<float>(choice) / 255.0f;
    if (choice % 5 == 0) position = in_time_order(m, position);
    state_at(m, position);
  }
  std::string why;
  const std::string place(reinterpret_cast<const char*>(data), size < 12 ? size : 12);
  if (const auto parsed = parse_position(m, place, why)) ask(m, *parsed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    // A block of exactly this size, so that the sanitizer detects reads past its end.
    const auto text =
        std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
    Loader loader("fuzz", *text, text);
    while (!loader.read(7)) require(loader.progress() >= 0 && loader.progress() <= 1);
    const Model model = loader.finish();
    judge(model);
    wander(model, data, size);
    const uint32_t every = static_cast<uint32_t>(model.events.size()) / 20 + 1;
    for (uint32_t i = 0; i < model.events.size(); i += every) {
      ask(model, at_event(model, i));
      args_of(model, model.events[i]);
    }
    for (size_t step = 0; step < model.steps.size() && step < 8; ++step) {
      break_down(model, step);
    }
    mean_breakdown(model);
  } catch (const std::runtime_error&) {
    // rejected with a one-line message
  }
  return 0;
}
