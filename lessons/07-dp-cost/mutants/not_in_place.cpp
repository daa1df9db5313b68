// rejected by: in_its_place
// because: changes nothing in the model
//
// The misconception: making the wrapper is enough (as if `DataParallel(model.features)`
// changed the model that it is given).

// [solution-wrap]
auto& vgg = dynamic_cast<models::VGG&>(model);
return std::make_shared<parallel::DataParallel>(vgg.features(), devices);
// [/solution-wrap]
