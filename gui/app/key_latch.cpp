#include "gui/app/key_latch.h"

namespace lockstep::gui {

namespace {

// GLFW's codes of the modifiers: first the left ones, then the right ones.
constexpr int kFirstModifier = 340, kLastModifier = 347;

bool is_modifier(int code) { return code >= kFirstModifier && code <= kLastModifier; }

}  // namespace

bool KeyLatch::feed(ImGuiIO& io) {
  std::set<int> changed;
  bool pressed = false;
  while (!waiting_.empty()) {
    const Input next = waiting_.front();
    if (next.character != 0) {
      io.AddInputCharacter(next.character);
      waiting_.pop_front();
      continue;
    }
    const bool modifier = is_modifier(next.code);
    if (changed.contains(next.code)) break;
    if (pressed && (next.down || modifier)) break;  // one press, under its modifiers
    waiting_.pop_front();
    changed.insert(next.code);
    if (modifier && next.down) modifiers_.insert(next.code);
    if (modifier && !next.down) modifiers_.erase(next.code);
    pressed = pressed || (next.down && !modifier);
    feed_key(io, static_cast<Key>(next.code), next.down);
  }
  const auto held = [&](int left) {
    return modifiers_.contains(left) || modifiers_.contains(left + 4);
  };
  feed_modifiers(io, {held(kFirstModifier + 1), held(kFirstModifier),
                      held(kFirstModifier + 2), held(kFirstModifier + 3)});
  return !waiting_.empty();
}

}  // namespace lockstep::gui
