#include "engine/optim/weight_decay.h"

#include <string_view>

namespace lockstep::optim {
namespace {

void collect(const nn::Module& module, const std::string& prefix,
             std::optional<double> norm, std::optional<double> bias,
             std::map<std::string, double>& decays) {
  const std::string_view type = module.type_name();
  const bool is_norm = type.find("BatchNorm") != type.npos;
  if (module.children().empty()) {
    for (const auto& [name, parameter] : module.named_parameters()) {
      if (is_norm && norm) decays[prefix + name] = *norm;
      if (!is_norm && bias && name == "bias") decays[prefix + name] = *bias;
    }
  }
  for (const auto& [name, child] : module.children()) {
    collect(*child, prefix + name + ".", norm, bias, decays);
  }
}

}  // namespace

std::map<std::string, double> other_weight_decays(const nn::Module& model,
                                                  std::optional<double> norm,
                                                  std::optional<double> bias) {
  std::map<std::string, double> decays;
  collect(model, "", norm, bias, decays);
  return decays;
}

}  // namespace lockstep::optim
