#include "cli/run_options.h"

#include <filesystem>

#include "cli/commands.h"
#include "engine/backends/backend.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "engine/data/random.h"
#include "engine/train/weights.h"

namespace lockstep::cli {

void add_run_flags(CLI::App& c, RunOptions& o) {
  // As Python's argparse: of a flag given twice the last counts.
  c.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 40);
  c.add_option("DIR", o.dir, "folder of the data set");
  c.add_option("-a,--arch", o.arch,
               "resnet18|34|50, vgg16, vgg16_bn, vgg16_legacy, toy");
  c.add_option("-j,--workers", o.workers, "data loading threads")
      ->check(CLI::Range(0, 256));
  c.add_option("--epochs", o.epochs, "epochs to run")->check(CLI::Range(0, 1 << 20));
  c.add_option("--start-epoch", o.start_epoch)->check(CLI::Range(0, 1 << 20));
  c.add_option("-b,--batch-size", o.batch_size, "of the whole batch, over all devices")
      ->check(positive);
  c.add_option("--lr,--learning-rate", o.lr, "initial learning rate");
  c.add_option("--momentum", o.momentum);
  c.add_option("--wd,--weight-decay", o.weight_decay);
  c.add_option("-p,--print-freq", o.print_freq)->check(CLI::Range(1, 1 << 30));
  c.add_option("--resume", o.resume, "checkpoint to go on from");
  c.add_flag("-e,--evaluate", o.evaluate, "evaluate on the validation set and stop");
  c.add_option("--pretrained", o.pretrained, "weights to begin with (safetensors)");
  c.add_option("--world-size", o.world_size, "number of nodes");
  c.add_option("--rank", o.rank, "this node's rank");
  c.add_option("--dist-url", o.dist_url);
  c.add_option("--dist-backend", o.dist_backend);
  c.add_option("--seed", o.seed, "of weights, shuffling, augmentation and dropout");
  c.add_option("--gpu", o.gpu, "train on this device only")->check(CLI::Range(0, 63));
  c.add_flag("--multiprocessing-distributed", o.multiprocessing_distributed,
             "DistributedDataParallel, one process per device");

  c.add_option("--dataset", o.dataset, "cifar10 | imagefolder | random | generated")
      ->check(CLI::IsMember({"cifar10", "imagefolder", "random", "generated"}));
  c.add_option("--mode", o.mode, "single | dp | dp-features | ddp")
      ->check(CLI::IsMember({"single", "dp", "dp-features", "ddp"}));
  c.add_option("--devices", o.devices, "how many (default: 4 virtual CPUs)")
      ->check(CLI::Range(1, 64));
  c.add_option("--device-type", o.device_type, "cpu | cuda | reference | null")
      ->check(CLI::IsMember({"cpu", "cuda", "reference", "null"}));
  c.add_option("--threads-per-device", o.threads_per_device)->check(CLI::Range(1, 256));
  c.add_option("--steps", o.steps, "stop after so many training steps")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  c.add_option("--save", o.save, "write the weights at the end (safetensors)");
  c.add_flag("--no-shuffle", o.no_shuffle);
  c.add_flag("--no-augment", o.no_augment);
  c.add_option("--stem", o.stem, "of ResNets: cifar | imagenet")
      ->check(CLI::IsMember({"cifar", "imagenet"}));
  c.add_option("--input-on", o.input_on, "DP: host | device0 (before scattering)")
      ->check(CLI::IsMember({"host", "device0"}));
  c.add_option("--conv", o.conv, "auto (Winograd where it exists) | direct")
      ->check(CLI::IsMember({"auto", "direct"}));
  c.add_option("--dtype", o.dtype, "float32 | float64 (reference, null)")
      ->check(CLI::IsMember({"float32", "float64"}));
  c.add_flag("--benchmark", o.benchmark,
             "choose convolution algorithms by measuring, once per shape; prints them");
  c.add_flag("--deterministic", o.deterministic,
             "never choose algorithms by measuring");
  c.add_flag("--launch-blocking", o.launch_blocking, "wait for every kernel");
  c.add_option("--image-size", o.image_size, "of generated pictures (default 32)")
      ->check(CLI::Range(1, 4096));
  c.add_option("--classes", o.classes, "of generated pictures (default 10)")
      ->check(CLI::Range(1, 1000000));
  c.add_option("--length", o.length, "generated or random samples")->check(positive);
  c.add_option("--dropout", o.dropout, "of VGG's classifier")
      ->check(CLI::Range(0.0, 0.999));
  c.add_option("--trace", o.trace, "record a trace into this file (.json or .json.gz)");
  c.add_option("--trace-steps", o.trace_steps, "A:B, the steps to record");
  c.add_option("--summary", o.summary, "write loss, times and memory per step (JSON)");
}

