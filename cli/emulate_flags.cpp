#include "cli/emulate_flags.h"

#include "cli/flags.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

namespace lockstep::cli {
namespace {

constexpr const char* kPipelineFlags[] = {"--split", "--pipeline-schedule",
                                          "--micro-batches", "--virtual-stages",
                                          "--schedule-file"};

}  // namespace

void add_emulate_flags(CLI::App& command, const std::shared_ptr<EmulateCommand>& c) {
  command.footer("Assumed: " + tracer::assumptions({}) + ".");
  command.add_option("TRACE", c->file, "trace file");
  command.add_option("FURTHER", c->further,
                     "constructed: traces of the same device with other batches");
  command.add_option("-o,--out", c->out, "write the emulated trace");
  command.add_flag("--json", c->json, "print the summary as JSON");
  auto* mode = command.add_option(
      "--mode", c->mode,
      "construct the program of another mode from a recorded step of one device");
  mode->check(CLI::IsMember(
      {kSingle, "dp", "dp-criterion", "dp-features", "ddp", kModelParallel, kServers}));
  const auto constructs = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->needs(mode);
  };
  constructs("--devices", c->program.devices, "constructed: number of devices")
      ->check(Numbers(1, tracer::kMostRanks))
      ->capture_default_str();
  constructs(
      "-b,--batch-size", c->program.batch,
      "constructed: batch of all devices; that of each must be recorded, or between "
      "two recorded ones")
      ->check(Numbers(1, 1 << 30));
  constructs("--bucket-cap-mb", c->bucket_cap_mb,
             "constructed: DDP's bucket size in MiB")
      ->check(Numbers(1, 1 << 20))
      ->capture_default_str();
  add_pipeline_flags(command, c->pipeline.config);
  for (const char* flag : kPipelineFlags) command.get_option(flag)->needs(mode);
  command.get_option("--split")->description(
      "model-parallel: the layers that begin a stage, such as layer2,layer3 or "
      "features.10,classifier; auto, the default: takes their times from TRACE, then "
      "makes the slowest stage as fast as possible for --devices");
  constructs("--first-bucket-mb", c->first_bucket_mb,
             "constructed: size of DDP's first bucket in MiB")
      ->check(Numbers(1, 1 << 20))
      ->capture_default_str();
  constructs("--servers", c->program.servers,
             "ps: number of parameter servers, on devices after the workers'")
      ->check(Numbers(1, tracer::kMostDevices - 1))
      ->capture_default_str();
  constructs("--all-reduce", c->program.all_reduce,
             "constructed: how DDP sums buckets: ring or tree (default: as the "
             "hardware's library chooses, else ring)")
      ->check(CLI::IsMember({"ring", "tree"}));
  auto* sweep = constructs(
      "--sweep", c->sweeps,
      "constructed: a table over the values of an option, such as devices=1..64 "
      "(1, 2, 4, …) or link-gb-per-s=1,12; may be given several times");
  for (const char* other : {"--out", "--batch-size"}) {
    sweep->excludes(command.get_option(other));
  }
  command.add_option("--csv", c->sweep_files.csv,
                     "sweep, scoreboard: write its points or rows as CSV, too");
  command
      .add_option("--plot", c->sweep_files.plot,
                  "sweep over devices: draw NAME.svg and NAME.png with gnuplot")
      ->needs(sweep);
  auto* buckets = command.add_flag(
      "--optimise-buckets", c->optimise_buckets,
      "constructed: find the best buckets, and what those of --bucket-cap-mb cost");
  buckets->needs(mode)->excludes(sweep)->excludes(command.get_option("--out"));
  auto* batch_for = constructs(
      "--batch-for", c->batch_for,
      "constructed: find the smallest batch with this many times the images/s of "
      "one device with the batch of TRACE, such as 1.9x");
  for (const char* other : {"--out", "--batch-size", "--sweep", "--optimise-buckets"}) {
    batch_for->excludes(command.get_option(other));
  }
  command
      .add_option("--against", c->against,
                  "print the result beside a recorded trace of the same thing")
      ->excludes(sweep)
      ->excludes(buckets)
      ->excludes(batch_for);
  command.add_flag("--measured-durations", c->options.measured_durations,
                   "keep recorded durations and gaps (tests the emulator itself)");
  auto* hardware = command.add_option(
      "--hardware", c->hardware,
      "the links of a machine: a profile's name, or a file that ends in .json");
  hardware->excludes(buckets);
  hardware->excludes(command.get_option("--measured-durations"));
  auto* calibrate =
      command.add_option("--calibrate", c->calibrate.out,
                         "run a few steps on 1, 2 and 3 devices, and write a hardware "
                         "profile of this machine (.json)");
  command
      .add_option("-a,--arch", c->calibrate.arch, "calibrate: the network that is run")
      ->needs(calibrate)
      ->capture_default_str();
  add_choice<DeviceType>(command, "--device-type", c->calibrate.device,
                         "calibrate: where it is run")
      ->needs(calibrate);
  command
      .add_option("--images", c->calibrate.batch,
                  "calibrate: images per device and step")
      ->needs(calibrate)
      ->check(Numbers(1, 4096))
      ->capture_default_str();
  command.add_flag("--list-hardware", c->list_hardware,
                   "print the profiles of hardware, and their sources");
  command
      .add_option("--link-gb-per-s", c->options.link.gb_per_s,
                  "bandwidth of all copies")
      ->capture_default_str();
  command
      .add_option("--link-latency-us", c->options.link.latency_us,
                  "latency of all copies")
      ->capture_default_str();
  for (const char* link : {"--link-gb-per-s", "--link-latency-us"}) {
    hardware->excludes(command.get_option(link));
  }
  command
      .add_option("--compute-scale", c->options.compute_scale,
                  "kernels are this many times as fast as recorded")
      ->capture_default_str();
  command
      .add_option("--host-scale", c->options.host_scale,
                  "the host is this many times as fast as recorded")
      ->capture_default_str();
  command.add_option(
      "--scoreboard", c->scoreboard,
      "predict the rows of a CSV file of published measurements, and print how wrong "
      "the predictions are");
  command
      .add_option("--interference", c->interference,
                  "kernels take this many times as long while a collective is in "
                  "flight on their device (default: what --hardware says, else 1)")
      ->check(Numbers(1.0, 100.0));
  command.parse_complete_callback([c, &command] {
    for (const char* flag : kPipelineFlags) {
      if (command.count(flag) > 0) c->pipeline.given.insert(flag);
    }
    if (command.count("--devices") > 0) {
      c->pipeline.devices = c->program.devices;
    } else if (c->mode == kSingle) {
      c->program.devices = 1;
    }
    if (c->mode == kSingle && c->program.devices != 1) {
      throw UsageError("--devices: --mode single has one device; fix: use --mode ddp");
    }
    if (command.count("--servers") > 0 && c->mode != kServers) {
      throw UsageError("--servers has no effect on --mode " + c->mode +
                       "; fix: omit it, or use --mode ps");
    }
  });
}

}  // namespace lockstep::cli
