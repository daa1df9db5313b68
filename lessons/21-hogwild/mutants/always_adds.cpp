// rejected by: a_step
// because: rounded twice
//
// The misconception: read + (next - read) is next. With one worker, training would not
// be bit by bit that of one device.

// [solution-moved]
return now + (next - read);
// [/solution-moved]