void validate(const RunOptions& o) {
  const auto& archs = models::names();
  if (std::find(archs.begin(), archs.end(), o.arch) == archs.end()) {
    try {
      models::make(o.arch, {});
    } catch (const std::invalid_argument& error) {
      throw UsageError(std::string("-a: ") + error.what());
    }
  }
  if (o.mode == "ddp" || o.multiprocessing_distributed) {
    throw std::runtime_error(
        "DistributedDataParallel is not built yet; use --mode dp (the default)");
  }
  if (!o.resume.empty()) {
    throw std::runtime_error(
        "--resume is not built yet; --pretrained FILE.safetensors loads weights");
  }
  if (o.device_type == "cuda") backend_of(DeviceType::cuda);  // says why not
  if (o.dtype == "float64" && o.device_type == "cpu") {
    throw UsageError(
        "--dtype float64 needs --device-type reference (oneDNN is float32)");
  }
  if (o.gpu && !o.mode.empty() && o.mode != "single") {
    throw UsageError("--gpu trains on one device; it cannot go with --mode " + o.mode);
  }
  if (o.gpu && o.devices > 0 && *o.gpu >= o.devices) {
    throw UsageError("--gpu " + std::to_string(*o.gpu) + ": there are only " +
                     std::to_string(o.devices) + " devices");
  }
  // Better now than after hours of training.
  for (const std::string& file : {o.trace, o.summary, o.save}) {
    const auto folder = std::filesystem::path(file).parent_path();
    if (!file.empty() && !folder.empty() && !std::filesystem::is_directory(folder)) {
      throw std::runtime_error(file + ": there is no folder " + folder.string() +
                               "; make it first");
    }
  }
  if (o.mode == "dp-features" && o.arch.rfind("vgg", 0) != 0) {
    throw UsageError("--mode dp-features needs a model with features (-a vgg16)");
  }
}

DeviceType device_type(const RunOptions& o) {
  if (o.device_type == "reference") return DeviceType::reference;
  if (o.device_type == "null") return DeviceType::null;
  if (o.device_type == "cuda") return DeviceType::cuda;
  return DeviceType::cpu;
}

train::Mode mode_of(const RunOptions& o) {
  if (o.gpu || o.mode == "single") return train::Mode::single;
  if (o.mode == "dp") return train::Mode::dp;
  if (o.mode == "dp-features") return train::Mode::dp_features;
  return o.arch.rfind("vgg", 0) == 0 ? train::Mode::dp_features : train::Mode::dp;
}

parallel::Devices devices_of(const RunOptions& o) {
  const DeviceType type = device_type(o);
  if (mode_of(o) == train::Mode::single) return {{type, o.gpu.value_or(0)}};
  parallel::Devices devices;
  for (int i = 0; i < (o.devices > 0 ? o.devices : 4); ++i)
    devices.push_back({type, i});
  return devices;
}

DataSets open_data(const RunOptions& o) {
  std::string kind = o.dataset;
  if (kind.empty() && o.arch == "toy") kind = "random";
  if (kind.empty()) {
    const bool folders = std::filesystem::is_directory(o.dir + "/train");
    kind = !o.dir.empty() && folders ? "imagefolder" : "cifar10";
  }
  if (kind == "imagefolder") {
    throw std::runtime_error(
        "image folders are not built yet; use --dataset generated --image-size 224");
  }
  DataSets sets{kind, nullptr, nullptr};
  if (kind == "random") {
    const int64_t length = o.length > 0 ? o.length : 100;
    sets.train = std::make_shared<data::RandomDataset>(length, 5, o.seed);
    sets.test = sets.train;
  } else if (kind == "generated") {
    const int64_t size = o.image_size > 0 ? o.image_size : 32;
    const int64_t classes = o.classes > 0 ? o.classes : 10;
    const int64_t length = o.length > 0 ? o.length : 5000;
    const std::vector<int64_t> shape{3, size, size};
    sets.train = std::make_shared<data::Generated>(shape, classes, length, o.seed);
    sets.test = std::make_shared<data::Generated>(
        shape, classes, std::max<int64_t>(1, length / 5), o.seed + 1);
  } else {
    const auto folder =
        data::find_cifar10(o.dir.empty() ? std::nullopt : std::optional(o.dir));
    if (!folder && !o.dir.empty()) {  // the reader names what is missing
      data::Cifar10(o.dir, data::Split::train, false);
    }
    if (!folder) {
      throw std::runtime_error(
          "CIFAR-10 was not found in ./data or ~/data; name its folder (train DIR), "
          "fetch it (lockstep data fetch), or use --dataset generated");
    }
    sets.train =
        std::make_shared<data::Cifar10>(*folder, data::Split::train, !o.no_augment);
    sets.test = std::make_shared<data::Cifar10>(*folder, data::Split::test, false);
  }
  return sets;
}

nn::ModulePtr make_model(const RunOptions& o, const DataSets& data) {
  const bool features = data.train->sample_shape().size() == 1;
  if (features != (o.arch == "toy")) {
    throw UsageError(o.arch == "toy" ? "-a toy needs --dataset random"
                                     : "--dataset random needs -a toy");
  }
  models::ZooOptions zoo;
  zoo.classes = data.train->classes();
  zoo.dropout = o.dropout;
  const bool small = !features && data.train->sample_shape()[1] <= 64;
  zoo.stem = o.stem == "cifar" || (o.stem.empty() && small) ? models::Stem::cifar
                                                            : models::Stem::imagenet;
  nn::Construction construction;
  construction.seed = o.seed;
  construction.fill = o.device_type != "null";
  construction.dtype = o.dtype == "float64" ? DType::f64 : DType::f32;
  nn::construction() = construction;  // replicas are made with the same dtype
  nn::ModulePtr model = models::make(o.arch, zoo);
  if (!o.pretrained.empty()) train::load_weights(*model, o.pretrained);
  return model;
}

}  // namespace lockstep::cli
