// rejected by: after_all
// because: but not for the other
//
// The misconception: the engine calls reduce when all gradients are there, so they have
// been computed.

// [solution-wait]
return;
// [/solution-wait]
