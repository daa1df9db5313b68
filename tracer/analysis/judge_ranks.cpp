// The laws of ranks: what is exchanged between them, and when. Those of gradients are
// DistributedDataParallel's; judge_averages.cpp has local SGD's.
// N = number of ranks, P and B = bytes of parameters and buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/collectives.h"
#include "tracer/analysis/judge.h"
#include "tracer/analysis/judge_messages.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

void judge_halves(TraceUnderTest& test) {
  Law& law = test.law_of_ranks("halves-matched", "every message was sent and received");
  for (const Event& event : test.trace.events) {
    if (!event.is(categories::send) && !event.is(categories::recv)) continue;
    law.expect(false, event.id, [&] {
      return fmt::format(
          "{} #{} from {} to {} ({} {}, message {}) has no matching half; fix: merge "
          "the files of all ranks",
          event.cat, event.id, int_arg(event.args, keys::src),
          int_arg(event.args, keys::dst), string_arg(event.args, keys::why),
          int_arg(event.args, keys::seq), int_arg(event.args, keys::ring_step));
    });
  }
}

/// All ranks must reduce the same bucket, reason and type, of the same parameters in
/// the same order: the sums would be of different gradients.
void judge_packing(Law& law, const CollectivePart& part, const CollectivePart& first,
                   int64_t rank) {
  const auto differs = [&](const char* key, const auto& mine, const auto& theirs) {
    law.expect(mine == theirs, part.event->id, [&] {
      return fmt::format("rank {}: `{}` of {} #{} is {}, but {} on another rank", rank,
                         key, part.event->name, number_of(part.facts), mine, theirs);
    });
  };
  differs(keys::why, part.facts.why, first.facts.why);
  differs(keys::bucket, part.facts.bucket, first.facts.bucket);
  differs(keys::dtype, text_arg(part.event->args, keys::dtype),
          text_arg(first.event->args, keys::dtype));
  if (!part.facts.params.exists() && !first.facts.params.exists()) return;
  const Json mine = part.facts.params.json(), theirs = first.facts.params.json();
  if (mine == theirs) return;
  size_t at = 0;
  while (at < mine.size() && at < theirs.size() && mine[at] == theirs[at]) ++at;
  const auto name = [at](const Json& params) {
    return at < params.size() ? params[at].dump() : "missing";
  };
  law.expect(false, part.event->id, [&] {
    return fmt::format("rank {}: parameter {} of {} #{} is {}, but {} on another rank",
                       rank, at, part.event->name, number_of(part.facts), name(mine),
                       name(theirs));
  });
}

void judge_agreement(Law& law, const WholeCollective& whole, int64_t ranks) {
  const auto& [first, facts] = whole.by_rank.begin()->second;
  const auto present = static_cast<int64_t>(whole.by_rank.size());
  law.expect(present == ranks, first->id, [&, &first = first, &facts = facts] {
    return fmt::format("{} #{} was called by {} of {} ranks", first->name,
                       number_of(facts), present, ranks);
  });
  for (const auto& [rank, part] : whole.by_rank) {
    const bool same =
        part.event->name == first->name && part.facts.bytes == facts.bytes;
    const auto explain = [&, rank = rank, &part = part, &first = first,
                          &facts = facts] {
      return fmt::format(
          "rank {}: collective #{} is {} ({} B), but another rank called {} ({} B)",
          rank, number_of(part.facts), part.event->name, part.facts.bytes, first->name,
          facts.bytes);
    };
    law.expect(same, part.event->id, explain);
    judge_packing(law, part, whole.by_rank.begin()->second, rank);
  }
}

/// A message between two ranks is a collective of these names.
bool is_of_two(const Event& collective) {
  return collective.name == categories::send || collective.name == categories::recv;
}

/// The two calls, and the message itself, are of the same bytes.
void judge_pair(Law& law, const WholeCollective& whole) {
  const Event& first = *whole.by_rank.begin()->second.event;
  const CollectiveFacts& facts = whole.by_rank.begin()->second.facts;
  int64_t sends = 0, receives = 0;
  bool equal = whole.messages.size() == 1;
  for (const auto& [rank, part] : whole.by_rank) {
    ++(part.event->name == categories::send ? sends : receives);
    equal = equal && part.facts.bytes == facts.bytes;
  }
  equal = equal && whole.messages[0].facts.known_bytes() == facts.bytes;
  law.expect(sends == 1 && receives == 1 && equal, first.id, [&] {
    return fmt::format(
        "{} #{} of {} B: {} sends, {} receives and {} messages, expected one of each "
        "with the same bytes",
        first.name, number_of(facts), facts.bytes, sends, receives,
        whole.messages.size());
  });
}

