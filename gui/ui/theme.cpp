#include "gui/ui/theme.h"

#include <array>
#include <utility>

namespace lockstep::gui {

namespace {

/// Converts 0xRRGGBB to ImU32.
constexpr ImU32 rgb(uint32_t hex) {
  return IM_COL32((hex >> 16) & 255, (hex >> 8) & 255, hex & 255, 255);
}

Theme make_dark() {
  Theme t{};
  t.dark = true;
  t.background = rgb(0x0C1015), t.panel = rgb(0x131920), t.raised = rgb(0x1B232D);
  t.sunken = rgb(0x0D1218), t.line = rgb(0x27313D), t.hover = rgb(0x222C38);
  t.shadow = IM_COL32(0, 0, 0, 90);
  t.text = rgb(0xEAEFF4), t.dim = rgb(0xA3AFBC), t.faint = rgb(0x8A96A3);
  t.accent = rgb(0xF0A81C), t.on_accent = rgb(0x1A1204),
  t.accent_background = rgb(0x3A2A0C);
  t.warning = rgb(0xF4765E), t.warning_background = rgb(0x3A1C18);
  t.waiting = rgb(0x4B4A48), t.arrow = rgb(0xC9D3DE), t.host = rgb(0x83868C);
  t.lime = rgb(0xA0CE06), t.tan = rgb(0xAF8B5E), t.sky = rgb(0x81CFFA),
  t.green = rgb(0x33BC94);
  t.yellow = rgb(0xFFF589), t.blue = rgb(0x537EBB), t.pink = rgb(0xE28FC0);
  t.violet = rgb(0xAE90FF), t.slate = rgb(0x767F8F), t.grey = rgb(0x54606D);
  t.code_keyword = rgb(0xC792EA), t.code_type = rgb(0x66D0C0);
  t.code_number = rgb(0xF2905A), t.code_text = rgb(0xA5D075);
  t.code_comment = rgb(0x8C97A4), t.code_call = rgb(0x82AAFF);
  return t;
}

Theme make_light() {
  Theme t{};
  t.dark = false;
  t.background = rgb(0xEFF1F4), t.panel = rgb(0xFFFFFF), t.raised = rgb(0xF5F7F9);
  t.sunken = rgb(0xE9EDF1), t.line = rgb(0xD5DBE2), t.hover = rgb(0xE6EBF1);
  t.shadow = IM_COL32(30, 40, 60, 28);
  t.text = rgb(0x171C22), t.dim = rgb(0x46505B), t.faint = rgb(0x59636E);
  t.accent = rgb(0x925B00), t.on_accent = rgb(0xFFFFFF),
  t.accent_background = rgb(0xFBEBCB);
  t.warning = rgb(0xB02F18), t.warning_background = rgb(0xFBE2DC);
  t.waiting = rgb(0xC4C1BB), t.arrow = rgb(0x3A4550), t.host = rgb(0x8C9096);
  t.lime = rgb(0x7A9B02), t.tan = rgb(0x9A764B), t.sky = rgb(0x3C9FD5),
  t.green = rgb(0x189C7D);
  t.yellow = rgb(0xD2C016), t.blue = rgb(0x2974FF), t.pink = rgb(0xCB5EA8);
  t.violet = rgb(0x6C4BBA), t.slate = rgb(0x6D747F), t.grey = rgb(0xA2ABB7);
  t.code_keyword = rgb(0x8A3FBF), t.code_type = rgb(0x0B6B61);
  t.code_number = rgb(0x9C440B), t.code_text = rgb(0x356911);
  t.code_comment = rgb(0x5C6670), t.code_call = rgb(0x2458C5);
  return t;
}

using Hue = ImU32 Theme::*;

ImU32 look_up(const Theme& theme, const std::string& name,
              std::initializer_list<std::pair<const char*, Hue>> table) {
  for (const auto& [key, hue] : table) {
    if (name == key) return theme.*hue;
  }
  return theme.grey;
}

}  // namespace

const Theme& dark_theme() {
  static const Theme theme = make_dark();
  return theme;
}

const Theme& light_theme() {
  static const Theme theme = make_light();
  return theme;
}

ImU32 reason_colour(const Theme& theme, const std::string& why) {
  return look_up(theme, why,
                 {{reasons::replicate, &Theme::lime},
                  {reasons::broadcast, &Theme::lime},
                  {reasons::rebuild, &Theme::lime},
                  {reasons::metrics, &Theme::green},
                  {reasons::sync_batch_norm, &Theme::yellow},
                  {reasons::reduce, &Theme::pink},
                  {reasons::all_reduce, &Theme::pink},
                  {reasons::average, &Theme::pink},
                  {reasons::scatter, &Theme::sky},
                  {reasons::h2d, &Theme::sky},
                  {reasons::gather, &Theme::green},
                  {reasons::grad_scatter, &Theme::slate},
                  {reasons::targets, &Theme::sky},
                  {reasons::loss, &Theme::green},
                  {reasons::loss_grad, &Theme::slate},
                  {reasons::activation, &Theme::blue},
                  {reasons::activation_grad, &Theme::slate},
                  {reasons::pull, &Theme::lime},
                  {reasons::push, &Theme::pink},
                  {reasons::d2h, &Theme::violet}});
}

ImU32 phase_colour(const Theme& theme, const std::string& phase) {
  return look_up(theme, phase,
                 {{phases::data, &Theme::grey},
                  {phases::h2d, &Theme::sky},
                  {phases::scatter, &Theme::sky},
                  {phases::replicate, &Theme::lime},
                  {phases::forward, &Theme::blue},
                  {phases::parallel_apply, &Theme::blue},
                  {phases::gather, &Theme::green},
                  {phases::loss, &Theme::violet},
                  {phases::backward, &Theme::slate},
                  {phases::reduce, &Theme::pink},
                  {phases::all_reduce, &Theme::pink},
                  {phases::average, &Theme::pink},
                  {phases::pull, &Theme::lime},
                  {phases::push, &Theme::pink},
                  {phases::broadcast, &Theme::lime},
                  {phases::metrics, &Theme::green},
                  {phases::optimizer, &Theme::yellow}});
}

ImU32 memory_colour(const Theme& theme, size_t category) {
  // The model's own memory has the colours of its copies: parameters those of
  // replicate, gradients of reduce, inputs of scatter, activations of forward.
  static constexpr std::array<Hue, 9> hues = {
      &Theme::lime,   &Theme::pink,   &Theme::green, &Theme::blue, &Theme::sky,
      &Theme::yellow, &Theme::violet, &Theme::tan,   &Theme::grey};
  return theme.*hues[category < hues.size() ? category : hues.size() - 1];
}

ImU32 event_colour(const Theme& theme, const Model& model, uint32_t index) {
  const Event& event = model.events[index];
  switch (event.what()) {
    case Kind::step:
      return mixed(theme.panel, theme.host, 0.45f);
    case Kind::phase:
      return phase_colour(theme, model.name_of(event));
    case Kind::call:
      return mixed(theme.panel, theme.host, 0.62f);
    case Kind::op:
      return mixed(theme.panel, theme.host, 0.85f);
    case Kind::kernel:
    case Kind::collective: {
      const std::string& phase = model.strings[model.phases[event.phase]];
      return phase_colour(theme, phase);
    }
    case Kind::copy: {
      const Copy* copy = model.copy_of(index);
      return copy == nullptr ? theme.grey
                             : reason_colour(theme, model.strings[copy->why]);
    }
    case Kind::sync:
      return mixed(theme.panel, theme.grey, 0.45f);
    default:
      return theme.grey;
  }
}

ImU32 with_alpha(ImU32 colour, float alpha) {
  const auto a = static_cast<float>(colour >> IM_COL32_A_SHIFT & 255) * alpha;
  return (colour & ~IM_COL32_A_MASK) |
         (static_cast<ImU32>(a + 0.5f) << IM_COL32_A_SHIFT);
}

ImU32 mixed(ImU32 a, ImU32 b, float share) {
  ImU32 result = 0;
  const auto part = static_cast<int>(share * 256 + 0.5f);
  for (int shift = 0; shift < 32; shift += 8) {
    const int from = a >> shift & 255, to = b >> shift & 255;
    result |= static_cast<ImU32>(from + (to - from) * part / 256) << shift;
  }
  return result;
}

}  // namespace lockstep::gui
