// rejected by: two_devices
// because: buffers have no gradients
//
// The misconception: the replicas send back what they were sent.

// [solution-predict]
const int64_t size = (step.batch + step.devices - 1) / step.devices;
send(host, device[0], step.labels);
send(device[0], host, step.numbers);
for (int64_t d = 0; d * size < step.batch; ++d) {
  const int64_t samples = std::min(size, step.batch - d * size);
  send(host, device[d], samples * step.sample);
  if (d == 0) continue;
  send(device[0], device[d], step.parameters + step.buffers);
  send(device[d], device[0], samples * step.output);
  send(device[0], device[d], samples * step.output);
  send(device[d], device[0], step.parameters + step.buffers);
}
return;
// [/solution-predict]
