#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/plan/first_bucket.h"
#include "engine/plan/ring.h"
#include "tracer/emulate/construct/rank_of_ddp.h"
#include "tracer/emulate/construct/rank_program.h"
#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/construct/repeat.h"
#include "tracer/emulate/hardware/nccl.h"

namespace lockstep::tracer {
namespace {

constexpr const char* kRing = "ring";
constexpr int64_t kPiece = 64 << 10;  // bytes: of a tree's buffer
constexpr int64_t kPieces = 8;        // at most

void require_possible(const ConstructedProgram& program) {
  if (program.bucket_cap < 1 || program.first_bucket < 1) {
    throw std::runtime_error("a bucket needs at least 1 byte; fix: pass a larger cap");
  }
  if (program.batch % program.devices == 0) return;
  throw std::runtime_error(
      fmt::format("a batch of {} cannot be shared equally by {} ranks; fix: choose a "
                  "multiple of {}",
                  program.batch, program.devices, program.devices));
}

RecordedStep step_of_rank(const Trace& trace, const ConstructedProgram& program) {
  if (program.batch == 0) return recorded_step(trace);
  return step_with_batch(trace, program.further, program.batch / program.devices);
}

/// Returns buckets of the given sizes.
std::vector<plan::Bucket> cut(const std::vector<size_t>& order,
                              const std::vector<size_t>& sizes) {
  std::vector<plan::Bucket> buckets;
  size_t next = 0;
  for (const size_t size : sizes) {
    plan::Bucket& bucket = buckets.emplace_back();
    for (size_t i = 0; i < size && next < order.size(); ++i) {
      bucket.push_back(order[next++]);
    }
  }
  if (next == order.size()) return buckets;
  throw std::invalid_argument("the sizes of the buckets do not add up");
}

/// The program of one rank, with the collectives in the order of their calls.
class DdpRank {
 public:
  DdpRank(const RecordedStep& step, const ConstructedProgram& program)
      : step_(step), program_(program), rank_(step, program.hardware) {
    std::vector<plan::BucketItem> items;
    std::map<std::string, int> keys;
    for (const ModelTensor& tensor : step.parameters) {
      const auto key = keys.emplace(tensor.dtype, static_cast<int>(keys.size())).first;
      items.push_back({tensor.bytes, key->second});
    }
    std::vector<size_t> order;
    for (const ReadyGradient& gradient : step.ready)
      order.push_back(gradient.parameter);
    buckets_ = program.buckets.empty()
                   ? plan::rebuilt_buckets_from(items, order, program.first_bucket,
                                                program.bucket_cap)
                   : cut(order, program.buckets);
    packed_.resize(step.parameters.size(), kNone);
    if (program.hardware == nullptr) return;
    Topology topology(*program.hardware, program.devices);
    ring_ = ring_of(topology, *program.hardware, program.devices);
  }

  std::vector<Event> run() {
    broadcast_buffers();
    for (const ReadyGradient& gradient : step_.ready) {
      rank_.at({gradient.lane, gradient.hooked}, [&] {
        pack(gradient.parameter);
        reduce_full_buckets();
      });
    }
    const Event& join = end_of_backward(step_);
    rank_.at({lane_of(join), join.end()},
             [&] { rank_.phase(phases::all_reduce, [&] { unpack(); }); });
    return rank_.finish();
  }

  const std::vector<RepeatedCollective>& collectives() const { return collectives_; }
  int64_t broadcast_bytes() const { return broadcast_bytes_; }

 private:
  void broadcast_buffers() {
    std::map<std::string, int64_t> numel;  // by dtype: float32 before int64
    std::map<std::string, int64_t> bytes;
    for (const ModelTensor& buffer : step_.buffers) {
      numel[buffer.dtype] += buffer.numel;
      bytes[buffer.dtype] += buffer.bytes;
    }
    if (numel.empty()) return;
    const Event& forward = find_phase(step_, phases::forward);
    int64_t last = kNone;
    rank_.at({lane_of(forward), forward.ts}, [&] {
      rank_.phase(phases::broadcast, [&] {
        for (const auto& [dtype, count] : numel) {
          const int64_t flat = rank_.kernel("aten::cat", "flatten_many",
                                            phases::broadcast, 2 * bytes[dtype]);
          last = call("c10d::broadcast_", reasons::broadcast, "buffers", dtype, count,
                      bytes[dtype], {flat}, {{keys::phase, phases::broadcast}});
          broadcast_bytes_ += bytes[dtype];
        }
      });
    });
    rank_.next_kernel_waits(forward.ts, last);
  }

  void pack(size_t parameter) {
    const ModelTensor& tensor = step_.parameters[parameter];
    packed_[parameter] = rank_.kernel("aten::mul", "scale", phases::backward,
                                      2 * tensor.bytes, {}, tensor.name);
  }

  bool is_full(const plan::Bucket& bucket) const {
    return std::all_of(bucket.begin(), bucket.end(),
                       [&](size_t member) { return packed_[member] != kNone; });
  }

