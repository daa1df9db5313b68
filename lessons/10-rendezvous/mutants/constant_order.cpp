// rejected by: other_seed
// because: a constant makes all runs identical
//
// The misconception: the order of the samples is no part of the experiment.

// [solution-seeds]
const auto draw = [&](const char* use, int who) {
  const auto words = Philox{seed}.block(who, fnv1a64(use));
  return uint64_t{words[0]} << 32 | words[1];
};
return {draw("weights", 0), 1234, draw("augment", rank)};
// [/solution-seeds]
