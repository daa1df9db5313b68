// rejected by: uneven
// because: they must agree on one
//
// The misconception: ranks that wait for each other at the end of the epoch are
// together in it.

// [solution-epoch]
for (const int batch : batches) model.step(batch);
group.min(static_cast<double>(batches.size()));
return;
// [/solution-epoch]
