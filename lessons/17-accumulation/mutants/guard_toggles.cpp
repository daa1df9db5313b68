// rejected by: restores
// because: restores what was there
//
// The misconception: a guard inverts the flag, and inverts it back.

// [solution-enter]
model_.sync = !model_.sync;
return;
// [/solution-enter]
// [solution-leave]
model_.sync = !model_.sync;
// [/solution-leave]
