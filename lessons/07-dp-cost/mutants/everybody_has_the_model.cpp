// rejected by: idle_device
// because: device 3 gets no images and no model
//
// The misconception: every device of the list takes part in every step.

// [solution-predict]
const int64_t size = (step.batch + step.devices - 1) / step.devices;
send(host, device[0], step.labels);
send(device[0], host, step.numbers);
for (int64_t d = 0; d < step.devices; ++d) {
  const int64_t samples = std::max<int64_t>(0, std::min(size, step.batch - d * size));
  send(host, device[d], samples * step.sample);
  if (d == 0) continue;
  send(device[0], device[d], step.parameters + step.buffers);
  send(device[d], device[0], samples * step.output);
  send(device[0], device[d], samples * step.output);
  send(device[d], device[0], step.parameters);
}
return;
// [/solution-predict]
