// rejected by: add_again
// because: nothing was stored
//
// The misconception: a failed exchange is tried once more, and then given up.

// [solution-add]
double now = weight.load();
for (int attempt = 0; attempt < 3; ++attempt) {
  const double before = now;
  if (weight.compare_exchange(now, moved(now, read, next))) return;
  if (now != before) attempt = -1;
}
return;
// [/solution-add]
