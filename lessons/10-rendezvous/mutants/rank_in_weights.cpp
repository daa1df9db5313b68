// rejected by: same_weights
// because: must not depend on the rank
//
// The misconception: every rank has seeds of its own, for all it does.

// [solution-seeds]
const auto draw = [&](const char* use, int who) {
  const auto words = Philox{seed}.block(who, fnv1a64(use));
  return uint64_t{words[0]} << 32 | words[1];
};
return {draw("weights", rank), draw("shuffle", 0), draw("augment", rank)};
// [/solution-seeds]
