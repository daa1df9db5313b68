// rejected by: head_stays
// because: device 0 must come first
//
// The misconception: device 0 has the head to compute, so the others compute the
// features.

// [solution-wrap]
auto& vgg = dynamic_cast<models::VGG&>(model);
parallel::Devices others = devices;
if (others.size() > 2) others.erase(others.begin());
auto wrapper = std::make_shared<parallel::DataParallel>(vgg.features(), others);
vgg.set_features(wrapper);
return wrapper;
// [/solution-wrap]
