// `lockstep emulate`: replays a recorded program on devices with dedicated hardware.
#include "tracer/emulate/emulate.h"

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "run/outputs.h"
#include "tracer/analysis/summary.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::cli {
namespace {

struct EmulateCommand {
  std::string file, out;
  bool json = false;
  tracer::EmulateOptions options;
};

int run(const EmulateCommand& c) {
  if (!c.out.empty()) run::require_other_file(c.file, c.out);
  const tracer::Trace measured = tracer::open_trace(c.file);
  const tracer::Trace emulated = tracer::emulate(measured, c.options);
  const tracer::Summary summary = tracer::summarize(emulated);
  const std::string text =
      c.json ? tracer::summary_json(summary).dump(1) : tracer::summary_text(summary);
  if (!c.out.empty()) tracer::write_trace(emulated, c.out);
  std::printf("%s\n", text.c_str());
  if (c.out.empty()) return 0;
  const size_t steps = summary.train.steps.size() + summary.eval.steps.size();
  std::fprintf(c.json ? stderr : stdout, "=> trace written: %s (%zu step%s)\n",
               c.out.c_str(), steps, steps == 1 ? "" : "s");
  return 0;
}

}  // namespace

void add_emulate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "emulate", "re-time a trace as if each device had its own hardware");
  auto c = std::make_shared<EmulateCommand>();
  command->footer("Assumed: " + tracer::assumptions({}) + ".");
  command->add_option("TRACE", c->file, "trace file")->required();
  command->add_option("-o,--out", c->out, "write the emulated trace");
  command->add_flag("--json", c->json, "print the summary as JSON");
  command->add_flag("--measured-durations", c->options.measured_durations,
                    "keep recorded durations and gaps (tests the emulator itself)");
  command
      ->add_option("--link-gb-per-s", c->options.link.gb_per_s,
                   "bandwidth of all copies")
      ->capture_default_str();
  command
      ->add_option("--link-latency-us", c->options.link.latency_us,
                   "latency of all copies")
      ->capture_default_str();
  command
      ->add_option("--compute-scale", c->options.compute_scale,
                   "kernels are this many times as fast as recorded")
      ->capture_default_str();
  command->callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace lockstep::cli
