// The configuration of a run: the options of the ImageNet example and ours, typed and
// grouped. The defaults are those of the example.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/backends/backend.h"
#include "engine/models/zoo.h"
#include "engine/optim/schedule.h"
#include "engine/plan/buckets.h"
#include "engine/sharing/shared_worker.h"
#include "engine/sharing/update_rule.h"
#include "engine/train/trainer.h"
#include "run/environment.h"

namespace lockstep::tracer {
struct Hardware;
}

namespace lockstep::run {

enum class DataKind { cifar10, image_folder, random, generated, sparse };
enum class OnBadImage { error, skip };
enum class InputOn { host, device0 };
enum class DistBackend { ring, gloo, mpi, nccl };
enum class DdpSync { reducer, naive, bucketed };
enum class Partition { own, all };  ///< of the training set, for each worker
enum class OptimizerKind { sgd, adam, adamw, rmsprop };

struct ModelConfig {
  std::string arch = "resnet18";
  std::optional<models::Stem> stem;  ///< default: cifar up to 64 pixels
  double dropout = 0.5;
  std::string pretrained;  ///< initial weights (.safetensors, .pth)
};

struct DataConfig {
  std::string dir;
  std::optional<DataKind> kind;  ///< default: what `dir` contains, else CIFAR-10
  int workers = 4;
  double loader_timeout = 0;  ///< seconds; 0: no timeout
  OnBadImage on_bad_image = OnBadImage::error;
  bool no_shuffle = false, no_augment = false;
  bool normalize_on_device = false;
  bool prefetch_to_device = false;
  int64_t image_size = 0, classes = 0, length = 0;  ///< 0: the data set's default
  int64_t features = 0, nonzeros = 0;  ///< -a sparse; 0: the data set's default
  bool dummy = false;                  ///< --dummy: generated data of ImageNet's size
};

/// Training hyperparameters other than model, data and devices.
struct RecipeConfig {
  int64_t batch_size = 256;  ///< per node
  int epochs = 90, start_epoch = 0;
  OptimizerKind optimizer = OptimizerKind::sgd;
  /// The example's values, for SGD; resolve_switches() sets those of other optimizers.
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
  double beta1 = 0.9, beta2 = 0.999, alpha = 0.99, eps = 1e-8;
  bool amsgrad = false, centered = false, nesterov = false;
  std::optional<double> norm_weight_decay, bias_weight_decay;
  optim::Schedule::Kind schedule = optim::Schedule::Kind::step;
  int lr_step_size = 30, warmup_epochs = 0;
  double lr_gamma = 0.1;
  std::vector<int> lr_milestones;                                   ///< of multi-step
  double pct_start = 0.3, div_factor = 25, final_div_factor = 1e4;  ///< of one-cycle
  bool scale_lr = false, recompute = false;
  double label_smoothing = 0;
  int accumulate = 1;
  std::optional<double> clip_grad_norm;
  std::optional<double> ema;  ///< decay of the average of the weights
  int64_t ema_steps = 1;
  uint64_t seed = 0;
};

struct DeviceConfig {
  DeviceType type = DeviceType::cpu;
  std::shared_ptr<const tracer::Hardware> hardware;  ///< `emulated` only
  std::function<void(int64_t)> sleep_until;          ///< … replaced by tests; see Pace
  int count = 0;                     ///< 0: all GPUs, or 4 virtual devices
  std::optional<int> gpu;            ///< train on this GPU only
  std::vector<int> device_ids;       ///< DP, the notebook: empty means 0, 1, …
  std::optional<int> output_device;  ///< DP, the notebook: default device_ids[0]
  int threads = 0;  ///< per device; 0: 1, or all cores for a single device
  DType dtype = DType::f32;
  ConvAlgorithm conv = ConvAlgorithm::automatic;
  std::optional<InputOn> input_on;  ///< DP: default host; the notebook: device0
  bool benchmark = false, deterministic = false, no_tf32 = false, amp = false;
  bool launch_blocking = false, cuda_graph = false;
  bool no_accel = false;  ///< --no-accel: one device, the CPU
};

/// How ranks that are processes rendezvous.
struct DistributedConfig {
  bool multiprocessing = false;    ///< one process per device of this node
  int world_size = -1, rank = -1;  ///< count nodes if `multiprocessing`, else processes
  std::string url = "tcp://224.66.41.62:23456";
  std::string ifname;  ///< the network interface of this rank; "": chosen
  DistBackend backend = DistBackend::nccl;
  double timeout = 60;  ///< seconds that a rank waits for the others
  std::optional<double> rdzv_timeout =
      std::nullopt;  ///< at the start; default: timeout
};

/// The options of DistributedDataParallel, named as in PyTorch.
struct DdpConfig {
  int64_t bucket_cap_mb = 25;
  plan::BucketRule bucket_rule = plan::BucketRule::current;
  bool find_unused_parameters = false, gradient_as_bucket_view = false;
  bool no_broadcast_buffers = false, sync_bn = false;
  DdpSync sync = DdpSync::reducer;
  int64_t check_weights = 0;  ///< optimizer steps between comparisons; 0: none
};

/// The options of --mode local-sgd.
struct LocalSgdConfig {
  int64_t steps = 4;   ///< from one average to the next
  int64_t warmup = 0;  ///< before the first average is due
};

/// The options of --mode hogwild and --mode locked.
struct SharedConfig {
  sharing::UpdateBy update = sharing::UpdateBy::store;
  sharing::LockFor lock = sharing::LockFor::step;
  Partition partition = Partition::own;
};

/// The options of --mode ps.
struct PsConfig {
  int servers = 1;
  sharing::Consistency consistency = sharing::Consistency::sync;
  int64_t staleness = 0;  ///< ssp: steps by which a worker may be ahead
  int backup = 0;         ///< sync: gradients that an update does not wait for
  std::string slow_rank;  ///< `2:3x`; see slow_rank_of()
};

enum class PipelineKind { naive, gpipe, one_f_one_b, eager_one_f_one_b, interleaved };

/// The options of --mode model-parallel; see run/pipeline.h.
struct PipelineConfig {
  std::string split;  ///< the parts that begin a stage: `layer2,layer3`; or `auto`
  PipelineKind schedule = PipelineKind::gpipe;
  int micro_batches = 0;  ///< 0: one if naive, else as many as stages
  int virtual_stages = 1;
  std::string schedule_file, save_schedule;
};

struct CheckpointConfig {
  std::string folder, resume;
  int64_t every = 0;  ///< optimizer steps between checkpoints; 0: at epoch ends
  std::string changed_recipe;  ///< flags whose values differ from the checkpoint's
  int64_t start_samples = 0;   ///< how many of --start-epoch's the checkpoint has seen
  bool looked = false;         ///< whether choose_checkpoint() has looked for one
};

/// The files that a run writes, and what it prints.
struct OutputConfig {
  std::string trace, trace_steps, summary, save, save_ema;
  int print_freq = 10;
  bool quiet = false, print_model = false;
};

struct RunConfig {
  std::optional<train::Mode> mode;  ///< as requested; see mode_of()
  ModelConfig model;
  DataConfig data;
  RecipeConfig recipe;
  DeviceConfig device;
  DistributedConfig distributed;
  DdpConfig ddp;
  LocalSgdConfig local_sgd;
  SharedConfig shared;
  PsConfig ps;
  PipelineConfig pipeline;
  CheckpointConfig checkpoint;
  OutputConfig output;
  bool loss_in_forward = false;  ///< dp-criterion: the replicas compute the loss
  int64_t steps = -1;            ///< stop after this many; negative: after all epochs
  bool evaluate = false;
  bool draws_seed = false;  ///< the example's default: no --seed, each run draws one
  std::set<std::string> given;  ///< long names of the flags on the command line
  Environment environment;
};

/// Replaces the example's switches that stand for other options, and the defaults that
/// depend on --optimizer. Throws UsageError if those options were also given and
/// conflict.
void resolve_switches(RunConfig& config);

/// Draws the seed if `draws_seed`. As in the example, a given --seed selects
/// deterministic kernels; here --benchmark, if given too, takes precedence.
void resolve_seed(RunConfig& config);

/// Returns the mode requested, or the one that the example's rules select.
train::Mode mode_of(const RunConfig& config);

/// Returns whether this is the notebook's model, which prints the vectors it receives.
bool is_toy(const RunConfig& config);
/// Returns whether this is the logistic regression on sparse vectors.
bool is_sparse(const RunConfig& config);
/// Returns whether the model has a submodule `features` (AlexNet, VGG).
bool has_features(const RunConfig& config);
/// Returns whether a launcher's variables say which rank this is: no --world-size, but
/// env://, or any --dist-url in one of a launcher's several processes.
bool meets_by_environment(const RunConfig& config);
/// Returns whether this process starts ranks as processes, or is one of several.
bool ranks_are_processes(const RunConfig& config);

/// Checks that the options are consistent; a flag that the run would ignore is an
/// error. Throws UsageError, or std::runtime_error if a folder or a device is missing.
void validate(const RunConfig& config);

}  // namespace lockstep::run
