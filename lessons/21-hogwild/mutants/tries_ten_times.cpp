// rejected by: add_again
// because: a loop that gives up
//
// The misconception: nobody fails ten times in a row.
// [solution-add]
double now = weight.load();
for (int attempt = 0; attempt < 10; ++attempt) {
  if (weight.compare_exchange(now, moved(now, read, next))) return;
}
return;
// [/solution-add]