/// Returns how many times the tensor's bytes are sent, summed over all ranks; 0 if no
/// law applies. Gloo's messages are modelled as a ring or a tree. (Its reduce ends with
/// all ranks sending chunks to the root, so its bytes are not sent a whole number of
/// times.)
int64_t times_around(const Event& collective, std::string_view algorithm,
                     int64_t ranks) {
  if (algorithm != "ring" && algorithm != "gloo" && algorithm != "tree") return 0;
  if (collective.name == reasons::all_reduce) return 2 * (ranks - 1);
  if (collective.name == reasons::broadcast) return ranks - 1;
  return collective.name == reasons::reduce && algorithm == "ring" ? ranks - 1 : 0;
}

void judge_messages(Law& total, Law& share, Law& count, const WholeCollective& whole,
                    int64_t ranks) {
  const Event& first = *whole.by_rank.begin()->second.event;
  const CollectiveFacts& facts = whole.by_rank.begin()->second.facts;
  const int64_t bytes = facts.bytes, seq = number_of(facts);
  const int64_t around = times_around(first, facts.algorithm, ranks);
  if (around == 0) return;
  int64_t sum = 0;
  std::map<int64_t, std::pair<int64_t, int64_t>> sent;  // device → bytes, messages
  for (const auto& [event, message] : whole.messages) {
    sum = add_within_range(sum, message.known_bytes());
    auto& [of_rank, messages] = sent[message.src];
    of_rank = add_within_range(of_rank, message.known_bytes());
    ++messages;
  }
  total.expect(sum == around * bytes, first.id, [&] {
    return fmt::format("{} #{} of {} B moved {} B, expected {} times its bytes: {}",
                       first.name, seq, bytes, sum, around, around * bytes);
  });
  if (first.name != reasons::all_reduce || facts.algorithm == "tree") return;
  for (const auto& [device, moved] : sent) {
    const double due = static_cast<double>(bytes) * static_cast<double>(around) /
                       static_cast<double>(ranks);
    share.expect(std::abs(static_cast<double>(moved.first) - due) <= 8, first.id, [&] {
      return fmt::format("in {} #{} device {} sent {} B, expected {:.1f} B ± 8",
                         first.name, seq, device, moved.first, due);
    });
    count.expect(moved.second == around, first.id, [&] {
      return fmt::format("in {} #{} device {} sent {} messages, expected {}",
                         first.name, seq, device, moved.second, around);
    });
  }
}

/// One rank's step: the `grad_ready` marks and the collectives of its buckets.
struct RankStep {
  std::map<std::string_view, int64_t> ready_by;  ///< parameter → kernel
  std::vector<CollectivePart> buckets;           ///< sorted by time
  int64_t broadcast = 0;                         ///< bytes of the buffers
};

/// Returns the steps by step number and rank.
LaneMap<RankStep> find_rank_steps(const TraceUnderTest& test) {
  LaneMap<RankStep> steps;
  for (const Event& event : test.trace.events) {
    if (event.step == kNone || event.ph == 'M') continue;
    RankStep& step = steps[{event.step, test.lanes.of(event).rank}];
    if (event.ph == 'i' && event.name == names::grad_ready) {
      step.ready_by[text_arg(event.args, keys::param)] =
          int_arg(event.args, keys::by, kNone);
    } else if (event.is(categories::collective)) {
      const CollectiveFacts facts = collective_facts(event);
      if (facts.why == reasons::all_reduce) {
        step.buckets.push_back({&event, facts});
      } else if (facts.why == reasons::broadcast) {
        step.broadcast = add_within_range(step.broadcast, facts.bytes);
      }
    }
  }
  return steps;
}

void judge_dependencies(const TraceUnderTest& test, Law& law, const RankStep& step,
                        const CollectivePart& bucket) {
  if (!bucket.facts.params.is_array()) return;
  const Json params = bucket.facts.params.json();
  for (const Json& param : params) {
    if (!param.is_string()) continue;
    const auto ready = step.ready_by.find(param.get_ref<const std::string&>());
    if (ready == step.ready_by.end() || ready->second == kNone) continue;
    const Event* kernel = test.index.find(ready->second);
    const bool waits = kernel && waits_for(test, *bucket.event, *kernel);
    law.expect(waits, bucket.event->id, [&] {
      return fmt::format(
          "{} #{} of {} does not wait for kernel #{}, which finishes the "
          "gradient of {}",
          bucket.event->name, number_of(bucket.facts), bucket.facts.tensor,
          ready->second, ready->first);
    });
  }
}

/// With `no_sync`, gradients stay on their ranks until a later step reduces them.
bool accumulates(const Step& step) {
  const Value synced = step.event->args.find(keys::synced);
  return synced.exists() && !synced.is_true() && !step.has_phase(phases::optimizer);
}

