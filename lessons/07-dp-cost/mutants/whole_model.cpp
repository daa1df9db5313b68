// rejected by: in_its_place
// because: the head travels, too
//
// The misconception: DataParallel wraps a model.

// [solution-wrap]
const nn::ModulePtr whole(&model, [](nn::Module*) {});
return std::make_shared<parallel::DataParallel>(whole, devices);
// [/solution-wrap]
