// rejected by: uneven
// because: which not all ranks make
//
// The misconception: a rank asks before each of its steps. One that has no batch left
// does not ask any more, and the others wait for its answer.

// [solution-epoch]
for (const int batch : batches) {
  if (group.min(1) < 1) break;
  model.step(batch);
}
return;
// [/solution-epoch]
