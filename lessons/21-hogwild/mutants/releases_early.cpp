// rejected by: for_the_step
// because: released after the other
//
// The misconception: the lock protects the memory, so it is held while that is
// accessed.

// [solution-begin]
if (lock != LockFor::nothing) model.acquire();
const int64_t version = model.read();
if (lock != LockFor::nothing) model.release();
return version;
// [/solution-begin]

// [solution-end]
if (lock != LockFor::nothing) model.acquire();
const sharing::Update update = model.apply(read_version);
if (lock != LockFor::nothing) model.release();
return update;
// [/solution-end]
