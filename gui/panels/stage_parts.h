// The components of the stages: cards for devices and ranks, the paths between them,
// and the data in transit.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "gui/app/app.h"
#include "gui/model/waiting.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

// ---- Positions of the host and the devices, and the paths between them.

/// The maximum number of cards; any further devices share the last card.
inline constexpr size_t kMaxCards = 16;

struct StageLayout {
  Rect host;
  std::vector<Rect> cards;  ///< one per device; all devices after the 15th share one
  bool compact = false;     ///< cards are small and show only the essentials
  bool two_rows = false;
  float gap = 0;  ///< between two columns of cards
  float bus = 0;  ///< with two rows: y of the line between them that joins the devices
  Rect below;     ///< room for arcs between devices

  /// Returns the index of a device's card.
  size_t card_of(int device) const {
    return std::min(static_cast<size_t>(device), cards.size() - 1);
  }
};

StageLayout lay_out(const Rect& room, size_t devices);

/// Cubic Bézier curves from one memory to another, each beginning where the one before
/// it ends.
struct Path {
  std::vector<std::array<ImVec2, 4>> curves;
  ImVec2 at(float t) const;  ///< t from 0 to 1, by length
};

/// Returns the path between the host (kHostDevice) and a device, or between two
/// devices. It crosses no card: with two rows, paths to the lower row run between the
/// columns, and those between devices along the bus.
Path path_between(const StageLayout& layout, int from, int to);

// ---- One device: its name, its current work, its memory and its port.

struct CardStyle {
  bool compact = false;
  bool hot = false;   ///< its port transfers far more than the others in this step
  size_t others = 0;  ///< devices without a card that it stands for, too
};

void draw_device_card(const Ui& ui, const Rect& r, const OpenTrace& trace, int device,
                      CardStyle style);

/// Returns the device whose port carries at least 1.5 times the mean of the step, or
/// kHostDevice if there is no such device.
int busiest_device(const OpenTrace& trace);

// ---- Memory by category, and names of tasks.

/// Draws a bar showing memory by category; `scale` bytes fill the whole bar.
void draw_memory(const Ui& ui, const Rect& r, const Memory& memory, int64_t scale);
/// Draws the names and colours of the largest categories, as many as fit.
void draw_memory_legend(const Ui& ui, Rect r, const Memory& memory);
std::vector<size_t> by_size(const Memory& memory);  ///< categories, largest first
int64_t largest_memory(const OpenTrace& trace);     ///< over all devices, now

/// Returns "memory" if the bytes are those that the device has reached, or "memory as
/// queued" if they are those that the host has enqueued by now: see memory.h.
const char* memory_label(const DeviceState& device);
/// Returns the live bytes and, if they are as queued, says so.
std::string memory_amount(const DeviceState& device);

/// Returns, for example, "conv2d" or, for a copy, "h2d from host".
std::string task_name(const Model& model, uint32_t event);
/// Returns, for example, "waits for a core: conv2d"; "idle" if no task is enqueued.
std::string waiting_words(const Model& model, const Waiting& waiting);
/// Returns "conv2d waits", for cards on which the cause does not fit; "idle" as above.
std::string brief_waiting_words(const Model& model, const Waiting& waiting);

// ---- Data in transit: the appearance of packets on all stages.

/// Returns the size of a packet, 9 to 26 points, based on the cube root of `bytes`.
float packet_size(int64_t bytes);

/// Returns what is in flight: while playing, what the event causes; else, what is under
/// way at that moment.
const std::vector<Packet>& packets_shown(const App& app, const OpenTrace& trace);
const Underway& underway_shown(const App& app, const OpenTrace& trace);

/// If the copy waits, draws an outline.
void draw_packet(const Ui& ui, ImVec2 at, float size, ImU32 colour, bool waits = false);

/// Draws a packet with a label inside it.
void draw_pill(const Ui& ui, ImVec2 at, ImU32 colour, const std::string& words,
               bool waits = false);

/// Draws `label` next to a packet, between the left and right edge of `within`, where
/// it covers least of what is `taken`.
void draw_packet_label(const Ui& ui, ImVec2 at, float size, const Rect& within,
                       ImU32 colour, const std::string& label,
                       std::span<const Rect> taken = {});
/// Returns the label's box, of this width.
Rect place_label(ImVec2 at, float size, const Rect& within, float wide,
                 std::span<const Rect> taken);

/// Returns, for example, "2.37 MB  all_reduce" or, if the copy waits, "2.37 MB
/// all_reduce · in 3.20 ms".
std::string packet_label(const OpenTrace& trace, const Packet& packet);

// ---- DistributedDataParallel: ranks in two rows around a ring, each with its host on
// the outside and its device on the ring.

struct RingLayout {
  static constexpr size_t kNoCard = SIZE_MAX;

