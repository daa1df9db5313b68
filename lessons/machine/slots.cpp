#include "lessons/machine/slots.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "engine/autograd/engine.h"
#include "engine/data/batch_queue.h"
#include "engine/data/rank_sampler.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/distributed/ddp/gradient_sync.h"
#include "engine/distributed/ddp/sync_batch_norm.h"
#include "engine/distributed/rendezvous/blame.h"
#include "engine/models/vgg.h"
#include "engine/nn/module_call.h"
#include "engine/parallel/model_and_criterion.h"
#include "engine/parallel/pipeline_order.h"
#include "engine/parallel/primitives.h"
#include "engine/sharing/hybrid_parts.h"
#include "engine/sharing/local_access.h"
#include "engine/sharing/server_access.h"
#include "engine/sharing/shared_access.h"
#include "engine/train/trainer.h"

namespace lockstep::lessons {
namespace {

struct NamedSlot {
  std::string name;
  std::function<bool()> plugged;
  std::function<void()> forbid_reference, allow_reference;
};

template <typename Result, typename... Args>
NamedSlot named(runtime::Slot<Result(Args...)>& slot) {
  using Function = std::function<Result(Args...)>;
  const auto kept = std::make_shared<Function>();
  const auto forbid = [&slot, kept] {
    if (!*kept) *kept = slot.reference();
    slot.set_reference([name = std::string(slot.name())](Args...) -> Result {
      throw std::logic_error("`" + name +
                             "` must be written here, not called: the engine's own "
                             "is disabled");
    });
  };
  const auto allow = [&slot, kept] { slot.set_reference(*kept); };
  return {slot.name(), [&slot] { return slot.plugged(); }, forbid, allow};
}

const std::vector<NamedSlot>& all_slots() {
  parallel::Primitives& dp = parallel::primitives();
  static const std::vector<NamedSlot> slots{
      named(autograd::tape_walk()),
      named(nn::module_call()),
      named(models::classifier_input()),
      named(data::batch_queue()),
      named(data::rank_sampler()),
      named(dp.scatter),
      named(dp.replicate),
      named(dp.parallel_apply),
      named(dp.gather),
      named(dp.broadcast_coalesced),
      named(dp.reduce_add_coalesced),
      named(parallel::chunk_criterion()),
      named(parallel::pipeline_order()),
      named(train::feature_wrapper()),
      named(distributed::sync_statistics()),
      named(distributed::sync_backward_sums()),
      named(distributed::ring_all_reduce()),
      named(distributed::blame_slot()),
      named(sharing::shared_begin()),
      named(sharing::shared_end()),
      named(sharing::server_push()),
      named(sharing::server_may_pull()),
      named(sharing::hybrid_gather()),
      named(sharing::hybrid_sum()),
      named(sharing::local_step()),
      named(sharing::local_average()),
      named(distributed::gradient_sync_factory())};
  return slots;
}

}  // namespace

bool is_plugged(const std::string& slot) {
  const auto& slots = all_slots();
  const auto found = std::ranges::find(slots, slot, &NamedSlot::name);
  if (found == slots.end()) {
    throw std::logic_error("lesson.json names the slot `" + slot +
                           "`, which the engine does not have");
  }
  return found->plugged();
}

void forbid_references() {
  for (const NamedSlot& slot : all_slots()) slot.forbid_reference();
}

void allow_references_of_empty_slots() {
  for (const NamedSlot& slot : all_slots()) {
    if (!slot.plugged()) slot.allow_reference();
  }
}

}  // namespace lockstep::lessons
