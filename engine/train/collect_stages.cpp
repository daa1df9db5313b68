#include "engine/train/collect_stages.h"

#include <cstring>
#include <map>

#include "engine/sharing/gather_held.h"
#include "engine/train/named_tensors.h"

namespace lockstep::train {
namespace {

/// What ranks hold, under names that all of them know.
struct Holding {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  Tensors held;

  void add(const std::string& name, const TensorSpec& spec, const Tensor& tensor) {
    names.push_back(name);
    specs.push_back(spec);
    held.push_back(tensor);
  }
};

void collect_model(distributed::ProcessGroup& group, Device device,
                   const nn::Module& model) {
  Holding holding;
  const auto tensors = all_tensors(model);
  for (const auto& [name, tensor] : tensors) {
    const bool mine = tensor.device() == device;
    holding.add(name, tensor.spec(), mine ? tensor.detach() : Tensor());
  }
  const Tensors all = sharing::gather_held(group, device, holding.specs, holding.held);
  for (size_t i = 0; i < all.size(); ++i) {
    if (holding.held[i].defined() || !all[i].defined()) continue;
    const Tensor& own = tensors[i].value;  // of another rank's stage: on the host, too
    std::memcpy(own.view().data, all[i].view().data, own.nbytes());
  }
}

void collect_state(distributed::ProcessGroup& group, Device device,
                   const nn::Module& model, optim::Optimizer& optimizer) {
  std::map<std::string, Tensor> own;
  for (const auto& [name, tensor] : optimizer.state()) own[name] = tensor;
  Holding holding;
  for (const auto& [parameter, tensor] : model.named_parameters()) {
    for (const std::string& part : optimizer.state_names()) {
      const std::string name = part + "." + parameter;
      const bool mine = tensor.device() == device && own.contains(name);
      const TensorSpec scalar{{}, DType::i64, nullptr};
      holding.add(name, part == "step" ? scalar : tensor.spec(),
                  mine ? own[name] : Tensor());
    }
  }
  const Tensors all = sharing::gather_held(group, device, holding.specs, holding.held);
  std::vector<nn::Named<Tensor>> state;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].defined()) state.push_back({holding.names[i], all[i]});
  }
  if (group.rank() == 0) optimizer.set_state(state);
}

}  // namespace

void collect_stages(distributed::ProcessGroup& group, Device device,
                    const nn::Module& model, optim::Optimizer& optimizer) {
  collect_model(group, device, model);
  collect_state(group, device, model, optimizer);
}

}  // namespace lockstep::train
