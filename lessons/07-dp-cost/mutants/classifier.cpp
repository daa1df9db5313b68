// rejected by: in_its_place
// because: the part that should stay on device 0
//
// The misconception: the largest part gains most from being shared.

// [solution-wrap]
auto& vgg = dynamic_cast<models::VGG&>(model);
const nn::ModulePtr classifier = model.children().back().value;
auto wrapper = std::make_shared<parallel::DataParallel>(classifier, devices);
vgg.set_features(wrapper);
return wrapper;
// [/solution-wrap]
