// Data on its way: how a packet looks wherever it flies.
#pragma once

#include <string>

#include "gui/model/model.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Bytes decide how large a packet is: by the cube root, 9 to 26 points.
float packet_size(int64_t bytes);

void draw_packet(const Ui& ui, ImVec2 at, float size, ImU32 colour);

/// A packet with words in it.
void draw_pill(const Ui& ui, ImVec2 at, ImU32 colour, const std::string& words);

/// "2.37 MB  all_reduce" beside a packet, on the side where there is room in `within`.
void draw_packet_label(const Ui& ui, ImVec2 at, float size, const Rect& within,
                       ImU32 colour, const std::string& label);

/// "2.37 MB  all_reduce"
std::string packet_label(const Model& model, const Copy& copy);

}  // namespace lockstep::gui
