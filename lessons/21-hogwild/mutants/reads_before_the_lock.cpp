// rejected by: for_the_step
// because: acquired before the one
//
// The misconception: reading does no harm, so it needs no lock. What was read is old
// when the lock is there.

// [solution-begin]
const int64_t version = model.read();
if (lock != LockFor::nothing) model.acquire();
if (lock == LockFor::update) model.release();
return version;
// [/solution-begin]
