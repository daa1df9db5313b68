#include "gui/panels/why_classes.h"

#include "tracer/format/keys.h"

namespace lockstep::gui {

namespace {

using tracer::Spent;

struct ClassLook {
  ImU32 colour;
  bool hatched;
};

/// Waiting is hatched; work has the colour of its phase.
ClassLook class_look(const Theme& t, Spent spent) {
  switch (spent) {
    case Spent::computing:
      return {phase_colour(t, phases::forward), false};
    case Spent::core:
    case Spent::gpu:
      return {t.waiting, true};
    case Spent::scatter:
      return {reason_colour(t, reasons::scatter), false};
    case Spent::replicate:
      return {reason_colour(t, reasons::replicate), false};
    case Spent::gather:
      return {reason_colour(t, reasons::gather), false};
    case Spent::reduce:
    case Spent::collectives:
      return {reason_colour(t, reasons::reduce), false};
    case Spent::activations:
      return {reason_colour(t, reasons::activation), false};
    case Spent::push_pull:
      return {reason_colour(t, reasons::push), false};
    case Spent::undivided:
      return {reason_colour(t, reasons::reduce), true};
    case Spent::bucket_copies:
      return {mixed(t.panel, reason_colour(t, reasons::all_reduce), 0.55f), false};
    case Spent::other:
      return {reason_colour(t, reasons::d2h), false};
    case Spent::imbalance:
      return {mixed(t.waiting, t.text, 0.25f), true};
    case Spent::lock:
      return {t.violet, true};
    case Spent::loader:
      return {t.yellow, true};
    case Spent::host:
      return {t.slate, true};
    case Spent::wake_ups:
      return {t.grey, false};
    case Spent::unknown:
      break;
  }
  return {t.line, false};
}

}  // namespace

void fill_class(const Ui& ui, const Rect& r, Spent spent) {
  const ClassLook look = class_look(ui.theme, spent);
  if (!look.hatched) return ui.fill(r, look.colour, 1);
  ui.fill(r, ui.theme.sunken, 1);
  ui.hatch(r, look.colour, spent == Spent::imbalance ? Hatch::crossed : Hatch::rising);
  if (r.w > 3) ui.frame(r, with_alpha(look.colour, 0.8f), 1);
}

}  // namespace lockstep::gui
