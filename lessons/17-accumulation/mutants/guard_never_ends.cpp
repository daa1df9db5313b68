// rejected by: restores
// because: restores what was there
//
// The misconception: switching off is all that a guard does.

// [solution-leave]
(void)before_;
// [/solution-leave]
