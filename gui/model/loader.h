// Reads a trace into a Model: Chrome Trace Event JSON from us or from others.
//
// Reading is cut into slices, so that a window can draw its progress without a thread:
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
  /// `text` must outlive the Model, or be kept by `owned`. Throws std::runtime_error
  /// in one plain sentence if the text is no JSON or has no list of events.
  Loader(std::string name, std::string_view text,
         std::shared_ptr<const void> owned = nullptr);
  ~Loader();

  /// Reads at most so many more events; true when there are no more. A damaged or
  /// truncated file ends where the damage begins, and the Model's `problems` say so.
  bool read(size_t events);
  double progress() const;  ///< 0 … 1, of the text

  /// Indexes what was read. Once. Throws std::runtime_error if there was no event.
  Model finish();

 private:
  struct Reading;
  std::unique_ptr<Reading> reading_;
};

/// All at once.
Model load_model(std::string name, std::string text);

}  // namespace lockstep::gui
