// The features of a model on several devices, its classifier on one more.
#pragma once

#include "engine/distributed/ddp/bucket.h"
#include "engine/parallel/primitives.h"

namespace lockstep::sharing {

/// Stands in for `model.features`. Each device but the last holds a replica of the
/// features for the whole run; the last holds the rest of the model, whose weights are
/// never sent. A forward pass scatters the batch (plan::chunk_sizes), runs the replicas
/// and gathers their outputs on the last device, where the classifier and the loss see
/// the whole batch. So the loss is the mean over the batch, whatever the chunks, and
/// the gradient of the features is the *sum* of the replicas' gradients.
///
/// That sum is the ring all-reduce of engine/distributed. A collective is a task on its
/// device's comm stream, which has a thread of its own: one host thread may enqueue the
/// parts of all replicas, one after the other. Summing on one device and sending the
/// result back would move the same number of bytes, but all through the port of that
/// device. The ring's chunks are summed once and then passed on, so that all replicas
/// get the same bits.
///
/// Replicas are created by the first forward pass, from the weights that the module
/// then has. Batch norm normalizes chunk by chunk; the running statistics that count
/// are those of replica 0, and the others get them before an evaluation.
/// Source: PipeDream (Narayanan et al., 2019), the configuration 3-1 for VGG-16.
class HybridFeatures : public nn::Module {
 public:
  /// `features` is on devices[0]; the outputs go to `classifier`.
  HybridFeatures(nn::ModulePtr features, parallel::Devices devices, Device classifier);

  Tensor forward(const Tensor& input) override;

  /// Replaces the gradients of each replica by their sum over all replicas. A replica
  /// without a chunk adds zeros. If a device has failed, the others stop waiting for
  /// it, and fail with its error. The sum begins when backward has been enqueued as a
  /// whole: unlike DDP's, it does not overlap with it.
  void sum_gradients();

  /// Returns the modules by device; the first is the one that holds the weights to be
  /// saved. Empty before the first forward pass.
  const std::vector<nn::ModulePtr>& replicas() const { return replicas_; }
  const parallel::Devices& devices() const { return devices_; }
  Device classifier() const { return classifier_; }
  /// Returns the bytes of weights and statistics that each replica but the first
  /// received in the last forward pass.
  int64_t sent_bytes() const { return sent_bytes_; }

  const char* type_name() const override { return "HybridFeatures"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<HybridFeatures>(module_->make_like(), devices_,
                                            classifier_);
  }
  /// The module inherits the wrapper's path: traces contain no `module.`.
  void assign_paths(const std::string& path) override;

 private:
  void create_replicas();
  void enqueue_sums(std::vector<distributed::Work>& sums);
  void stop_ring_if_failed(size_t replica);
  nn::ModulePtr copy_on(Device device) const;
  void send_statistics();
  void let_source_wait() const;
  Tensor gather(const Tensors& outputs) const;

  const nn::ModulePtr module_;
  const parallel::Devices devices_;
  const Device classifier_;
  std::vector<nn::ModulePtr> replicas_;
  std::vector<distributed::ProcessGroup> groups_;  ///< by replica
  std::vector<distributed::Bucket> gradients_;     ///< by replica: all, in one tensor
  bool statistics_may_differ_ = false;
  int64_t sent_bytes_ = 0;
};

}  // namespace lockstep::sharing
