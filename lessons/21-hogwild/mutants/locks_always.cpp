// rejected by: hogwild
// because: no lock at any time
//
// The misconception: a shared model always needs a lock.

// [solution-begin]
model.acquire();
const int64_t version = model.read();
if (lock == LockFor::update) model.release();
return version;
// [/solution-begin]

// [solution-end]
if (lock == LockFor::update) model.acquire();
const sharing::Update update = model.apply(read_version);
model.release();
return update;
// [/solution-end]
