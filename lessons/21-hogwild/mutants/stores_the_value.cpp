// rejected by: a_step
// because: others' steps must stay
//
// The misconception: the result of a step is a value. Storing it would undo everything
// that others have done since the read, not only what falls between load and store.

// [solution-moved]
(void)now, (void)read;
return next;
// [/solution-moved]
