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

/// At most so many devices have a card of their own; the others share the last.
inline constexpr size_t kMaxCards = 16;

struct StageLayout {
  Rect host;
  std::vector<Rect> cards;  ///< one per device, or per group behind the 15th
  bool compact = false;     ///< cards are small: only what matters most
  bool two_rows = false;
  Rect below;  ///< the room for arcs between devices

  /// The card of a device.
  size_t card_of(int device) const {
    return std::min(static_cast<size_t>(device), cards.size() - 1);
  }
};

StageLayout lay_out(const Rect& room, size_t devices);

/// A cubic curve from one memory to another.
struct Path {
  std::array<ImVec2, 4> points;
  ImVec2 at(float t) const;
};

/// Between the host (kHostDevice) and devices, or between two devices.
Path path_between(const StageLayout& layout, int from, int to);

// ---- One device: its name, what it runs, its memory, its port.

struct CardStyle {
  bool compact = false;
  bool hot = false;    ///< its port moves far more than the others' in this step
  bool group = false;  ///< stands for this device and all behind it
};

void draw_device_card(const Ui& ui, const Rect& r, const OpenTrace& trace, int device,
                      CardStyle style);

/// The device whose port carries at least 1.5 times the mean of all in this step;
/// kHostDevice if there is none.
int busiest_device(const OpenTrace& trace);

// ---- Memory by category, and names of tasks.

/// A bar of memory by category; `scale` bytes fill it.
void draw_memory(const Ui& ui, const Rect& r, const Memory& memory, int64_t scale);
/// The largest categories in words, beside their colours, as far as there is room.
void draw_memory_legend(const Ui& ui, Rect r, const Memory& memory);
std::vector<size_t> by_size(const Memory& memory);  ///< categories, largest first
int64_t largest_memory(const OpenTrace& trace);     ///< of all devices at this moment

/// "conv2d", "h2d from host"
std::string task_name(const Model& model, uint32_t event);

// ---- Data on its way: how a packet looks wherever it flies.

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

// ---- DistributedDataParallel: ranks in two rows around a ring, each with its own host
// on the outside and its device on the ring.

struct RingLayout {
  std::vector<Rect> hosts, devices;  ///< by card; ranks behind the 15th share the last
  std::vector<float> ports;  ///< where a card meets the ring: a share of the way round
  std::vector<size_t> card;  ///< of each device
  Rect loop;                 ///< the ring: a line around this, with round ends
  bool compact = false;      ///< cards are small: only what matters most

  bool is_top(size_t of_card) const { return devices[of_card].y < loop.y; }
  /// Clockwise from the upper left; whole turns do not matter.
  ImVec2 on_loop(float share) const;
  /// Where a card's stub leaves the card.
  ImVec2 port(size_t of_card) const;
};

/// The devices as the messages go round: from the trace's own rings where there are
/// any, else by number.
std::vector<int> ring_order(const Model& model);

/// Several ranks, each with one device?
bool is_ring(const Model& model);

RingLayout lay_out_ring(const Rect& room, const std::vector<int>& order);

/// The way of a message, clockwise; `t` from 0 to 1.
ImVec2 on_ring_path(const RingLayout& layout, size_t from, size_t to, float t);

// ---- One rank on the ring: what its host does, and its device.

struct RankCard {
  Rect host, device;
  int number = 0;   ///< the device's index
  size_t more = 0;  ///< ranks that share the card
  bool compact = false;
};

void draw_rank_card(const Ui& ui, const RankCard& card, const OpenTrace& trace);

/// "all_reduce · bucket 1", "broadcast · buffers": a rank's part of a collective.
/// `brief`: "bucket 1", "broadcast".
std::string collective_label(const Model& model, uint32_t event, bool brief = false);

void draw_ring_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace);

}  // namespace lockstep::gui
