#include "cli/run_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/program.h"
#include "cli/commands.h"
#include "cli/cuda_devices.h"
#include "cli/image_folders.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"
#include "engine/data/random.h"
#include "engine/plan/launch_arithmetic.h"
#include "engine/train/weights.h"

namespace lockstep::cli {

DeviceType device_type(const RunOptions& o) {
  if (o.device_type == "reference") return DeviceType::reference;
  if (o.device_type == "null") return DeviceType::null;
  if (o.device_type == "cuda") return DeviceType::cuda;
  return DeviceType::cpu;
}

train::Mode mode_of(const RunOptions& o) {
  const bool ranks = o.multiprocessing_distributed || o.world_size > 1 ||
                     std::getenv("LOCKSTEP_RANK") ||
                     (o.world_size < 0 && o.dist_url == "env://");
  if (o.mode == "ddp" || ranks) return train::Mode::ddp;
  if (o.gpu || o.mode == "single") return train::Mode::single;
  if (o.mode == "dp") return train::Mode::dp;
  if (o.mode == "dp-features") return train::Mode::dp_features;
  return o.arch.rfind("vgg", 0) == 0 ? train::Mode::dp_features : train::Mode::dp;
}

parallel::Devices devices_of(const RunOptions& o) {
  const DeviceType type = device_type(o);
  if (mode_of(o) == train::Mode::single) return {{type, o.gpu.value_or(0)}};
  parallel::Devices devices;
  const int count = o.devices > 0 ? o.devices : default_devices(type);
  for (int i = 0; i < count; ++i) devices.push_back({type, i});
  return devices;
}

namespace {

DataSets open_random(const RunOptions& o) {
  const int64_t length = o.length > 0 ? o.length : 100;
  auto samples = std::make_shared<data::RandomDataset>(length, 5, o.seed);
  return {"random", "random samples", samples, samples};
}

DataSets open_generated(const RunOptions& o) {
  const int64_t size = o.image_size > 0 ? o.image_size : 32;
  const int64_t classes = o.classes > 0 ? o.classes : 10;
  const int64_t length = o.length > 0 ? o.length : 5000;
  const std::vector<int64_t> shape{3, size, size};
  DataSets sets{"generated", "pictures made on the way", nullptr, nullptr};
  sets.train = std::make_shared<data::Generated>(shape, classes, length, o.seed);
  sets.test = std::make_shared<data::Generated>(
      shape, classes, std::max<int64_t>(1, length / 5), o.seed + 1);
  return sets;
}

DataSets open_cifar10(const RunOptions& o) {
  const auto folder =
      data::find_cifar10(o.dir.empty() ? std::nullopt : std::optional(o.dir));
  if (!folder && !o.dir.empty()) {  // the reader names what is missing
    data::Cifar10(o.dir, data::Split::train, false);
  }
  if (!folder) {
    throw std::runtime_error(
        "CIFAR-10 was not found in ./data or ~/data; name its folder (train DIR), "
        "fetch it (" +
        program() + " data fetch), or use --dataset generated");
  }
  const bool generated = data::is_generated(*folder);
  DataSets sets{generated ? "generated" : "cifar10", folder->string(), nullptr,
                nullptr};
  sets.train =
      std::make_shared<data::Cifar10>(*folder, data::Split::train, !o.no_augment);
  sets.test = std::make_shared<data::Cifar10>(*folder, data::Split::test, false);
  return sets;
}

}  // namespace

DataSets open_data(const RunOptions& o) {
  std::string kind = o.dataset;
  if (kind.empty() && o.arch == "toy") kind = "random";
  const bool folders =
      !o.dir.empty() && std::filesystem::is_directory(o.dir + "/train");
  if (kind == "imagefolder" || (kind.empty() && folders)) return open_image_folders(o);
  if (kind == "random") return open_random(o);
  if (kind == "generated") return open_generated(o);
  return open_cifar10(o);
}

int64_t rank_batch(const RunOptions& o, const RankPlace& place) {
  if (!place.group) return o.batch_size;
  const int batch =
      plan::per_process_batch(static_cast<int>(o.batch_size), place.local_world);
  if (batch > 0) return batch;
  throw UsageError(fmt::format("-b {}: less than one picture for each of {} ranks",
                               o.batch_size, place.local_world));
}

int64_t global_batch(const RunOptions& o, const RankPlace& place) {
  return rank_batch(o, place) * place.world;
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
