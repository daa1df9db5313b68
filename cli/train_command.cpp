// `lockstep train`: the counterpart of the ImageNet example's main.py.
#include "run/train.h"

#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"

namespace lockstep::cli {

void add_train(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("train", "train a model, like PyTorch's ImageNet example");
  auto config = std::make_shared<run::RunConfig>();
  add_run_flags(*command, *config);
  command->callback([config, command, &action] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      for (const std::string& name : option->get_lnames()) {
        config->given.insert("--" + name);
      }
    }
    config->draws_seed = !config->given.contains("--seed");
    config->environment = run::read_environment();
    action = [config] { return run::run_training(*config); };
  });
}

}  // namespace lockstep::cli
