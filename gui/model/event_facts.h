// What is known about the event at a State: read in the trace, counted in the model.
//
// Each function adds facts (`english.h` lists their names) and leaves out what the
// trace does not say. `gui/model/narration.cpp` decides which of them a sentence needs.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/breakdown.h"
#include "gui/model/details.h"
#include "gui/model/state.h"
#include "gui/text/language.h"

namespace lockstep::gui {

/// What an event caused on the devices.
struct Caused {
  bool complete = true;    ///< false: too much to count
  bool one_device = true;  ///< all of it on a single one
  int64_t kernels = 0, copies = 0, bytes = 0;
  int64_t first = INT64_MAX,
          end = 0;  ///< ns: the first task's start, the last one's end
  uint32_t first_task = kNoEvent, first_copy = kNoEvent, mark = kNoEvent;
  int64_t waited = 0;                   ///< ns, of the host
  std::map<int, int64_t> into, out_of;  ///< bytes per device
  bool nothing() const { return complete && kernels + copies == 0; }
};

Caused caused_by(const Model& model, const Event& cause);

class EventFacts {
 public:
  EventFacts(const Model& model, const State& state, const Breakdown& step,
             const Language& language);

 protected:
  /// What it caused, and between which places, if all its transfers go one way.
  Caused add_caused();
  /// When that began on the devices, and for how long it ran.
  void add_later(const Caused& caused);
  /// A phase's time on the devices, its part of the step, its ratio to forward's.
  void add_cost(const std::string& phase);
  /// All bytes that moved for this reason in the step, between which places, and how
  /// many the `others` sent (or got, if one sends to many) `each`.
  void add_traffic(const std::string& why, bool from_one);
  /// The layer that an op belongs to, a backward op's by its forward op. Returns the
  /// type of the module that called it.
  std::string add_layer(uint32_t op, const tracer::Json& op_args);
  /// Which images a copy holds; false if that is not certain.
  bool add_chunk(const Copy& copy);
  /// Its number among the transfers between the same two for the same reason, in its
  /// phase. Returns "parameters", or "buffers", which follow them, or "" if unclear.
  std::string add_group(const Copy& copy);
  /// Its place in the ring. Returns "sum", "share", or "" if unclear.
  std::string add_ring();
  void add_places(int from, int to);

  // Of several ranks; in rank_facts.cpp.
  void add_rank();
  /// Bucket, parameters, bytes and ranks of a collective; what it sends and overlaps.
  void add_collective(uint32_t event);
  /// The bucket that a parameter's gradient goes into in this step; false if unknown.
  bool add_bucket_of(const std::string& param);
  /// Of a message of a ring: "adds", "replaces", "hop" or "".
  std::string add_message(const Copy& copy);
  bool is_ddp() const;
  /// The first collective that an event caused, or kNoEvent.
  uint32_t collective_below(uint32_t event) const;
  void add_device(int device);

  const std::string& name() const { return model_.name_of(event_); }
  std::string phase_name() const;  ///< of the innermost phase around the event
  int64_t group_size() const;      ///< of a collective; -1 if unknown
  double part_of_step(int64_t nanoseconds) const;
  bool is_complete() const;  ///< what has no kernel here had none
  bool is_dp() const;        ///< a DataParallel that cut this step's batch
  bool trains() const;
  bool computes() const { return computes_; }  ///< false: null devices' times are void

  /// The first of these templates whose facts are known.
  std::string say(std::initializer_list<std::string> keys) const;

  const Model& model_;
  const State& state_;
  const Breakdown& step_;
  const Event& event_;
  const tracer::Json json_, args_;
  tracer::Json step_args_ = tracer::Json::object();
  int from_, to_;  ///< devices, kHostDevice, or -2: several
  Facts facts_;

 private:
  void add_common();
  std::string place(int device, const char* as_device, const char* as_host);

  const Language& language_;
  std::vector<int64_t> chunks_;  ///< images per device, if the step says so
  bool computes_ = true;
};

}  // namespace lockstep::gui
