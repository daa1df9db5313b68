// rejected by: runs_forward
// because: must be written here, not called
//
// The engine's own function does it.

// [solution-call]
return nn::module_call().reference()(module, input, site);
// [/solution-call]