  std::vector<Rect> hosts, devices;  ///< by card
  std::vector<float>
      ports;  ///< where each card is attached: a fraction of the ring's length
  std::vector<int> shown;    ///< the devices that have a card, by card
  std::vector<size_t> card;  ///< by device; kNoCard if it has none
  float others = 0;          ///< where the ranks without a card are, as in `ports`
  Rect strip;                ///< for a mark per rank; empty if each has a card
  Rect loop;                 ///< bounds of the ring, which has rounded ends
  bool compact = false;      ///< cards are small and show only the essentials

  size_t without_card() const { return card.size() - shown.size(); }

  bool is_top(size_t of_card) const { return devices[of_card].y < loop.y; }
  /// Returns a point on the ring, clockwise from the upper left; ignores whole turns.
  ImVec2 on_loop(float share) const;
  /// Returns where on the ring a card, or kNoCard, is attached.
  float share(size_t of_card) const {
    return of_card == kNoCard ? others : ports[of_card];
  }
  /// Returns the point where a card's connection to the ring begins.
  ImVec2 port(size_t of_card) const;
};

/// Returns the devices in ring order, as given by the rings in the trace if there are
/// any, and otherwise by number. Sets `recorded` if there is one.
std::vector<int> ring_order(const Model& model, bool* recorded = nullptr);

/// Returns true if there are several ranks with one device each.
bool is_ring(const Model& model);

/// Places the ranks of `order` if there are at most 16, otherwise those around the
/// device `focus`, and a strip with a mark for each rank. The first half is above, from
/// left to right, the rest below, from right to left. If `above` is not 0, the first
/// `above` are above and the rest below, both from left to right; of more than 16, each
/// row shows as many as fit.
RingLayout lay_out_ring(const Rect& room, const std::vector<int>& order, int focus = 0,
                        size_t above = 0);

/// Returns the position of a message on its path, clockwise or, if `back`, the other
/// way, for `t` from 0 to 1. At most one of its ends is kNoCard.
ImVec2 on_ring_path(const RingLayout& layout, size_t from, size_t to, float t,
                    bool back = false);

/// How the ranks are joined. A ring passes everything on clockwise. A pipeline is a
/// chain: activations go clockwise, from each rank to the next, and gradients back.
struct Joints {
  std::vector<int> order;  ///< the devices, from the first to the last
  bool is_chain = false;
  bool closed = true;     ///< the last rank is joined to the first one
  bool recorded = false;  ///< the trace has a ring or is a pipeline: drawn with arrows

  /// Returns whether the copy goes to the rank before, against the clock.
  bool goes_back(const Model& model, const Copy& copy) const;
};
Joints joints_of(const Model& model);

// ---- One rank on the ring: the activity of its host, and its device.

struct RankCard {
  Rect host, device;
  int number = 0;  ///< the device's index
  bool compact = false;
};

/// `now` is the collective that is shown: see underway_shown().
void draw_rank_card(const Ui& ui, const RankCard& card, const OpenTrace& trace,
                    const Underway& now);
/// Returns what the rank's device does, a line per stream, for cards too narrow for it.
std::string rank_tip(const Ui& ui, const OpenTrace& trace, int device,
                     const Underway& now);

/// Returns a label for a rank's part in a collective: "all_reduce · bucket 1" or
/// "broadcast · buffers"; if `brief` is true, "bucket 1" or "broadcast".
std::string collective_label(const Model& model, uint32_t event, bool brief = false);

/// Draws one mark per rank in ring order: above what it computes, below what it
/// communicates. A click chooses the rank. `layout.strip` must not be empty.
void draw_rank_strip(const Ui& ui, const RingLayout& layout,
                     const std::vector<int>& order, App& app, const OpenTrace& trace);

/// Draws the cards of all ranks that have one. A click chooses the rank.
void draw_rank_cards(const Ui& ui, const RingLayout& layout, App& app,
                     const OpenTrace& trace, const Underway& now);

/// Draws a copy between a rank's host and its device; with a label if `named`.
void draw_host_copy(const Ui& ui, const RingLayout& layout, const OpenTrace& trace,
                    const Packet& packet, bool named);

void draw_ring_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace);

// ---- A model in host memory that all workers train.

/// Returns true for hogwild and locked.
bool has_shared_model(const Model& model);
/// Draws the model in the place of the host: its version, and who reads or updates it.
void draw_shared_model(const Ui& ui, const Rect& r, const OpenTrace& trace);
/// Draws the queue for the lock, if there is one, and how many updates had which
/// staleness, over the whole trace.
void draw_below_shared_model(const Ui& ui, Rect room, App& app, const OpenTrace& trace);

// ---- Parameter servers: workers above, servers below, and a link between each two of
// those that have a card.

/// Returns true if the trace has parameter servers and a device for each rank.
bool has_server_stage(const Model& model);
void draw_server_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace);

}  // namespace lockstep::gui
