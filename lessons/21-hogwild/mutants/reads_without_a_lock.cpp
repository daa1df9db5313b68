// rejected by: for_the_update
// because: half an update
//
// The misconception: only writing needs the lock. A worker then reads the first layers
// after an update and the last ones before it.

// [solution-begin]
if (lock == LockFor::step) model.acquire();
return model.read();
// [/solution-begin]
