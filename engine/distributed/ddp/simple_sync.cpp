// Two simple gradient syncs, for study and comparison: they do what PyTorch's reducer
// does without one or both of its ideas (few large messages; overlap with backward).
#include "engine/distributed/ddp/bucket.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {
namespace {

/// Performs one all-reduce per gradient, after the entire backward pass. Correct but
/// slow: even a small bias costs the latency of a message.
class NaiveSync : public GradientSync {
 public:
  NaiveSync(Parameters parameters, ProcessGroup& group)
      : parameters_(std::move(parameters)), group_(group), divisor_(group.size()) {}

  void gradient_ready(size_t) override {}

  void after_backward() override {
    tracer::Phase phase("all_reduce");
    for (const auto& [name, parameter] : parameters_) {
      const Tensor grad = parameter.grad();
      reduce(name, grad.defined() ? grad : ops::full_like(parameter, 0), parameter);
    }
  }

  void shadow_step() override {
    for (const auto& [name, parameter] : parameters_) {
      group_.all_reduce(ops::full_like(parameter, 0), ReduceOp::sum, label(name))
          .wait();
    }
  }

  void set_divisor(int divisor) override { divisor_ = divisor; }

 private:
  static CollectiveLabel label(const std::string& name) {
    CollectiveLabel label;
    label.tensor = name;
    label.params = {name};
    return label;
  }
  void reduce(const std::string& name, const Tensor& grad, const Tensor& parameter) {
    const Tensor mean = ops::contiguous(ops::scale(grad, 1.0 / divisor_));
    group_.all_reduce(mean, ReduceOp::sum, label(name)).wait();
    parameter.set_grad(mean);
  }

  const Parameters parameters_;
  ProcessGroup& group_;
  int divisor_;
};

/// Performs one all-reduce per bucket, after the entire backward pass.
class BucketedSync : public GradientSync {
 public:
  BucketedSync(Parameters parameters, ProcessGroup& group, int64_t cap)
      : parameters_(std::move(parameters)), group_(group), divisor_(group.size()) {
    std::vector<size_t> last_first(parameters_.size());
    for (size_t i = 0; i < last_first.size(); ++i) {
      last_first[i] = last_first.size() - 1 - i;
    }
    const auto cut = plan::rebuilt_buckets(bucket_items(parameters_), last_first, cap);
    for (const plan::Bucket& members : cut) {
      buckets_.emplace_back(buckets_.size(), members, parameters_);
    }
  }

  void gradient_ready(size_t) override {}

  void after_backward() override {
    tracer::Phase phase("all_reduce");
    for (Bucket& bucket : buckets_) {
      for (size_t i = 0; i < bucket.members().size(); ++i) {
        bucket.pack(i, parameters_[bucket.members()[i]].value.grad(), 1.0 / divisor_);
      }
      reduce(bucket);
      for (size_t i = 0; i < bucket.members().size(); ++i) {
        const Tensor& parameter = parameters_[bucket.members()[i]].value;
        const Tensor grad = ops::full_like(parameter, 0);
        bucket.unpack(i, grad);
        parameter.set_grad(grad);
      }
    }
  }

  void shadow_step() override {
    for (Bucket& bucket : buckets_) {
      bucket.fill_with_zeros();
      reduce(bucket);
    }
  }

  void set_divisor(int divisor) override { divisor_ = divisor; }

 private:
  void reduce(Bucket& bucket) {
    group_.all_reduce(bucket.flat(), ReduceOp::sum, bucket.label(parameters_, {}))
        .wait();
  }

  const Parameters parameters_;
  ProcessGroup& group_;
  int divisor_;
  std::vector<Bucket> buckets_;
};

}  // namespace

std::unique_ptr<GradientSync> make_naive_sync(Parameters parameters,
                                              ProcessGroup& group,
                                              const ReducerOptions&) {
  return std::make_unique<NaiveSync>(std::move(parameters), group);
}

std::unique_ptr<GradientSync> make_bucketed_sync(Parameters parameters,
                                                 ProcessGroup& group,
                                                 const ReducerOptions& options) {
  return std::make_unique<BucketedSync>(std::move(parameters), group,
                                        options.bucket_cap);
}

}  // namespace lockstep::distributed
