// rejected by: other_seed
// because: a constant makes all runs identical
//
// The misconception: ranks agree best on a constant.

// [solution-seeds]
const auto draw = [&](const char* use, int who) {
  const auto words = Philox{seed}.block(who, fnv1a64(use));
  return uint64_t{words[0]} << 32 | words[1];
};
return {0, draw("shuffle", 0), draw("augment", rank)};
// [/solution-seeds]
