// The flags of a training run.
#include "cli/flags.h"
#include "cli/hardware_profiles.h"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

namespace lockstep::cli {
namespace {

std::string fits_in_64_bits(const std::string& number) {
  errno = 0;
  std::strtoull(number.c_str(), nullptr, 10);
  return errno == ERANGE ? number + " is not less than 2^64" : "";
}

/// Returns the integers, of at most `digits` digits, in a list such as `1,0`, which is
/// the example of the error message.
std::vector<int> parse_list(const char* flag, const std::string& text, size_t digits,
                            const char* example) {
  std::vector<int> numbers;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const bool is_number = !word.empty() && word.size() <= digits &&
                           word.find_first_not_of("0123456789") == word.npos;
    if (!is_number) {
      throw CLI::ValidationError(flag, text + " is not a list such as " + example);
    }
    numbers.push_back(std::stoi(word));
  }
  return numbers;
}

std::vector<int> parse_device_ids(const std::string& text) {
  return parse_list("--device-ids", text, 2, "1,0");
}

std::shared_ptr<const tracer::Hardware> hardware_of(const std::string& name) {
  try {
    return std::make_shared<tracer::Hardware>(open_hardware(name));
  } catch (const std::runtime_error& error) {
    throw CLI::ValidationError("--hardware", error.what());
  }
}

void add_flags_of_the_example(CLI::App& c, run::RunConfig& o) {
  const auto positive = Numbers(int64_t{1}, int64_t{1} << 40);
  c.add_option(
      "-a,--arch", o.model.arch,
      "alexnet, resnet18|20|34|50|101|152, vgg16, vgg16_bn, vgg16_legacy, toy, sparse");
  c.add_option("-j,--workers", o.data.workers, "number of data loading threads")
      ->check(Numbers(0, 256));
  c.add_option("--epochs", o.recipe.epochs, "number of epochs to run")
      ->check(Numbers(0, 1 << 20));
  c.add_option("--start-epoch", o.recipe.start_epoch, "index of the first epoch")
      ->check(Numbers(0, 1 << 20));
  c.add_option("-b,--batch-size", o.recipe.batch_size,
               "total batch size across all devices on this node")
      ->check(positive);
  c.add_option("--lr,--learning-rate", o.recipe.lr,
               "initial learning rate (see --schedule)");
  c.add_option("--momentum", o.recipe.momentum, "momentum of SGD and RMSprop");
  c.add_option("--wd,--weight-decay", o.recipe.weight_decay, "weight decay");
  c.add_option("-p,--print-freq", o.output.print_freq,
               "number of steps between progress lines")
      ->check(Numbers(1, 1 << 30));
  c.add_flag("-e,--evaluate", o.evaluate, "evaluate on the test set and stop");
  c.add_option("--pretrained", o.model.pretrained,
               "initial weights (.safetensors, .pth)");
  c.add_option("--world-size", o.distributed.world_size,
               "number of nodes, or of processes without --multiprocessing-distributed")
      ->default_str("1");
  c.add_option("--rank", o.distributed.rank, "this node's (or process's) rank")
      ->default_str("0");
  c.add_option("--ifname", o.distributed.ifname,
               "network interface by which other machines reach this rank (default: "
               "GLOO_SOCKET_IFNAME, or the one that leads to rank 0)");
  c.add_option("--dist-url", o.distributed.url,
               "rendezvous of the ranks: tcp://host:port, file:///path or env://")
      ->default_str("");
  add_choice<run::DistBackend>(
      c, "--dist-backend", o.distributed.backend,
      "ring, gloo, mpi or nccl (falls back to ring on CPUs and on a shared GPU)");
  c.add_option("--seed", o.recipe.seed,
               "random seed for weights, shuffling, augmentation and dropout; implies "
               "--deterministic, except with --benchmark")
      ->check(fits_in_64_bits, "")
      ->default_str("drawn, and printed");
  c.add_option("--gpu", o.device.gpu, "train on this device only")
      ->check(Numbers(0, 63));
  c.add_flag("--multiprocessing-distributed", o.distributed.multiprocessing,
             "one process per device");
  c.add_flag("--no-accel", o.device.no_accel,
             "train on the CPU, as one device unless others are asked for");
  c.add_flag("--dummy", o.data.dummy,
             "generated data of ImageNet's size: 1281167 images of 224 pixels, 1000 "
             "classes");
}

void add_own_flags(CLI::App& c, run::RunConfig& o) {
  const auto positive = Numbers(int64_t{1}, int64_t{1} << 40);
  add_choice<run::DataKind>(c, "--dataset", o.data.kind,
                            "default: random for -a toy, sparse for -a sparse, "
                            "imagefolder if DIR has train/, else cifar10");
  add_choice<run::OnBadImage>(c, "--on-bad-image", o.data.on_bad_image,
                              "image folders: action for a damaged or missing file");
  c.add_option("--loader-timeout", o.data.loader_timeout,
               "seconds to wait for a batch from a loader worker; 0: no timeout")
      ->check(Numbers(0.0, 1e6));
  add_choice<train::Mode>(
      c, "--mode", o.mode,
      "default: dp, or dp-features for AlexNet and VGG as in the "
      "ImageNet example; dp-criterion: the loss on each device; "
      "ddp: one thread per device; local-sgd: ranks average their "
      "weights; hogwild, locked: one thread per device, all "
      "training one model in host memory; ps: workers and parameter "
      "servers; hybrid: AlexNet's or VGG's classifier on the last device, the features "
      "data-parallel on the others");
  c.add_option("--devices", o.device.count,
               "number of devices (ps: of workers); if there are fewer GPUs, several "
               "share one")
      ->check(Numbers(1, 64))
      ->default_str("4 virtual; cuda: all GPUs");
  add_choice<DeviceType>(c, "--device-type", o.device.type,
                         "cpu: virtual devices; cuda: NVIDIA GPUs; reference: plain "
                         "loops, also in float64; null: computes nothing; emulated: "
                         "takes the times of --hardware");
  c.add_option_function<std::string>(
       "--hardware",
       [&o](const std::string& name) { o.device.hardware = hardware_of(name); },
       "emulated: the devices, as a profile of `emulate --list-hardware`, or a file "
       "that ends in .json")
      ->default_str("");
  c.add_option("--threads-per-device", o.device.threads,
               "cores per kernel (default: 1, or all for a single device)")
      ->check(Numbers(1, 256))
      ->default_str("");
  c.add_option("--steps", o.steps,
               "stop after this many steps, those of evaluations included (default: "
               "all epochs)")
      ->check(Numbers(int64_t{0}, int64_t{1} << 40))
      ->default_str("");
  c.add_option("--save", o.output.save, "file for the final weights (safetensors)");
  c.add_flag("--no-shuffle", o.data.no_shuffle, "read the samples in file order");
  c.add_flag("--no-augment", o.data.no_augment, "do not crop or flip the images");
  c.add_flag("--prefetch-to-device", o.data.prefetch_to_device,
             "copy the next batch to the devices while they work on this one");
  c.add_flag("--normalize-on-device", o.data.normalize_on_device,
             "send images as bytes, a quarter of their size as floats, and normalise "
             "them on the devices");
  add_choice<models::Stem>(c, "--stem", o.model.stem,
                           "first layers of a ResNet (default: cifar up to 64 pixels)");
  add_choice<run::InputOn>(
      c, "--input-on", o.device.input_on,
      "DP: where the images are before scattering (default: host; the toy: device0)");
  c.add_option_function<std::string>(
       "--device-ids",
       [&o](const std::string& ids) { o.device.device_ids = parse_device_ids(ids); },
       "DP of the toy: its devices, in any order, such as 1,0; the first one holds the "
       "model")
      ->default_str("all, in order");
  c.add_option("--output-device", o.device.output_device,
               "DP of the toy: where the outputs are gathered")
      ->check(Numbers(0, 63))
      ->default_str("the first of --device-ids");
  c.add_flag("--print-model", o.output.print_model,
             "print the tree of modules, as print(model) does");
  add_choice<ConvAlgorithm>(c, "--conv", o.device.conv,
                            "auto: Winograd where it is faster");
  add_choice<DType>(c, "--dtype", o.device.dtype, "float64: reference and null only");
  c.add_flag(
      "--benchmark", o.device.benchmark,
      "select convolution algorithms by measuring, once per shape, and print them");
  c.add_flag("--deterministic", o.device.deterministic,
             "never select algorithms by measuring; on cuda only deterministic ones");
  c.add_flag("--no-tf32", o.device.no_tf32,
             "cuda: multiply in full float32, not in TF32 (10-bit mantissa)");
  c.add_flag("--launch-blocking", o.device.launch_blocking,
             "wait for each kernel to finish");
  c.add_flag("--cuda-graph", o.device.cuda_graph,
             "cuda: launch a training step as one captured graph");
  c.add_option("--image-size", o.data.image_size,
               "image size in pixels for image folders and generated data")
      ->check(Numbers(1, 4096))
      ->default_str("224 or 32");
  c.add_option("--classes", o.data.classes,
               "number of classes of image folders and generated images")
      ->check(Numbers(1, 1000000))
      ->default_str("image folders 1000, generated 10");
  c.add_option("--length", o.data.length,
               "number of samples (default: generated and sparse 5000, random 100)")
      ->check(positive)
      ->default_str("");
  c.add_option("--features", o.data.features,
               "sparse: number of elements of a sample, and of weights per class")
      ->check(Numbers(1, 1 << 24))
      ->default_str("1024");
  c.add_option("--nonzeros", o.data.nonzeros,
               "sparse: number of elements of a sample that are not 0")
      ->check(Numbers(1, 1 << 24))
      ->default_str("8");
  c.add_option("--dropout", o.model.dropout,
               "dropout probability of the classifier of AlexNet and VGG")
      ->check(Numbers(0.0, 0.999));
  c.add_option("--bucket-cap-mb", o.ddp.bucket_cap_mb, "DDP: bucket size in MiB")
      ->check(Numbers(1, 1 << 20));
  add_choice<plan::BucketRule>(
      c, "--bucket-rule", o.ddp.bucket_rule,
      "DDP: how the first step's buckets are built; 1.11: as in PyTorch 1.11");
  c.add_flag("--find-unused-parameters", o.ddp.find_unused_parameters,
             "DDP: allow parameters that get no gradient in a step");
  c.add_flag("--gradient-as-bucket-view", o.ddp.gradient_as_bucket_view,
             "DDP: gradients are views of the buckets");
  c.add_flag("--no-broadcast-buffers", o.ddp.no_broadcast_buffers,
             "DDP: each rank keeps its own running statistics");
  c.add_flag("--sync-bn", o.ddp.sync_bn,
             "DDP: batch norms use the statistics of all ranks (SyncBatchNorm)");
  add_choice<run::DdpSync>(
      c, "--ddp-sync", o.ddp.sync,
      "DDP: naive and bucketed reduce after backward, for comparison");
  c.add_option(
       "--check-weights", o.ddp.check_weights,
       "DDP: compare the weights of all ranks after every N optimizer steps, and "
       "end with an error if they differ")
      ->check(Numbers(int64_t{1}, int64_t{1} << 40))
      ->default_str("none");
  c.add_option("--timeout", o.distributed.timeout,
               "seconds that ranks wait for each other")
      ->check(Numbers(0.1, 1e6));
  c.add_option("--rdzv-timeout,--rdzv_timeout", o.distributed.rdzv_timeout,
               "seconds that ranks wait for each other to start")
      ->check(Numbers(0.1, 1e6))
      ->default_str("that of --timeout");
  c.add_option("--trace", o.output.trace,
               "record a trace to this file (.json or .json.gz)");
  c.add_option(
      "--trace-steps", o.output.trace_steps,
      "A:B records steps A to B - 1 (default: 2:7; all steps of a run of at most 7)");
  c.add_option("--summary", o.output.summary,
               "write loss, times and memory per step (JSON)");
}

void add_optimizer_flags(CLI::App& c, run::RunConfig& o) {
  add_choice<run::OptimizerKind>(
      c, "--optimizer", o.recipe.optimizer,
      "adam, adamw and rmsprop have PyTorch's defaults: --lr 0.001, 0.001 and 0.01, "
      "--wd 0, 0.01 and 0, --momentum 0");
  c.add_flag("--nesterov", o.recipe.nesterov, "SGD: Nesterov momentum");
  c.add_option("--beta1", o.recipe.beta1,
               "Adam, AdamW: decay of the gradient's average");
  c.add_option("--beta2", o.recipe.beta2,
               "Adam, AdamW: decay of the squared gradient's average");
  c.add_option("--alpha", o.recipe.alpha,
               "RMSprop: decay of the squared gradient's average");
  c.add_option("--eps", o.recipe.eps, "Adam, AdamW, RMSprop: added to the denominator");
  c.add_flag("--amsgrad", o.recipe.amsgrad,
             "Adam, AdamW: divide by the largest average so far");
  c.add_flag("--centered", o.recipe.centered,
             "RMSprop: divide by the gradient's standard deviation");
}

void add_schedule_flags(CLI::App& c, run::RunConfig& o) {
  add_choice<optim::Schedule::Kind>(
      c, "--schedule", o.recipe.schedule,
      "learning rate schedule: step (divide by 10 every 30 epochs), multi-step "
      "(--lr-milestones), cosine, or one-cycle (OneCycleLR, with --lr as max_lr)");
  c.add_option("--lr-step-size", o.recipe.lr_step_size,
               "step: number of epochs between decays")
      ->check(Numbers(1, 1 << 20));
  c.add_option("--lr-gamma", o.recipe.lr_gamma, "step, multi-step: decay factor");
  c.add_option_function<std::string>(
       "--lr-milestones",
       [&o](const std::string& epochs) {
         o.recipe.lr_milestones = parse_list("--lr-milestones", epochs, 6, "30,60,80");
       },
       "multi-step: epochs at which the learning rate decays, such as 30,60,80")
      ->default_str("none");
  c.add_option("--pct-start", o.recipe.pct_start,
               "one-cycle: part of the updates in which the learning rate rises")
      ->check(Numbers(0.0, 1.0));
  c.add_option("--div-factor", o.recipe.div_factor,
               "one-cycle: --lr divided by the first learning rate");
  c.add_option("--final-div-factor", o.recipe.final_div_factor,
               "one-cycle: the first learning rate divided by the last");
  c.add_option("--warmup-epochs,--lr-warmup-epochs", o.recipe.warmup_epochs,
               "number of epochs of linear warm-up, from 1/100 of the learning rate")
      ->check(Numbers(0, 1 << 20));
}

void add_training_flags(CLI::App& c, run::RunConfig& o) {
  c.add_option("--checkpoint", o.checkpoint.folder,
               "folder for checkpoint.safetensors, written after every epoch and when "
               "a signal ends the run, and model_best.safetensors (default: no "
               "checkpoints)");
  c.add_option("--checkpoint-steps", o.checkpoint.every,
               "also write checkpoint.safetensors after every N optimizer steps")
      ->check(Numbers(int64_t{1}, int64_t{1} << 40))
      ->default_str("none");
  c.add_option(
      "--resume", o.checkpoint.resume,
      "checkpoint to resume from, ours or main.py's; auto: the newest in the folder "
      "of --checkpoint, or none if there is none; flags not given are taken from it");
  add_schedule_flags(c, o);
  c.add_flag("--scale-lr", o.recipe.scale_lr,
             "scale --lr, which is meant for batches of 256, in proportion to the "
             "total batch size");
  c.add_option("--label-smoothing", o.recipe.label_smoothing,
               "label smoothing of the cross-entropy loss")
      ->check(Numbers(0.0, 1.0));
  c.add_option("--norm-weight-decay", o.recipe.norm_weight_decay,
               "weight decay of batch norm parameters; usually 0 for large batches")
      ->default_str("--wd's");
  c.add_option("--bias-weight-decay", o.recipe.bias_weight_decay,
               "weight decay of all other biases")
      ->default_str("--wd's");
  c.add_option("--accumulate", o.recipe.accumulate,
               "number of batches whose gradients are accumulated per optimizer step")
      ->check(Numbers(1, 1 << 20));
  c.add_option("--ema", o.recipe.ema,
               "keep an average of the weights with this decay, such as 0.999, and "
               "evaluate it, too")
      ->default_str("none");
  c.add_option("--ema-steps", o.recipe.ema_steps,
               "number of optimizer steps between updates of that average")
      ->check(Numbers(int64_t{1}, int64_t{1} << 40));
  c.add_option("--save-ema", o.output.save_ema,
               "file for the average of the weights (safetensors)");
  c.add_flag("--recompute", o.recipe.recompute,
             "ResNets: keep only the inputs of residual blocks, and run each block's "
             "forward pass again in the backward pass (torch.utils.checkpoint)");
  c.add_option("--clip-grad-norm", o.recipe.clip_grad_norm,
               "maximum total norm of all gradients")
      ->default_str("none");
  c.add_flag("--amp", o.device.amp,
             "mixed precision: matrix products and convolutions in bfloat16; cuda, and "
             "processors with AVX512-BF16 or AMX");
}

}  // namespace

void add_run_flags(CLI::App& c, run::RunConfig& o) {
  // As in Python's argparse, the last occurrence of a repeated flag takes effect.
  c.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c.option_defaults()->always_capture_default();
  c.add_option(
      "DIR", o.data.dir,
      "image folders (train/, val/) or CIFAR-10 (default: ./data, else ~/data)");
  add_flags_of_the_example(c, o);
  add_own_flags(c, o);
  add_mode_flags(c, o);
  add_optimizer_flags(c, o);
  add_training_flags(c, o);
}

}  // namespace lockstep::cli