  /// A full bucket waits for those before it.
  void reduce_full_buckets() {
    while (sums_.size() < buckets_.size() && is_full(buckets_[sums_.size()])) {
      rank_.phase(phases::all_reduce, [&] { reduce(buckets_[sums_.size()]); });
    }
  }

  void reduce(const plan::Bucket& bucket) {
    const auto index = static_cast<int64_t>(sums_.size());
    rank_.mark(names::bucket_ready, Json{{keys::bucket, index}});
    IdList packed;
    Json params = Json::array();
    int64_t numel = 0, bytes = 0;
    for (const size_t member : bucket) {
      packed.push_back(packed_[member]);
      params.push_back(step_.parameters[member].name);
      numel += step_.parameters[member].numel;
      bytes += step_.parameters[member].bytes;
    }
    sums_.push_back(call("c10d::allreduce_", reasons::all_reduce,
                         fmt::format("bucket {}", index),
                         step_.parameters[bucket[0]].dtype, numel, bytes, packed,
                         {{keys::phase, phases::all_reduce},
                          {keys::bucket, index},
                          {keys::params, params}}));
  }

  void unpack() {
    for (size_t i = 0; i < buckets_.size(); ++i) {
      IdList deps{sums_[i]};
      for (const size_t member : buckets_[i]) {
        rank_.kernel("aten::copy_", "copy", phases::all_reduce,
                     2 * step_.parameters[member].bytes, std::exchange(deps, {}));
      }
    }
  }

  int64_t call(const char* op, const char* name, const std::string& tensor,
               const std::string& dtype, int64_t numel, int64_t bytes, IdList deps,
               Json more) {
    Json args{{keys::collective, name},
              {keys::algorithm, kRing},
              {keys::why, name},
              {keys::bytes, bytes},
              {keys::dtype, dtype},
              {keys::group, "default"},
              {keys::group_size, program_.devices},
              {keys::seq, collectives_.size()},
              {keys::tensor, tensor}};
    args.update(more);
    RepeatedCollective facts{kNone, numel, bytes / std::max<int64_t>(1, numel)};
    const CollectiveChoice choice = choose(name, bytes);
    if (!choice.protocol.empty()) args[keys::protocol] = choice.protocol;
    if (choice.algorithm != kRing) {
      args[keys::algorithm] = choice.algorithm;
      facts.pieces = static_cast<int>(std::clamp<int64_t>(bytes / kPiece, 1, kPieces));
      const Hardware* hardware = program_.hardware;
      facts.per_machine = hardware == nullptr ? program_.devices : hardware->devices;
    }
    facts.id = rank_.collective(op, name, std::move(deps), std::move(args));
    rank_.task(facts.id).dur = facts.pieces > 0
                                   ? room_for_tree(program_.devices, facts.pieces)
                                   : room_for_messages(program_.devices);
    collectives_.push_back(facts);
    return facts.id;
  }

  /// Only for sums there is a choice.
  CollectiveChoice choose(const std::string& name, int64_t bytes) const {
    if (name != reasons::all_reduce || program_.devices < 2) return {};
    if (program_.hardware == nullptr) {
      return {program_.all_reduce.empty() ? kRing : program_.all_reduce, "", 0};
    }
    return choose_all_reduce(bytes, ring_, *program_.hardware, program_.all_reduce);
  }

  const RecordedStep& step_;
  const ConstructedProgram& program_;
  RankProgram rank_;
  std::vector<plan::Bucket> buckets_;
  std::vector<int64_t> packed_;  ///< by parameter: the kernel that filled its place
  std::vector<int64_t> sums_;    ///< by bucket: its all-reduce
  std::vector<RepeatedCollective> collectives_;
  RingOfDevices ring_;
  int64_t broadcast_bytes_ = 0;
};

}  // namespace

RankOfDdp rank_of_ddp(const Trace& trace, const ConstructedProgram& program) {
  require_possible(program);
  RankOfDdp result{step_of_rank(trace, program), {}, {}};
  DdpRank rank(result.step, program);
  result.events = rank.run();
  result.collectives = rank.collectives();
  for (Event& event : result.events) {
    if (!event.is(categories::phase) || event.name != names::step) continue;
    event.args[keys::broadcast_bytes] = rank.broadcast_bytes();
    event.args[keys::synced] = true;
  }
  return result;
}

void describe_ddp(Trace& result, const Trace& trace, const ConstructedProgram& program,
                  int64_t batch) {
  result.lockstep[top::mode] = "ddp";
  Json& facts = result.lockstep[top::constructed] =
      constructed_facts(trace, program, batch);
  facts["bucket_cap_bytes"] =
      program.buckets.empty() ? Json(program.bucket_cap) : Json();
  if (program.first_bucket != plan::kFirstBucketBytes) {
    facts["first_bucket_bytes"] = program.first_bucket;
  }
}

Trace construct_ddp(const Trace& trace, const ConstructedProgram& program) {
  require_device_count(program.devices);
  const RankOfDdp rank = rank_of_ddp(trace, program);
  Trace result =
      repeat_on_ranks(trace, rank.step, rank.events, rank.collectives, program.devices);
  describe_ddp(result, trace, program, rank.step.batch * program.devices);
  return result;
}

}  // namespace lockstep::tracer
