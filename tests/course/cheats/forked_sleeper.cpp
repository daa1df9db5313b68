// because: your file calls `fork`
//
// A process that outlives the check.
#include <unistd.h>

__attribute__((constructor)) static void stay() {
  if (fork() == 0) sleep(100'000);
}
