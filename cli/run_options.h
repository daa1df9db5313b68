// What a training run is told on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/data/loader.h"
#include "engine/models/zoo.h"
#include "engine/train/trainer.h"

namespace lockstep::cli {

/// The ImageNet example's flags, and ours. Defaults are the example's.
struct RunOptions {
  std::string dir, arch = "resnet18", dataset, mode, device_type = "cpu", stem;
  int workers = 4, epochs = 90, start_epoch = 0, print_freq = 10;
  int64_t batch_size = 256;
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
  bool evaluate = false;
  std::string resume, pretrained, save;
  std::optional<int> gpu;
  uint64_t seed = 0;

  // Training for real (training_flags.cpp).
  std::string checkpoint, schedule = "step";
  int lr_step_size = 30, warmup_epochs = 0, accumulate = 1;
  double lr_gamma = 0.1, label_smoothing = 0;
  bool scale_lr = false, amp = false;
  std::optional<double> norm_weight_decay, bias_weight_decay, clip_grad_norm;
  std::set<std::string> given;  ///< the flags on the command line, by their long names
  std::string changed_recipe;   ///< given ones that are not the resumed checkpoint's

  // The example's distributed flags.
  int world_size = -1, rank = -1;
  std::string dist_url = "tcp://224.66.41.62:23456", dist_backend = "nccl";
  bool multiprocessing_distributed = false;
  bool dist_url_given = false;

  // DistributedDataParallel's own, in PyTorch's names.
  int64_t bucket_cap_mb = 25;
  bool find_unused_parameters = false, gradient_as_bucket_view = false;
  bool no_broadcast_buffers = false, sync_bn = false;
  std::string bucket_rule = "current", ddp_sync = "reducer";
  double timeout = 60;  ///< seconds that a rank waits for the others

  int devices = 0;  ///< 0: all there are (GPUs, or 4 virtual ones)
  int threads_per_device = 0;
  int64_t steps = -1;
  bool no_shuffle = false, no_augment = false, launch_blocking = false,
       cuda_graph = false;
  std::string input_on = "host", conv = "auto", dtype = "float32";
  std::string on_bad_image = "error";
  double loader_timeout = 0;  ///< seconds; 0: none
  bool benchmark = false, deterministic = false, no_tf32 = false;
  int64_t image_size = 0, classes = 0, length = 0;
  double dropout = 0.5;
  std::string trace, trace_steps, summary;
  bool quiet = false;
};

/// Declares the flags (run_flags.cpp).
void add_run_flags(CLI::App& command, RunOptions& options);

/// Checks the options against each other: nothing that was asked for is left out in
/// silence. Throws UsageError, or std::runtime_error for what is not built yet.
void validate(RunOptions& options);

/// The data sets of a run.
struct DataSets {
  std::string name;   ///< `cifar10`; `generated` also for a generated set in its format
  std::string place;  ///< the folder, or where else the samples come from
  std::shared_ptr<const data::Dataset> train, test;
  std::string classes = "";  ///< image folders: " of 63 classes; …"
};
DataSets open_data(const RunOptions& options);

DeviceType device_type(const RunOptions& options);
/// How the work is spread: `--mode`, else by the example's rules.
train::Mode mode_of(const RunOptions& options);
parallel::Devices devices_of(const RunOptions& options);

/// One rank of a DDP run; by default the only one of a run without ranks.
struct RankPlace {
  int rank = 0, world = 1;
  std::shared_ptr<distributed::ProcessGroup> group;
  bool is_process = false;  ///< else a thread
  int local_world = 1;      ///< ranks of this node, which share `-b` and `-j`
  bool main() const { return rank == 0; }  ///< it prints and saves
};

/// The batch of one rank, and of all together: `-b` is a node's, as in the example.
int64_t rank_batch(const RunOptions& options, const RankPlace& place);
int64_t global_batch(const RunOptions& options, const RankPlace& place);

/// A model with fresh weights (or those of --pretrained) for that data.
nn::ModulePtr make_model(const RunOptions& options, const DataSets& data);

}  // namespace lockstep::cli
