// rejected by: chain
// because: must be written here, not called
//
// The slot knows what it held before.

// [solution-walk]
return autograd::tape_walk().reference()(root, std::move(grad));
// [/solution-walk]
