// A transport that records the messages of another transport.
#pragma once

#include <memory>

#include "engine/distributed/collectives/transport.h"

namespace lockstep::distributed {

/// Forwards each exchange to `transport` and records when its messages were transferred
/// and which events they waited for. A rank's first message in a collective waits for
/// what the collective waits for; each later one, for the message received before it.
class TracedTransport : public Transport {
 public:
  /// Records on behalf of rank `rank` of group `group`.
  TracedTransport(std::unique_ptr<Transport> transport, const std::string& group,
                  int rank);

  Exchanged exchange(const Outgoing* out, const Incoming* in,
                     const Collective& call) override;
  void abort(const std::string& why) override { transport_->abort(why); }
  bool shares_recorder() const override { return transport_->shares_recorder(); }

 private:
  void begin(const Collective& call);
  void record_received(const Incoming& in, const Collective& call, Exchanged& times,
                       int64_t cpu_ns);

  const std::unique_ptr<Transport> transport_;
  const char* group_;
  const int rank_;
  int64_t seq_ = -1;             ///< of the current collective
  std::vector<int64_t> causes_;  ///< events after which our next message is ready
  std::vector<runtime::EventPtr> waits_;  ///< work that our first message waits for
  int64_t last_ended_ = 0;                ///< when the previous message arrived
};

}  // namespace lockstep::distributed
