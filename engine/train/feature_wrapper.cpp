// The part of a model that `--mode dp-features` wraps in DataParallel, and `--mode
// hybrid` in HybridFeatures.
#include "engine/models/alexnet.h"
#include "engine/train/trainer.h"

namespace lockstep::train {
namespace {

std::shared_ptr<parallel::DataParallel> wrap_features(
    nn::Module& model, const parallel::Devices& devices) {
  auto* whole = dynamic_cast<models::FeatureModel*>(&model);
  if (whole == nullptr) {
    throw std::runtime_error(
        "--mode dp-features requires a model with features; fix: use -a vgg16");
  }
  auto wrapper = std::make_shared<parallel::DataParallel>(whole->features(), devices);
  whole->set_features(wrapper);
  return wrapper;
}

}  // namespace

std::shared_ptr<sharing::HybridFeatures> make_hybrid(nn::Module& model,
                                                     const parallel::Devices& devices) {
  auto* whole = dynamic_cast<models::FeatureModel*>(&model);
  if (whole == nullptr) {
    throw std::runtime_error(
        "--mode hybrid requires a model with features; fix: use -a vgg16");
  }
  const Device last = devices.back();
  for (const auto& [name, child] : model.children()) {
    child->to(child == whole->features() ? devices[0] : last);
  }
  auto wrapper = std::make_shared<sharing::HybridFeatures>(
      whole->features(), parallel::Devices(devices.begin(), devices.end() - 1), last);
  whole->set_features(wrapper);
  return wrapper;
}

runtime::Slot<WrapFeatures>& feature_wrapper() {
  static runtime::Slot<WrapFeatures> in_use("feature_wrapper", wrap_features);
  return in_use;
}

}  // namespace lockstep::train
