// Lesson 12: PyTorch's reducer. Gradients are sent in buckets, while backward is still
// computing the next ones.
#include <algorithm>

#include "engine/distributed/ddp/bucket.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "lessons/plugin.h"
#include "tracer/record/recorder.h"

using namespace lockstep;
using namespace lockstep::distributed;

/// Which parameters are sent together: the numbers of each bucket's parameters, with
/// buckets in the order in which they leave. Backward reaches the last layer first, so
/// walk the parameters from the last to the first. The first bucket is closed as soon
/// as it holds 1 MiB (or `cap` bytes, if that is less); the others are closed at `cap`.
///
/// `bucket_items(parameters)` returns the sizes, by number.
/// `plan::assign_buckets(sizes, limits)` walks the sizes and closes a bucket when it
/// reaches its limit: limit i for bucket i, and the last limit for all further ones. It
/// returns, for each bucket, positions in `sizes`. The engine's 1 MiB is
/// `plan::kFirstBucketBytes`.
std::vector<plan::Bucket> cut(const Parameters& parameters, int64_t cap) {
  // [solution-cut]
  std::vector<plan::BucketItem> sizes = bucket_items(parameters);
  std::reverse(sizes.begin(), sizes.end());
  auto buckets =
      plan::assign_buckets(sizes, {std::min(plan::kFirstBucketBytes, cap), cap});
  for (plan::Bucket& bucket : buckets) {
    for (size_t& number : bucket) number = parameters.size() - 1 - number;
  }
  return buckets;
  // [/solution-cut]
  lessons::not_written("cut: which parameters travel together, and in which order?");
}

class Reducer : public GradientSync {
 public:
  Reducer(Parameters parameters, ProcessGroup& group, int64_t cap)
      : parameters_(std::move(parameters)),
        group_(group),
        divisor_(group.size()),
        places_(parameters_.size()),
        arrived_(parameters_.size()) {
    for (const plan::Bucket& members : cut(parameters_, cap)) {
      for (size_t i = 0; i < members.size(); ++i) {
        places_[members[i]] = {buckets_.size(), i};
      }
      buckets_.push_back({Bucket(buckets_.size(), members, parameters_), 0, {}, {}});
    }
  }

  /// A step begins: nothing has arrived or left.
  void before_backward(const Tensor&) override {
    // [solution-begin]
    arrived_.assign(parameters_.size(), false);
    next_ = 0;
    for (Progress& progress : buckets_) {
      progress.missing = progress.bucket.members().size();
      progress.after.clear();
    }
    return;
    // [/solution-begin]
    lessons::not_written("before_backward: what must be counted again in each step?");
  }

  /// Backward has just finished this parameter's gradient, and continues with others.
  /// Its bucket is `buckets_[places_[parameter].bucket]`. Do four things: note that it
  /// arrived; add `now(parameter)` to the bucket's `after`; copy the gradient, divided
  /// by `divisor_`, into the bucket:
  ///
  ///   progress.bucket.pack(member, grad, factor)    zeros if `grad` is undefined
  ///
  /// and if it was the bucket's last one, see which buckets may leave. Never wait here:
  /// backward would wait, too.
  void gradient_ready(size_t parameter) override {
    // [solution-ready]
    const auto [number, member] = places_[parameter];
    Progress& progress = buckets_[number];
    arrived_[parameter] = true;
    progress.after.push_back(now(parameter));
    progress.bucket.pack(member, parameters_[parameter].value.grad(), 1.0 / divisor_);
    if (--progress.missing == 0) launch_whose_turn_it_is();
    return;
    // [/solution-ready]
    lessons::not_written("gradient_ready: pack it, and then: which buckets may leave?");
  }

  /// Launches every complete bucket whose turn it is. Turns go by number, on all ranks,
  /// though gradients may arrive in a different order on each.
  void launch_whose_turn_it_is() {
    // [solution-turn]
    while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
      launch(buckets_[next_++]);
    }
    return;
    // [/solution-turn]
    lessons::not_written("launch_whose_turn_it_is: which buckets may leave?");
  }

  /// Backward has finished. A parameter that has not arrived has no gradient in this
  /// step; the other ranks count on it all the same, so treat it as if it arrived now.
  /// Then wait for each bucket, `progress.work.wait()`, and give every parameter its
  /// mean:
  ///
  ///   progress.bucket.unpack(member, tensor)    copies it out
  ///   ops::full_like(parameter, 0)              a tensor for it
  void after_backward() override {
    tracer::Phase phase("all_reduce");
    // [solution-finish]
    for (size_t p = 0; p < parameters_.size(); ++p) {
      if (!arrived_[p]) gradient_ready(p);
    }
    for (Progress& progress : buckets_) {
      progress.work.wait();
      const plan::Bucket& members = progress.bucket.members();
      for (size_t i = 0; i < members.size(); ++i) {
        const Tensor& parameter = parameters_[members[i]].value;
        const Tensor mean = ops::full_like(parameter, 0);
        progress.bucket.unpack(i, mean);
        parameter.set_grad(mean);
      }
    }
    return;
    // [/solution-finish]
    lessons::not_written("after_backward: wait, and give each parameter its mean");
  }

  /// For a rank without a batch; given, as in lesson 11.
  void shadow_step() override {
    for (Progress& progress : buckets_) {
      progress.bucket.fill_with_zeros();
      progress.after.clear();
      launch(progress);
      progress.work.wait();
    }
  }

  void set_divisor(int divisor) override { divisor_ = divisor; }

 private:
  /// A bucket and its progress in this step.
  struct Progress {
    Bucket bucket;
    size_t missing;                        ///< gradients that have not arrived
    std::vector<runtime::EventPtr> after;  ///< events that its all-reduce must follow
    Work work;                             ///< its all-reduce
  };
  struct Place {
    size_t bucket, member;
  };

  /// Returns an event for everything enqueued on the device so far.
  runtime::EventPtr now(size_t parameter) {
    const Device device = parameters_[parameter].value.device();
    return runtime::context(device).compute().record_event();
  }

  /// Starts the bucket's all-reduce on the comm stream, and returns at once.
  void launch(Progress& progress) {
    tracer::Phase phase("all_reduce");
    progress.work =
        group_.all_reduce(progress.bucket.flat(), ReduceOp::sum,
                          progress.bucket.label(parameters_, progress.after));
  }

  const Parameters parameters_;
  ProcessGroup& group_;
  int divisor_;
  std::vector<Progress> buckets_;  ///< in the order in which they leave
  std::vector<Place> places_;      ///< by number of parameter
  std::vector<bool> arrived_;      ///< in this step, by number of parameter
  size_t next_ = 0;                ///< the bucket whose turn it is
};

std::unique_ptr<GradientSync> make_mine(Parameters parameters, ProcessGroup& group,
                                        const ReducerOptions& options) {
  return std::make_unique<Reducer>(std::move(parameters), group, options.bucket_cap);
}

LOCKSTEP_LESSON(12) { gradient_sync_factory().plug(make_mine); }
