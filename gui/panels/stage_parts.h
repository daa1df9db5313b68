// What the stages consist of: cards of devices and ranks, the ways between them, and
// the data that moves.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

// ---- Where host and devices stand, and the paths between them.

/// The largest number of cards; further devices share the last.
inline constexpr size_t kMaxCards = 16;

struct StageLayout {
  Rect host;
  std::vector<Rect> cards;  ///< one per device; devices after the 15th share one
  bool compact = false;     ///< small cards: only the essentials
  bool two_rows = false;
  Rect below;  ///< room for arcs between devices

  /// Returns the card of a device.
  size_t card_of(int device) const {
    return std::min(static_cast<size_t>(device), cards.size() - 1);
  }
};

StageLayout lay_out(const Rect& room, size_t devices);

/// A cubic Bézier curve from one memory to another.
struct Path {
  std::array<ImVec2, 4> points;
  ImVec2 at(float t) const;
};

/// Returns the path between the host (kHostDevice) and a device, or between two
/// devices.
Path path_between(const StageLayout& layout, int from, int to);

// ---- One device: its name, what it runs, its memory, its port.

struct CardStyle {
  bool compact = false;
  bool hot = false;    ///< its port moves far more than the others in this step
  bool group = false;  ///< stands for this device and all after it
};

void draw_device_card(const Ui& ui, const Rect& r, const OpenTrace& trace, int device,
                      CardStyle style);

/// Returns the device whose port carries at least 1.5 times the step's mean, or
/// kHostDevice if there is none.
int busiest_device(const OpenTrace& trace);

// ---- Memory by category, and names of tasks.

/// Draws a bar of memory by category; `scale` bytes fill it.
void draw_memory(const Ui& ui, const Rect& r, const Memory& memory, int64_t scale);
/// Names the largest categories beside their colours, as many as fit.
void draw_memory_legend(const Ui& ui, Rect r, const Memory& memory);
std::vector<size_t> by_size(const Memory& memory);  ///< categories, largest first
int64_t largest_memory(const OpenTrace& trace);     ///< over all devices, now

/// "conv2d", "h2d from host"
std::string task_name(const Model& model, uint32_t event);

// ---- Data on its way: how a packet looks wherever it flies.

/// Returns the size of a packet: the cube root of its bytes, clamped to 9 … 26 points.
float packet_size(int64_t bytes);

void draw_packet(const Ui& ui, ImVec2 at, float size, ImU32 colour);

/// Draws a packet with a label inside.
void draw_pill(const Ui& ui, ImVec2 at, ImU32 colour, const std::string& words);

/// Draws "2.37 MB all_reduce" beside a packet, on the side that has room in `within`.
void draw_packet_label(const Ui& ui, ImVec2 at, float size, const Rect& within,
                       ImU32 colour, const std::string& label);

/// Returns "2.37 MB all_reduce".
std::string packet_label(const Model& model, const Copy& copy);

// ---- DistributedDataParallel: ranks in two rows around a ring, each with its own host
// on the outside and its device on the ring.

struct RingLayout {
  std::vector<Rect> hosts, devices;  ///< by card; ranks after the 15th share the last
  std::vector<float>
      ports;  ///< where a card is attached to the ring: a share of its length
  std::vector<size_t> card;  ///< by device
  Rect loop;                 ///< the ring runs around this rectangle, with round ends
  bool compact = false;      ///< small cards: only the essentials

  bool is_top(size_t of_card) const { return devices[of_card].y < loop.y; }
  /// A point on the ring, clockwise from the upper left. Whole turns are ignored.
  ImVec2 on_loop(float share) const;
  /// Where a card's stub begins.
  ImVec2 port(size_t of_card) const;
};

/// Returns the devices in the order of the ring: from the trace's rings if there are
/// any, otherwise by number.
std::vector<int> ring_order(const Model& model);

/// True if there are several ranks with one device each.
bool is_ring(const Model& model);

RingLayout lay_out_ring(const Rect& room, const std::vector<int>& order);

/// Returns the position of a message on its clockwise path; `t` from 0 to 1.
ImVec2 on_ring_path(const RingLayout& layout, size_t from, size_t to, float t);

// ---- One rank on the ring: what its host does, and its device.

struct RankCard {
  Rect host, device;
  int number = 0;   ///< the device's index
  size_t more = 0;  ///< ranks that share the card
  bool compact = false;
};

void draw_rank_card(const Ui& ui, const RankCard& card, const OpenTrace& trace);

/// Returns a rank's part of a collective: "all_reduce · bucket 1" or "broadcast ·
/// buffers"; with `brief`, "bucket 1" or "broadcast".
std::string collective_label(const Model& model, uint32_t event, bool brief = false);

void draw_ring_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace);

}  // namespace lockstep::gui
