// rejected by: uneven
// because: they must agree on one
//
// The misconception (pytorch#38174): each rank trains with what it has.

// [solution-epoch]
for (const int batch : batches) model.step(batch);
return;
// [/solution-epoch]
