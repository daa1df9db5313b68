// rejected by: any_devices
// because: ask a replica's gradients for their device
//
// The misconception: replica d is taken to be on the device with index d.

// [solution-wait]
for (size_t d = 0; d < gradients.size(); ++d) {
  const Device device{to.type, static_cast<int>(d)};
  runtime::context(to).copy().wait(runtime::context(device).compute().record_event());
}
return;
// [/solution-wait]
