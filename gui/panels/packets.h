// How a packet of data looks in flight.
#pragma once

#include <string>

#include "gui/model/model.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Returns the size of a packet: the cube root of its bytes, clamped to 9 … 26 points.
float packet_size(int64_t bytes);

void draw_packet(const Ui& ui, ImVec2 at, float size, ImU32 colour);

/// Draws a packet with a label inside.
void draw_pill(const Ui& ui, ImVec2 at, ImU32 colour, const std::string& words);

/// Draws "2.37 MB  all_reduce" beside a packet, on the side that has room in `within`.
void draw_packet_label(const Ui& ui, ImVec2 at, float size, const Rect& within,
                       ImU32 colour, const std::string& label);

/// Returns "2.37 MB  all_reduce".
std::string packet_label(const Model& model, const Copy& copy);

}  // namespace lockstep::gui
