// rejected by: two_devices
// because: k - 1 copies travel
//
// The misconception: k replicas, k copies.

// [solution-predict]
const int64_t size = (step.batch + step.devices - 1) / step.devices;
send(host, device[0], step.labels);
send(device[0], host, step.numbers);
for (int64_t d = 0; d * size < step.batch; ++d) {
  const int64_t samples = std::min(size, step.batch - d * size);
  send(host, device[d], samples * step.sample);
  send(device[0], device[d], step.parameters + step.buffers);
  send(device[d], device[0], samples * step.output);
  send(device[0], device[d], samples * step.output);
  send(device[d], device[0], step.parameters);
}
return;
// [/solution-predict]
