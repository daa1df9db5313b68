// rejected by: head_stays
// because: every device processes its own chunk
//
// The misconception: what stays on device 0 is cheapest, so everything stays there.

// [solution-wrap]
auto& vgg = dynamic_cast<models::VGG&>(model);
const parallel::Devices first{devices[0]};
auto wrapper = std::make_shared<parallel::DataParallel>(vgg.features(), first);
vgg.set_features(wrapper);
return wrapper;
// [/solution-wrap]
