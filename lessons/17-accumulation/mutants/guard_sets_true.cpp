// rejected by: restores
// because: restores what was there
//
// The misconception: after no_sync, averaging is on.

// [solution-leave]
model_.sync = true;
// [/solution-leave]
