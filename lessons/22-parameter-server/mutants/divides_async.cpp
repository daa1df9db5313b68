// rejected by: of_its_own
// because: nothing is averaged here
//
// The misconception (pytorch#58003): all parameter servers average gradients. With one
// gradient in an update there is nothing to average; its step only becomes shorter.

// [solution-async]
if (options.consistency != Consistency::sync) {
  server.update({worker}, 1.0 / static_cast<double>(server.workers().size()));
  return;
}
// [/solution-async]
