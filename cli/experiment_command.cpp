// `lockstep experiment`: reproduces published studies.
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "engine/models/zoo.h"
#include "experiments/studies.h"

namespace lockstep::cli {
namespace {

void add_common(CLI::App& c, experiments::StudyOptions& o, const std::string& data,
                bool cifar10 = false, bool emulated = false) {
  c.option_defaults()->always_capture_default();
  c.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  std::vector<std::string> archs = models::names();
  std::erase(archs, "toy");                   // cannot be trained
  std::erase(archs, "sparse");                // has no images
  if (cifar10) std::erase(archs, "alexnet");  // 32 pixels are too few
  c.add_option("-a,--arch", o.arch, "model architecture")->check(CLI::IsMember(archs));
  c.add_option("--data", o.data, data);
  c.add_option("--out", o.out, "output folder for logs, table and plot");
  c.add_option(
       "--threads-per-device", o.threads_per_device,
       "cores per virtual device; 0: all for a single device, one each for several")
      ->check(CLI::Range(0, 256));
  run::Words<DeviceType> types{
      {"cpu", DeviceType::cpu}, {"cuda", DeviceType::cuda}, {"null", DeviceType::null}};
  if (emulated) types.emplace_back("emulated", DeviceType::emulated);
  add_choice<DeviceType>(c, "--device-type", o.device_type,
                         emulated ? "cpu, cuda, null, which computes nothing, or "
                                    "emulated, which takes the times of --hardware"
                                  : "cpu, cuda, or null, which computes nothing",
                         types);
  if (emulated) {
    o.hardware = "v100-pcie";
    c.add_option("--hardware", o.hardware,
                 "emulated: the devices, as in `train --hardware`");
  }
  c.add_option("--seed", o.seed, "random seed for weights and shuffling")
      ->default_str("0; on cuda drawn by each run");
  c.add_flag("--again", o.again, "repeat runs that already have a log");
  c.add_flag("--json", o.json, "print the table as JSON");
  c.add_option("WORDS", o.more,
               "after --: additional arguments for every train command")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_epochs(CLI::App& c, experiments::StudyOptions& o) {
  c.add_option("--epochs", o.epochs, "number of epochs per run")
      ->check(CLI::Range(1, 1 << 20));
}

void add_imagenet(CLI::App& experiment, Action& action) {
  auto* c = experiment.add_subcommand(
      "imagenet-table",
      "ResNet50 on one device, with DataParallel and with DistributedDataParallel");
  auto o = std::make_shared<experiments::ImageNetStudy>();
  o->common.arch = "resnet50";
  o->common.out = "results/imagenet-table";
  add_common(*c, o->common, "image folders with train/ and val/ (default: generated)",
             /*cifar10=*/false, /*emulated=*/true);
  add_epochs(*c, o->common);
  c->add_option("--devices", o->common.devices,
                "number of devices for the multi-device runs")
      ->check(CLI::Range(1, 64));
  c->add_option("--image-size", o->image_size, "image size in pixels")
      ->check(CLI::Range(16, 1024))
      ->default_str("224, or 32 on CPUs");
  c->add_option("--length", o->length,
                "number of training images in the generated data set")
      ->check(CLI::Range(int64_t{10}, int64_t{2000000}));
  c->add_option("--divide-batches", o->divide_batches,
                "divide the original study's batch sizes of 128, 256 and 1024 by this")
      ->check(CLI::Range(int64_t{1}, int64_t{128}));
  c->add_option(
       "--steps", o->steps,
       "stop each run after this many iterations, without measuring accuracies")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 40))
      ->default_str("all; on emulated devices 6");
  c->callback(
      [o, &action] { action = [o] { return experiments::run_imagenet_table(*o); }; });
}

void add_batch_size(CLI::App& experiment, Action& action) {
  auto* c = experiment.add_subcommand(
      "batch-size", "small and large batches at equal epochs, on CIFAR-10");
  auto o = std::make_shared<experiments::BatchSizeStudy>();
  o->common.arch = "resnet18";
  o->common.out = "results/batch-size";
  o->common.epochs = 10;
  o->common.threads_per_device = 0;
  add_common(*c, o->common,
             "folder with CIFAR-10 (default: ./data, ~/data, else generated)",
             /*cifar10=*/true);
  add_epochs(*c, o->common);
  c->add_option("--batches", o->batches,
                "batch sizes in ascending order, such as 64,256,1024")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',')
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 20));
  c->add_option("--lr", o->lr, "learning rate for batches of 256")
      ->check(CLI::Range(1e-9, 1e3));
  c->add_option("--warmup-epochs", o->warmup_epochs,
                "number of warm-up epochs in the runs with a warm-up")
      ->check(CLI::Range(1, 1 << 20));
  c->add_flag("--augment", o->augment, "crop and flip the training images");
  add_choice<models::Stem>(*c, "--stem", o->stem,
                           "first layers of a ResNet; cifar: 16 times the work");
  c->add_option("--length", o->length,
                "number of training images in a generated data set")
      ->check(CLI::Range(int64_t{10}, int64_t{1000000}));
  c->callback(
      [o, &action] { action = [o] { return experiments::run_batch_size(*o); }; });
}

void add_scaling(CLI::App& experiment, Action& action) {
  auto* c = experiment.add_subcommand(
      "scaling", "weak scaling: the same batch per device, and where the time goes");
  auto o = std::make_shared<experiments::ScalingStudy>();
  o->common.arch = "resnet18";
  o->common.out = "results/scaling";
  add_common(*c, o->common,
             "folder with CIFAR-10 or image folders (default: generated images)");
  c->add_option("--devices", o->devices, "numbers of devices, such as 1,2,4")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  c->add_option("-b,--batch-per-device", o->batch, "number of images on each device")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 20));
  c->add_option("--steps", o->steps,
                "number of steps to record, after two warm-up steps")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  c->add_option("--image-size", o->image_size, "size of generated images in pixels")
      ->check(CLI::Range(16, 1024));
  add_choice<models::Stem>(*c, "--stem", o->stem,
                           "first layers of a ResNet; cifar: 16 times the work");
  c->add_option("--compute-scale", o->compute_scale,
                "emulated clock: devices are this many times as fast")
      ->check(CLI::Range(1e-6, 1e6));
  c->add_option("--link-gb-per-s", o->link_gb_per_s,
                "emulated clock: bandwidth of each device's link")
      ->check(CLI::Range(1e-6, 1e6));
  c->callback([o, &action] { action = [o] { return experiments::run_scaling(*o); }; });
}

}  // namespace

void add_experiment(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("experiment", kExperimentHelp);
  add_imagenet(*command, action);
  add_batch_size(*command, action);
  add_scaling(*command, action);
  require_known_subcommand(*command);
}

}  // namespace lockstep::cli
