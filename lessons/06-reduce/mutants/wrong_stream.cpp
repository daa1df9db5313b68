// rejected by: after_all
// because: of the receiving device must
//
// The misconception: a device has one queue, so it does not matter which stream waits.

// [solution-wait]
for (const Tensors& replica : gradients) {
  const Device device = replica[0].device();
  runtime::context(to).compute().wait(
      runtime::context(device).compute().record_event());
}
return;
// [/solution-wait]
