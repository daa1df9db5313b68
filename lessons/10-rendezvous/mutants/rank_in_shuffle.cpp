// rejected by: each_sample_once
// because: of one order
//
// The misconception: other ranks should read other samples, so their shuffles differ.

// [solution-seeds]
const auto draw = [&](const char* use, int who) {
  const auto words = Philox{seed}.block(who, fnv1a64(use));
  return uint64_t{words[0]} << 32 | words[1];
};
return {draw("weights", 0), draw("shuffle", rank), draw("augment", rank)};
// [/solution-seeds]
