#include "engine/distributed/ddp/gradient_sync.h"

namespace lockstep::distributed {
namespace {

/// Wraps a learner's object and records calls to its hooks, but not to its accessors.
class LearnerSync : public GradientSync {
 public:
  LearnerSync(std::unique_ptr<GradientSync> learners, const std::source_location& where)
      : learners_(std::move(learners)), where_(where) {}

  void before_forward() override {
    const runtime::LearnerCall call("before_forward", where_);
    learners_->before_forward();
  }
  void before_backward(const Tensor& output) override {
    const runtime::LearnerCall call("before_backward", where_);
    learners_->before_backward(output);
  }
  void gradient_ready(size_t parameter) override {
    const runtime::LearnerCall call("gradient_ready", where_);
    learners_->gradient_ready(parameter);
  }
  void after_backward() override {
    const runtime::LearnerCall call("after_backward", where_);
    learners_->after_backward();
  }
  void shadow_step() override {
    const runtime::LearnerCall call("shadow_step", where_);
    learners_->shadow_step();
  }
  void set_divisor(int divisor) override { learners_->set_divisor(divisor); }
  std::vector<size_t> ready_order() const override { return learners_->ready_order(); }
  void set_ready_order(const std::vector<size_t>& order) override {
    learners_->set_ready_order(order);
  }

 private:
  const std::unique_ptr<GradientSync> learners_;
  const std::source_location where_;
};

}  // namespace

runtime::Slot<GradientSyncFactory>& gradient_sync_factory() {
  static runtime::Slot<GradientSyncFactory> in_use("gradient_sync", make_reducer);
  return in_use;
}

std::unique_ptr<GradientSync> make_gradient_sync(Parameters parameters,
                                                 ProcessGroup& group,
                                                 const ReducerOptions& options) {
  const auto& factory = gradient_sync_factory();
  auto sync = factory(std::move(parameters), group, options);
  if (!factory.plugged()) return sync;
  return std::make_unique<LearnerSync>(std::move(sync), factory.where());
}

}  // namespace lockstep::distributed
