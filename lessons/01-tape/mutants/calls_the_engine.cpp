// rejected by: own_code
// because: must be written, not called
//
// The engine has a walk that is easy to read: one line calls it.

// [solution-walk]
return autograd::simple_walk(root, std::move(grad));
// [/solution-walk]
