#include "tracer/analysis/judge_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

const CollectivePart& first_part(const WholeCollective& whole) {
  return whole.by_rank.begin()->second;
}

/// Returns, for example, "all_reduce #3".
std::string label(const WholeCollective& whole) {
  const auto& [event, facts] = first_part(whole);
  return fmt::format("{} #{}", event->name, number_of(facts));
}

/// Returns the devices of the ranks, in the order of the ring.
std::vector<int64_t> ring_of(const TraceUnderTest& test, const WholeCollective& whole) {
  std::vector<int64_t> devices;
  for (const auto& [rank, part] : whole.by_rank) {
    devices.push_back(test.lanes.of(*part.event).device);
  }
  return devices;
}

/// Returns the device `hops` after `from` on the ring, or kNowhere.
int64_t device_after(const std::vector<int64_t>& ring, int64_t from, int64_t hops) {
  const auto at = std::find(ring.begin(), ring.end(), from);
  if (at == ring.end() || hops < 0) return kNowhere;
  return ring[(at - ring.begin() + hops) % ring.size()];
}

/// Returns whether every rank sends and receives a message in each step.
bool has_rounds(std::string_view name) {
  return name == reasons::all_reduce || name == "all_gather" ||
         name == "reduce_scatter";
}

/// Returns whether one message follows another, from rank to rank.
bool is_chain(std::string_view name) {
  return name == reasons::broadcast || name == reasons::reduce;
}

}  // namespace

bool waits_for(const TraceUnderTest& test, const Event& waiting, const Event& awaited) {
  return std::any_of(waiting.deps.begin(), waiting.deps.end(), [&](int64_t id) {
    const Event* dep = test.index.find(id);
    if (dep == &awaited) return true;
    return dep != nullptr && is_task(*dep) && lane_of(*dep) == lane_of(awaited) &&
           dep->ts >= awaited.end();
  });
}

MessageLaws::MessageLaws(TraceUnderTest& test)
    : test_(test),
      facts_(test.law_of_ranks(
          "messages-agree", "a message has its collective's reason, tensor and type")),
      steps_(
          test.law_of_ranks("ring-steps", "messages go around the ring step by step")),
      forwarding_(test.law_of_ranks(
          "ring-forwarding", "a rank sends what it has packed or received before")) {}

void MessageLaws::judge(const WholeCollective& whole, int64_t ranks) {
  judge_facts(whole);
  const bool whole_ring = static_cast<int64_t>(whole.by_rank.size()) == ranks;
  if (first_part(whole).facts.algorithm == "ring" && whole_ring) {
    judge_ring(whole, ranks);
  }
}

void MessageLaws::judge_facts(const WholeCollective& whole) {
  const auto& [call, facts] = first_part(whole);
  const std::pair<const char*, std::string_view> expected[] = {
      {keys::why, facts.why},
      {keys::tensor, facts.tensor},
      {keys::dtype, text_arg(call->args, keys::dtype)}};
  for (const CollectiveMessage& message : whole.messages) {
    for (const auto& [key, value] : expected) {
      const std::string_view found = text_arg(message.event->args, key);
      facts_.expect(found == value, message.event->id, [&, key = key, value = value] {
        return fmt::format(
            "`{}` of message {} of {}, from {} to {}, is `{}`, expected "
            "`{}`",
            key, message.facts.ring_step, label(whole), message.facts.src,
            message.facts.dst, found, value);
      });
    }
  }
}

void MessageLaws::judge_ring(const WholeCollective& whole, int64_t ranks) {
  const std::string_view name = first_part(whole).event->name.view();
  if (ranks < 2 || whole.messages.empty()) return;
  const std::vector<int64_t> ring = ring_of(test_, whole);
  if (is_chain(name)) judge_chain(whole, ring);
  if (has_rounds(name)) judge_rounds(whole, ring);
  if (is_chain(name) || has_rounds(name)) judge_forwarding(whole);
}

/// Step s of a chain is from the rank that received in step s − 1.
void MessageLaws::judge_chain(const WholeCollective& whole,
                              const std::vector<int64_t>& ring) {
  const auto begins = [](const CollectiveMessage& m) { return m.facts.ring_step == 0; };
  const auto start = std::find_if(whole.messages.begin(), whole.messages.end(), begins);
  const int64_t root = start == whole.messages.end() ? kNowhere : start->facts.src;
  for (const auto& [event, facts] : whole.messages) {
    const int64_t step = facts.ring_step;
    const int64_t src = device_after(ring, root, step);
    const int64_t dst = device_after(ring, root, step + 1);
    steps_.expect(facts.src == src && facts.dst == dst && src != kNowhere, event->id,
                  [&, event = event, &facts = facts] {
                    return fmt::format(
                        "message {} of {} goes from {} to {}, expected from {} to {}",
                        step, label(whole), facts.src, facts.dst, src, dst);
                  });
  }
}

