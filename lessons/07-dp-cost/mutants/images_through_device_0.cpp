// rejected by: two_devices
// because: in one hop
//
// The misconception: the batch goes to device 0 first, which hands the chunks on (as
// with --input-on device0).

// [solution-predict]
const int64_t size = (step.batch + step.devices - 1) / step.devices;
send(host, device[0], step.labels);
send(device[0], host, step.numbers);
for (int64_t d = 0; d * size < step.batch; ++d) {
  const int64_t samples = std::min(size, step.batch - d * size);
  send(host, device[0], samples * step.sample);
  if (d == 0) continue;
  send(device[0], device[d], samples * step.sample);
  send(device[0], device[d], step.parameters + step.buffers);
  send(device[d], device[0], samples * step.output);
  send(device[0], device[d], samples * step.output);
  send(device[d], device[0], step.parameters);
}
return;
// [/solution-predict]
