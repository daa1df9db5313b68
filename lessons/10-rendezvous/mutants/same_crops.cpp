// rejected by: other_crops
// because: the batch looks larger than it is
//
// The misconception: one seed for the whole run makes it repeatable.

// [solution-seeds]
const auto draw = [&](const char* use, int who) {
  const auto words = Philox{seed}.block(who, fnv1a64(use));
  return uint64_t{words[0]} << 32 | words[1];
};
return {draw("weights", 0), draw("shuffle", 0), draw("augment", 0)};
// [/solution-seeds]
