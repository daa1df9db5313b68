// rejected by: own_code
// because: must be written, not called
//
// The engine has a sampler of its own.

// [solution-indices]
std::shared_ptr<const data::Sampler> all;
all = std::make_shared<data::RandomSampler>(share_.length, share_.seed);
return std::make_shared<data::DistributedSampler>(all, share_.rank, share_.world)
    ->indices(epoch_);
// [/solution-indices]
