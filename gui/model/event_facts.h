// Facts about the event at a State, read from the trace or computed from the model.
//
// Each function adds facts (`english.h` lists their names) and omits those that the
// trace does not record. `gui/model/narration.cpp` selects the ones a sentence needs.
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

/// The device work that an event caused.
struct Caused {
  bool complete = true;    ///< false: too many events to count
  bool one_device = true;  ///< all of it on a single device
  int64_t kernels = 0, copies = 0, bytes = 0;
  int64_t first = INT64_MAX,
          end = 0;  ///< ns: start of the first task, end of the last
  uint32_t first_task = kNoEvent, first_copy = kNoEvent, mark = kNoEvent;
  int64_t waited = 0;                   ///< ns that the host waited
  std::map<int, int64_t> into, out_of;  ///< bytes per device
  bool nothing() const { return complete && kernels + copies == 0; }
};

Caused caused_by(const Model& model, const Event& cause);

class EventFacts {
 public:
  EventFacts(const Model& model, const State& state, const Breakdown& step,
             const Language& language);

 protected:
  /// Adds what the event caused, and source and destination if all transfers agree.
  Caused add_caused();
  /// Adds when that work began on the devices and how long it ran.
  void add_later(const Caused& caused);
  /// Adds a phase's device time, its share of the step, and its ratio to forward's; of
  /// several ranks, those of the event's rank.
  void add_cost(const std::string& phase);
  /// Adds the bytes transferred for this reason in the step, their source and
  /// destination, and the bytes each of the `others` sent (received, if `from_one`).
  void add_traffic(const std::string& why, bool from_one);
  /// Adds how many copies of this reason share one port (out of their source, or into
  /// their destination), and how many of them run at the same time.
  void add_turns(const std::string& why, bool out);
  /// Adds the layer that an op belongs to; for a backward op, that of its forward op.
  /// Returns the type of the module that called it.
  std::string add_layer(uint32_t op, const tracer::Json& op_args);
  /// Adds which images a copy holds. Returns false if that cannot be determined.
  bool add_chunk(const Copy& copy);
  /// Adds the copy's index among transfers with the same endpoints, reason and phase.
  /// Returns "parameters", "buffers" (which follow them), or "" if undetermined.
  std::string add_group(const Copy& copy);
  /// Adds the position in the ring. Returns "sum", "share", or "" if undetermined.
  std::string add_ring();
  /// Adds the bytes of all parameters if DataParallel wraps only some of them.
  bool add_wrapped_part();
  void add_places(int from, int to);

  // For traces with several ranks; defined in rank_facts.cpp.
  void add_rank();
  void add_rank_cost(const std::string& phase);
  /// Adds a collective's bucket, parameters, bytes, ranks, sent bytes, and how much of
  /// its time is hidden.
  bool is_bucket(uint32_t collective) const;
  void add_collective(uint32_t event);
  /// Adds the bucket of a parameter's gradient in this step. Returns false if unknown.
  bool add_bucket_of(const std::string& param);
  /// Adds facts about a ring message. Returns "adds", "replaces", "hop" or "".
  std::string add_message(const Copy& copy);
  /// Adds facts about a half of a message between the stages of a pipeline. Returns
  /// its reason; "" if the event is none.
  std::string add_stage_message();
  bool is_ddp() const;
  // For workers; defined in worker_facts.cpp.
  /// Returns "server" for what concerns one of the servers, else "servers".
  std::string add_server();
  /// Returns false unless the phase updates a model that workers share.
  bool add_shared_update();
  /// Adds for which workers the event, or what it calls, waits, and how long. Returns
  /// the servers' rule, such as "ssp"; "" if it waits for none.
  std::string add_wait_for_workers();
  void add_wait_for_lock();
  /// Returns the first collective that an event caused, or kNoEvent.
  uint32_t collective_below(uint32_t event) const;
  void add_device(int device);

  const std::string& name() const { return model_.name_of(event_); }
  std::string phase_name() const;  ///< of the innermost phase or step
  int64_t group_size() const;      ///< ranks in a collective; -1 if unknown
  double part_of_step(int64_t nanoseconds) const;
  bool is_complete() const;       ///< an op without kernels here really had none
  bool has_criterion() const;     ///< mode dp-criterion
  bool is_hybrid() const;         ///< features on several devices, classifier on one
  bool has_servers() const;       ///< mode ps
  bool averages_weights() const;  ///< mode local-sgd, with several ranks
  bool loss_on_each() const;      ///< mode dp-criterion, on several devices
  bool loss_inside() const;       ///< the same, with --loss-in-forward
  bool is_dp() const;             ///< DataParallel, with this step's batch split
  bool trains() const;
  bool computes() const { return computes_; }  ///< false: times are meaningless

  /// Returns the first of these templates whose facts are all known, filled in.
  std::string say(std::initializer_list<std::string> keys) const;

  const Model& model_;
  const State& state_;
  const Breakdown& step_;
  const Event& event_;
  const tracer::Json json_, args_;
  tracer::Json step_args_ = tracer::Json::object();
  int from_, to_;  ///< devices, kHostDevice, or -2 for several
  Facts facts_;

 private:
  void add_common();
  int64_t parameter_bytes() const;  ///< of the whole model; 0 if not recorded
  std::string place(int device, const char* as_device, const char* as_host);

  const Language& language_;
  std::vector<int64_t> chunks_;  ///< images per device, if the step records them
  bool computes_ = true;
};

}  // namespace lockstep::gui
