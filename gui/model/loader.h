// Reads a trace into a Model: Chrome Trace Event JSON, ours or that of other tools.
//
// Reading is split into slices, so that a window can draw progress without a thread:
//     Loader loader("run.json", text);
//     while (!loader.read(50'000)) draw(loader.progress());
//     Model model = loader.finish();
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gui/model/model.h"

namespace lockstep::gui {

class Loader {
 public:
  /// `text` must outlive the Model, or `owned` must keep it alive. Throws
  /// std::runtime_error with a plain message if it is not JSON or has no event list.
  Loader(std::string name, std::string_view text,
         std::shared_ptr<const void> owned = nullptr);
  ~Loader();

  /// Reads at most `events` more events. Returns true if there are none left. A damaged
  /// or truncated file ends where the damage begins; the Model's `problems` report it.
  bool read(size_t events);
  double progress() const;  ///< fraction of the text, 0 … 1

  /// Indexes the events. Call once. Throws std::runtime_error if there are no events.
  Model finish();

 private:
  struct Reading;
  std::unique_ptr<Reading> reading_;
};

/// Reads the whole text at once.
Model load_model(std::string name, std::string text);

}  // namespace lockstep::gui
