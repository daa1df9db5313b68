// rejected by: ends_with_a_wait
// because: Wait for the device
//
// The misconception: to wait for a device is to wait for all (torch.cuda.synchronize()
// waits for the current one).

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(Device{device.type, 0}).synchronize();
return (now() - start) / calls;
// [/solution-benchmark]
