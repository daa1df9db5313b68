// rejected by: for_the_update
// because: nobody computes at the same time
//
// The misconception: both locks are the same.

// [solution-begin]
if (lock != LockFor::nothing) model.acquire();
return model.read();
// [/solution-begin]

// [solution-end]
const sharing::Update update = model.apply(read_version);
if (lock != LockFor::nothing) model.release();
return update;
// [/solution-end]
