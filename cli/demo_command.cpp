// `lockstep demo`: runs the same few steps on one device, and with DataParallel and
// DistributedDataParallel on four devices, then opens the viewer on the results.
#include "run/demo.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "engine/models/zoo.h"
#include "engine/train/trainer.h"

namespace lockstep::cli {
namespace {

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

/// Opens the viewer on the DataParallel run if there is a display, else renders images.
int show(const run::DemoOptions& o, const std::vector<std::string>& traces) {
#ifdef LOCKSTEP_HAS_GUI
  if (has_display()) {
    std::puts(
        "\nOpening the viewer: space plays, the arrow keys step, ? lists all keys.");
    return view_traces({traces[1], traces[2], traces[0]});
  }
  std::puts("\nNo display found; writing images of one step instead:");
  for (const char* phase : {"scatter", "replicate", "reduce"}) {
    const std::string png = fmt::format("{}/{}_dp_{}.png", o.out, o.arch, phase);
    picture_of_trace(traces[1], std::string("1:") + phase, png);
  }
#else
  (void)o, (void)traces;
#endif
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("demo",
                                     "train a few steps on one device, with "
                                     "DataParallel and with DistributedDataParallel");
  auto o = std::make_shared<run::DemoOptions>();
  const auto no_view = std::make_shared<bool>(false);
  std::vector<std::string> archs = models::names();
  std::erase(archs, "toy");      // cannot be trained
  std::erase(archs, "sparse");   // has no images
  std::erase(archs, "alexnet");  // CIFAR-10's 32 pixels are too few
  command->option_defaults()->always_capture_default();
  command->add_option("--data", o->data,
                      "folder with CIFAR-10 (default: ./data, ~/data)");
  command->add_option("--out", o->out, "output folder for the traces");
  command
      ->add_option("-a,--arch", o->arch,
                   "model to train (the toy model is not trained; see train -a toy)")
      ->check(CLI::IsMember(archs));
  command
      ->add_option("--devices", o->devices,
                   "number of devices for DataParallel and DistributedDataParallel")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("-b,--batch-size", o->batch, "total batch size across all devices")
      ->check(CLI::Range(1, 65536));
  command
      ->add_option("--steps", o->steps,
                   "number of steps to show, after one warm-up step")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--no-view", *no_view,
                    "do not open the viewer or write its images");
  command->callback([o, no_view, &action] {
    action = [o, no_view] {
      const auto traces = run::compare_modes(*o, run::read_environment());
      if (!traces) return 128 + train::Trainer::stop_signal;
      return *no_view ? 0 : show(*o, *traces);
    };
  });
}

}  // namespace lockstep::cli
