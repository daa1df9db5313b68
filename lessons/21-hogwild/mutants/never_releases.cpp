// rejected by: for_the_step
// because: waits for it forever
//
// The misconception: the lock is given back when the function ends.

// [solution-end]
if (lock == LockFor::update) model.acquire();
return model.apply(read_version);
// [/solution-end]
