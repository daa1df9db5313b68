// The flags of a training run: what they are called, and which go together.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/training_flags.h"
#include "engine/backends/backend.h"

namespace lockstep::cli {
namespace {

using Numbers = CLI::Range;

void add_flags_of_the_example(CLI::App& c, RunOptions& o) {
  const auto positive = Numbers(int64_t{1}, int64_t{1} << 40);
  c.add_option("-a,--arch", o.arch,
               "resnet18|34|50, vgg16, vgg16_bn, vgg16_legacy, toy");
  c.add_option("-j,--workers", o.workers, "data loading threads")
      ->check(Numbers(0, 256));
  c.add_option("--epochs", o.epochs, "epochs to run")->check(Numbers(0, 1 << 20));
  c.add_option("--start-epoch", o.start_epoch, "number of the first epoch")
      ->check(Numbers(0, 1 << 20));
  c.add_option("-b,--batch-size", o.batch_size, "of the whole batch, over all devices")
      ->check(positive);
  c.add_option("--lr,--learning-rate", o.lr, "initial learning rate (see --schedule)");
  c.add_option("--momentum", o.momentum, "of SGD");
  c.add_option("--wd,--weight-decay", o.weight_decay, "of SGD");
  c.add_option("-p,--print-freq", o.print_freq, "a progress line every so many steps")
      ->check(Numbers(1, 1 << 30));
  c.add_flag("-e,--evaluate", o.evaluate, "evaluate on the test set and stop");
  c.add_option("--pretrained", o.pretrained, "weights to begin with (safetensors)");
  c.add_option(
       "--world-size", o.world_size,
       "number of nodes, or, without --multiprocessing-distributed, of processes")
      ->default_str("1");
  c.add_option("--rank", o.rank, "this node's (or process's) rank")->default_str("0");
  c.add_option("--dist-url", o.dist_url,
               "where ranks meet: tcp://host:port, file:///path, env://")
      ->default_str("");
  c.add_option("--dist-backend", o.dist_backend,
               "ring, gloo, or nccl (on CPUs and on a shared GPU: ring)")
      ->check(CLI::IsMember({"ring", "gloo", "nccl"}));
  c.add_option("--seed", o.seed, "of weights, shuffling, augmentation and dropout");
  c.add_option("--gpu", o.gpu, "train on this device only")->check(Numbers(0, 63));
  c.add_flag("--multiprocessing-distributed", o.multiprocessing_distributed,
             "one process per device");
}

void add_own_flags(CLI::App& c, RunOptions& o) {
  const auto positive = Numbers(int64_t{1}, int64_t{1} << 40);
  c.add_option("--dataset", o.dataset,
               "default: imagefolder if DIR has train/, of -a toy random, else cifar10")
      ->check(CLI::IsMember({"cifar10", "imagefolder", "random", "generated"}));
  c.add_option("--on-bad-image", o.on_bad_image,
               "image folders: what to do about a damaged or missing file")
      ->check(CLI::IsMember({"error", "skip"}));
  c.add_option("--loader-timeout", o.loader_timeout,
               "seconds to wait for a batch from a loader's worker; 0: for ever")
      ->check(Numbers(0.0, 1e6));
  c.add_option(
       "--mode", o.mode,
       "default: dp, of VGG dp-features as in the ImageNet example; ddp: a thread per "
       "device")
      ->check(CLI::IsMember({"single", "dp", "dp-features", "ddp"}));
  c.add_option("--devices", o.devices,
               "how many; with fewer GPUs than devices several share one")
      ->check(Numbers(1, 64))
      ->default_str("4 virtual ones; of cuda all GPUs");
  c.add_option("--device-type", o.device_type,
               "cpu: virtual devices; cuda: NVIDIA's GPUs; null computes nothing")
      ->check(CLI::IsMember({"cpu", "cuda", "reference", "null"}));
  c.add_option("--threads-per-device", o.threads_per_device,
               "cores that a kernel uses (default: 1, of a single device all)")
      ->check(Numbers(1, 256))
      ->default_str("");
  c.add_option("--steps", o.steps,
               "stop after so many steps (default: after all epochs)")
      ->check(Numbers(int64_t{0}, int64_t{1} << 40))
      ->default_str("");
  c.add_option("--save", o.save, "write the weights at the end (safetensors)");
  c.add_flag("--no-shuffle", o.no_shuffle, "take the samples in the files' order");
  c.add_flag("--no-augment", o.no_augment, "neither crop nor flip the pictures");
  c.add_option("--stem", o.stem,
               "first layers of ResNets (default: cifar up to 64 pixels)")
      ->check(CLI::IsMember({"cifar", "imagenet"}));
  c.add_option("--input-on", o.input_on, "DP: where the images are before scattering")
      ->check(CLI::IsMember({"host", "device0"}));
  c.add_option("--conv", o.conv, "auto: Winograd where it exists")
      ->check(CLI::IsMember({"auto", "direct"}));
  c.add_option("--dtype", o.dtype, "float64: with reference and null")
      ->check(CLI::IsMember({"float32", "float64"}));
  c.add_flag("--benchmark", o.benchmark,
             "choose convolution algorithms by measuring, once per shape; prints them");
  c.add_flag("--deterministic", o.deterministic,
             "never choose algorithms by measuring; on cuda only those that repeat");
  c.add_flag("--no-tf32", o.no_tf32,
             "cuda: products in full float32, not in TF32 (10 bits of mantissa)");
  c.add_flag("--launch-blocking", o.launch_blocking, "wait for every kernel");
  c.add_flag("--cuda-graph", o.cuda_graph,
             "cuda, one device: launch a training step as one captured graph");
  c.add_option("--image-size", o.image_size,
               "of pictures from image folders or generated")
      ->check(Numbers(1, 4096))
      ->default_str("224 or 32");
  c.add_option("--classes", o.classes, "outputs of the model")
      ->check(Numbers(1, 1000000))
      ->default_str("image folders 1000, else 10");
  c.add_option("--length", o.length,
               "samples of a set (default: generated 5000, random 100)")
      ->check(positive)
      ->default_str("");
  c.add_option("--dropout", o.dropout, "of VGG's classifier")
      ->check(Numbers(0.0, 0.999));
  c.add_option("--bucket-cap-mb", o.bucket_cap_mb, "DDP: size of a bucket, MiB")
      ->check(Numbers(1, 1 << 20));
  c.add_option("--bucket-rule", o.bucket_rule, "DDP: the first step's buckets")
      ->check(CLI::IsMember({"current", "1.11"}));
  c.add_flag("--find-unused-parameters", o.find_unused_parameters,
             "DDP: parameters may take no part in a step");
  c.add_flag("--gradient-as-bucket-view", o.gradient_as_bucket_view,
             "DDP: gradients stay in their buckets");
  c.add_flag("--no-broadcast-buffers", o.no_broadcast_buffers,
             "DDP: each rank keeps its own running statistics");
  c.add_flag("--sync-bn", o.sync_bn,
             "DDP: batch norms use the statistics of all ranks (SyncBatchNorm)");
  c.add_option("--ddp-sync", o.ddp_sync,
               "DDP: naive and bucketed reduce after backward, for comparison")
      ->check(CLI::IsMember({"reducer", "naive", "bucketed"}));
  c.add_option("--timeout", o.timeout, "DDP: seconds that ranks wait for each other")
      ->check(Numbers(0.1, 1e6));
  c.add_option("--trace", o.trace, "record a trace into this file (.json or .json.gz)");
  c.add_option("--trace-steps", o.trace_steps,
               "A:B, the steps A to B - 1 (default: 2:7, of a run of 7 or fewer all)");
  c.add_option("--summary", o.summary, "write loss, times and memory per step (JSON)");
}

/// The data and the steps that were asked for are those that are used.
void validate_data(const RunOptions& o) {
  if (!o.dir.empty() && o.arch == "toy") {
    throw UsageError("-a toy takes random samples; it cannot use the folder " + o.dir);
  }
  if (!o.dir.empty() && (o.dataset == "random" || o.dataset == "generated")) {
    throw UsageError("--dataset " + o.dataset +
                     " makes its samples; it cannot use the "
                     "folder " +
                     o.dir);
  }
  if (!o.trace_steps.empty() && o.trace.empty()) {
    throw UsageError(
        "--trace-steps says which steps to record; --trace FILE is missing");
  }
}

void validate_numbers(const RunOptions& o) {
  if (o.loader_timeout > 0 && o.workers == 0) {
    throw UsageError(
        "--loader-timeout is about the loader's workers, and -j 0 has none; give it "
        "one "
        "or more");
  }
  const std::pair<const char*, double> numbers[] = {{"--lr", o.lr},
                                                    {"--momentum", o.momentum},
                                                    {"--weight-decay", o.weight_decay},
                                                    {"--dropout", o.dropout}};
  for (const auto& [name, value] : numbers) {
    if (std::isfinite(value) && value >= 0) continue;
    throw UsageError(std::string(name) + " must be a number of at least 0");
  }
}

void validate_devices(const RunOptions& o) {
  if (o.gpu && !o.mode.empty() && o.mode != "single") {
    throw UsageError("--gpu trains on one device; it cannot go with --mode " + o.mode);
  }
  if (o.gpu && o.devices > 0 && *o.gpu >= o.devices) {
    throw UsageError("--gpu " + std::to_string(*o.gpu) + ": there " +
                     (o.devices == 1
                          ? "is only 1 device"
                          : "are only " + std::to_string(o.devices) + " devices"));
  }
  if (!o.gpu && o.mode == "single" && o.devices > 1) {
    throw UsageError("--mode single trains on one device, not on --devices " +
                     std::to_string(o.devices) +
                     "; --gpu N chooses one, --mode dp uses all");
  }
  if (o.sync_bn && mode_of(o) != train::Mode::ddp) {
    throw UsageError("--sync-bn shares statistics between ranks; add --mode ddp");
  }
  if (o.cuda_graph && o.device_type != "cuda") {
    throw UsageError("--cuda-graph is for CUDA devices; --device-type " +
                     o.device_type + " has no graphs");
  }
  if (o.cuda_graph && mode_of(o) != train::Mode::single) {
    throw UsageError("--cuda-graph captures the step of one device; add --gpu 0");
  }
  if (o.cuda_graph && (o.accumulate > 1 || o.clip_grad_norm)) {
    throw UsageError(
        "--cuda-graph repeats one and the same step; leave " +
        std::string(o.accumulate > 1 ? "--accumulate" : "--clip-grad-norm") + " out");
  }
  if (o.mode == "dp-features" && o.arch.rfind("vgg", 0) != 0) {
    throw UsageError("--mode dp-features needs a model with features (-a vgg16)");
  }
}

void validate_built(const RunOptions& o) {
  if (o.device_type == "cuda") backend_of(DeviceType::cuda);  // says why not
}

/// A flag that the chosen mode would not read is a misunderstanding.
void validate_mode(const RunOptions& o) {
  const bool ddp = mode_of(o) == train::Mode::ddp;
  if (ddp && !o.mode.empty() && o.mode != "ddp") {
    throw UsageError("--mode " + o.mode +
                     " is one process, but this is one of several "
                     "ranks; leave it out: ranks train with ddp");
  }
  for (const char* flag :
       {"--ddp-sync", "--bucket-cap-mb", "--bucket-rule", "--find-unused-parameters",
        "--gradient-as-bucket-view", "--no-broadcast-buffers"}) {
    if (ddp || !o.given.contains(flag)) continue;
    throw UsageError(std::string(flag) +
                     " is DistributedDataParallel's; add --mode ddp "
                     "or --multiprocessing-distributed");
  }
  const bool threads = ddp && o.mode == "ddp" && !o.multiprocessing_distributed;
  if (threads && o.given.contains("--dist-backend") && o.dist_backend == "gloo") {
    throw UsageError(
        "--dist-backend gloo is for processes; the threads of --mode ddp "
        "have a ring in memory: leave it out, or take "
        "--multiprocessing-distributed");
  }
}

}  // namespace

void add_run_flags(CLI::App& c, RunOptions& o) {
  // As Python's argparse: of a flag given twice the last counts.
  c.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c.option_defaults()->always_capture_default();
  c.add_option(
      "DIR", o.dir,
      "image folders (train/, val/) or CIFAR-10 (default: ./data, else ~/data)");
  add_flags_of_the_example(c, o);
  add_own_flags(c, o);
  add_training_flags(c, o);
}

void validate(RunOptions& o) {
  o.dist_url_given = o.dist_url != RunOptions{}.dist_url;
  const auto& archs = models::names();
  if (std::find(archs.begin(), archs.end(), o.arch) == archs.end()) {
    try {
      models::make(o.arch, {});
    } catch (const std::invalid_argument& error) {
      throw UsageError(std::string("-a: ") + error.what());
    }
  }
  validate_mode(o);
  validate_built(o);
  if (o.dtype == "float64" && (o.device_type == "cpu" || o.device_type == "cuda")) {
    throw UsageError(
        "--dtype float64 needs --device-type reference (oneDNN and cuDNN compute in "
        "float32)");
  }
  if (o.no_tf32 && o.device_type != "cuda") {
    throw UsageError("--no-tf32 is for --device-type cuda; " + o.device_type +
                     " has no TF32");
  }
  validate_data(o);
  validate_numbers(o);
  validate_training(o);
  validate_devices(o);
  // Better now than after hours of training.
  for (const std::string& file : {o.trace, o.summary, o.save}) {
    const auto folder = std::filesystem::path(file).parent_path();
    if (!file.empty() && !folder.empty() && !std::filesystem::is_directory(folder)) {
      throw std::runtime_error(file + ": there is no folder " + folder.string() +
                               "; make it first");
    }
  }
}

}  // namespace lockstep::cli
