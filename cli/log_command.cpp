// `lockstep log`: compares training logs in the ImageNet example's format.
#include <memory>

#include "cli/commands.h"
#include "experiments/logs.h"

namespace lockstep::cli {

void add_log(CLI::App& app, Action& action) {
  auto* c = app.add_subcommand(
      "log", "compare training logs of lockstep or main.py: times, loss, accuracy");
  auto o = std::make_shared<experiments::LogOptions>();
  c->add_option("FILE", o->files,
                "logs in the format of PyTorch's ImageNet example, of any version")
      ->required();
  c->add_option("-b,--batch-size", o->batches,
                "total batch size, if a log does not name it; one, or one for each log "
                "(256,1024)")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  c->add_flag("--json", o->json, "print JSON");
  c->callback([o, &action] { action = [o] { return experiments::print_logs(*o); }; });
}

}  // namespace lockstep::cli
