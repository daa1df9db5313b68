// rejected by: order
// because: all pre-hooks
//
// The misconception: model(x) is another way to write model.forward(x).

// [solution-call_impl]
const CallEvent event(module, CallLevel::call_impl, input);
const CallEvent inner(module, CallLevel::forward, input);
return module.forward(input);
// [/solution-call_impl]