/// Each rank receives step 0, 1, … from the one before it.
void MessageLaws::judge_rounds(const WholeCollective& whole,
                               const std::vector<int64_t>& ring) {
  std::map<int64_t, int64_t> received;  // device → number of messages so far
  for (const auto& [event, facts] : whole.messages) {
    const int64_t step = received[facts.dst]++;
    steps_.expect(facts.ring_step == step, event->id, [&, &facts = facts] {
      return fmt::format(
          "the message that device {} receives after {} others of {} has `ring_step` "
          "{}, expected {}",
          facts.dst, step, label(whole), facts.ring_step, step);
    });
    const int64_t next = device_after(ring, facts.src, 1);
    steps_.expect(facts.dst == next, event->id, [&, &facts = facts] {
      return fmt::format("message {} of {} goes from {} to {}, expected to {}",
                         facts.ring_step, label(whole), facts.src, facts.dst, next);
    });
  }
}

void MessageLaws::judge_forwarding(const WholeCollective& whole) {
  std::map<std::pair<int64_t, int64_t>, const Event*> received;  // device, step
  for (const auto& [event, facts] : whole.messages) {
    received[{facts.dst, facts.ring_step}] = event;
  }
  for (const CollectiveMessage& message : whole.messages) {
    const auto& [event, facts] = message;
    if (facts.ring_step == 0) {
      judge_first(message, whole);
      continue;
    }
    const auto before = received.find({facts.src, facts.ring_step - 1});
    if (before == received.end()) continue;  // `ring-steps` or `ring-bytes` is broken
    const int64_t id = before->second->id;
    const bool waits =
        std::find(event->deps.begin(), event->deps.end(), id) != event->deps.end();
    forwarding_.expect(waits, event->id, [&, &facts = facts] {
      return fmt::format(
          "message {} of {}, from {} to {}, does not wait for #{}, in which device {} "
          "receives what it passes on",
          facts.ring_step, label(whole), facts.src, facts.dst, id, facts.src);
    });
  }
}

/// A first message waits for what its sender's collective waits for.
void MessageLaws::judge_first(const CollectiveMessage& message,
                              const WholeCollective& whole) {
  const auto& [event, facts] = message;
  for (const auto& [rank, part] : whole.by_rank) {
    if (test_.lanes.of(*part.event).device != facts.src) continue;
    for (const int64_t id : part.event->deps) {
      const Event* awaited = test_.index.find(id);
      if (awaited == nullptr) continue;  // `references` is broken
      forwarding_.expect(waits_for(test_, *event, *awaited), event->id, [&] {
        return fmt::format(
            "message 0 of {}, from {} to {}, does not wait for {} #{}, as its sender "
            "does",
            label(whole), message.facts.src, message.facts.dst, name_of(*awaited), id);
      });
    }
  }
}

namespace {

/// What one host thread enqueued on the compute stream of one device: when the
/// operation ended, and the last kernel of all operations that had ended by then.
struct Enqueued {
  int64_t until = 0;
  const Event* kernel = nullptr;
};
using Queue = std::vector<Enqueued>;
using Queues = std::map<std::pair<LaneKey, int64_t>, Queue>;  // by thread and device

Queues find_queues(const TraceUnderTest& test) {
  Queues queues;
  for (const Event& event : test.trace.events) {
    if (!event.is(categories::kernel) || event.op == kNone) continue;
    const Lane& lane = test.lanes.of(event);
    const Event* op = test.index.find(event.op);
    if (lane.stream != kComputeStream || op == nullptr) continue;
    queues[{lane_of(*op), lane.device}].push_back({op->end(), &event});
  }
  for (auto& [key, queue] : queues) {
    std::stable_sort(queue.begin(), queue.end(),
                     [](const auto& a, const auto& b) { return a.until < b.until; });
    const Event* last = nullptr;
    for (Enqueued& each : queue) {
      if (!last || last->ts < each.kernel->ts) last = each.kernel;
      each.kernel = last;
    }
  }
  return queues;
}

}  // namespace

void judge_collective_deps(TraceUnderTest& test) {
  Law& law = test.law("collective-deps",
                      "a collective waits for the kernels enqueued before it");
  const Queues queues = find_queues(test);
  for (const Event& event : test.trace.events) {
    if (!event.is(categories::collective) || event.ph != 'X') continue;
    if (event.name == categories::recv) continue;  // into memory that nothing else uses
    const Event* op = test.index.find(event.op);
    if (op == nullptr || event.op == kNone) continue;
    const auto queue = queues.find({lane_of(*op), test.lanes.of(event).device});
    if (queue == queues.end()) continue;
    const auto later = std::upper_bound(
        queue->second.begin(), queue->second.end(), op->ts,
        [](int64_t ts, const Enqueued& each) { return ts < each.until; });
    if (later == queue->second.begin()) continue;
    const Event& kernel = *std::prev(later)->kernel;
    law.expect(waits_for(test, event, kernel), event.id, [&] {
      const CollectiveFacts facts = collective_facts(event);
      return fmt::format(
          "{} #{} of {} does not wait for {} #{}, which was enqueued "
          "before it",
          event.name, number_of(facts), facts.tensor, name_of(kernel), kernel.id);
    });
  }
}

}  // namespace lockstep::tracer