void judge_steps_of_ranks(TraceUnderTest& test, int64_t parameter_bytes,
                          int64_t buffer_bytes) {
  Law& whole =
      test.law("gradients-reduced", "each synced step reduces all gradients: P");
  Law& order = test.law("bucket-order", "buckets are reduced in order");
  Law& deps =
      test.law("bucket-deps", "a bucket waits for the kernels of all its gradients");
  Law& buffers =
      test.law("buffers-broadcast", "a synced forward broadcasts the buffers: B");
  const LaneMap<RankStep> rank_steps = find_rank_steps(test);
  for (const Step& step : test.steps) {
    if (step.interrupted || !step.train) continue;
    const RankStep* found = rank_steps.find({step.number, step.rank});
    if (found == nullptr) continue;
    int64_t reduced = 0, last = -1;
    for (const CollectivePart& bucket : found->buckets) {
      reduced = add_within_range(reduced, bucket.facts.bytes);
      judge_dependencies(test, deps, *found, bucket);
      const int64_t number = bucket.facts.bucket;
      if (number == kNone) continue;
      order.expect(number == last + 1, bucket.event->id, [&] {
        return fmt::format("rank {} reduces bucket {} after bucket {}", step.rank,
                           number, last);
      });
      last = number;
    }
    const int64_t wanted = accumulates(step) ? 0 : parameter_bytes;
    whole.expect(
        reduced == wanted || !step.has_phase(phases::backward), step.event->id, [&] {
          return fmt::format("step {}, rank {}: {} B of gradients reduced, expected {}",
                             step.number, step.rank, reduced, wanted);
        });
    const int64_t due = int_arg(step.event->args, keys::broadcast_bytes, buffer_bytes);
    buffers.expect(found->broadcast == due && (due == 0 || due == buffer_bytes),
                   step.event->id, [&] {
                     return fmt::format(
                         "step {}, rank {}: {} B of buffers broadcast, expected {}",
                         step.number, step.rank, found->broadcast,
                         due == 0 ? 0 : buffer_bytes);
                   });
  }
}

/// Every rank must move its share of the batch to its device.
void judge_inputs(TraceUnderTest& test) {
  Law& law =
      test.law("images-h2d-of-ranks", "each rank receives its images and labels");
  for (const Step& step : test.steps) {
    if (step.interrupted) continue;
    int64_t moved = 0;
    for (const Event* task : step.tasks) {
      if (!task->is(categories::copy)) continue;
      const CopyFacts copy = copy_facts(*task);
      if (copy.why == reasons::h2d) moved = add_within_range(moved, copy.known_bytes());
    }
    const int64_t due = add_within_range(step.input_bytes, step.label_bytes);
    law.expect(moved == due, step.event->id, [&] {
      return fmt::format("step {}, rank {}: {} B went to the device, expected {}",
                         step.number, step.rank, moved, due);
    });
  }
}

/// Returns whether parameter servers are processes: then gradients and weights are
/// messages.
bool has_remote_servers(const Trace& trace) {
  return string_arg(trace.lockstep, top::mode) == "ps" &&
         std::any_of(trace.events.begin(), trace.events.end(), [](const Event& event) {
           return event.is(categories::collective) && is_of_two(event);
         });
}

}  // namespace

void judge_ranks(TraceUnderTest& test) {
  const std::string mode = string_arg(test.trace.lockstep, top::mode);
  const Json& info = object_arg(test.trace.other, top::distributed);
  const int64_t ranks = std::max<int64_t>(1, int_arg(info, top::world_size, 1));
  const bool stages = mode == "model-parallel" && ranks > 1;
  const bool servers = has_remote_servers(test.trace);
  if (mode != "ddp" && mode != "local-sgd" && !stages && !servers) return;
  judge_halves(test);
  Law& agreement =
      test.law_of_ranks("ranks-agree", "all ranks call the same collectives");
  Law& total =
      test.law_of_ranks("ring-bytes", "an all-reduce moves 2(N−1) times its bytes");
  Law& share =
      test.law_of_ranks("ring-share", "each rank sends 2(N−1)/N of an all-reduce");
  Law& count = test.law_of_ranks("ring-messages", "each rank sends 2(N−1) messages");
  Law* pairs = stages || servers
                   ? &test.law_of_ranks("sends-received",
                                        "what one rank sends, another receives")
                   : nullptr;
  MessageLaws messages(test);
  if (!info.contains(top::rank)) {  // a file with all ranks
    for (const auto& [key, whole] : find_collectives(test.trace, test.lanes)) {
      if (whole.by_rank.empty()) continue;
      if (is_of_two(*whole.by_rank.begin()->second.event)) {
        if (pairs != nullptr) judge_pair(*pairs, whole);
        continue;
      }
      // The servers take part in no collective.
      const int64_t size = whole.by_rank.begin()->second.facts.group_size;
      const int64_t members = servers ? size : ranks;
      judge_agreement(agreement, whole, members);
      judge_messages(total, share, count, whole, members);
      messages.judge(whole, members);
    }
  }
  judge_collective_deps(test);
  judge_inputs(test);
  if (mode != "ddp") return;
  const Json& model = object_arg(test.trace.lockstep, top::model);
  judge_steps_of_ranks(test, int_arg(model, top::parameter_bytes),
                       int_arg(model, top::buffer_bytes));
}

}  // namespace lockstep::tracer
