// because: No such file or directory
//
// Includes the exercise from the repository.
#define SOLUTION "@ROOT@/lessons/05-scatter/exercise.cpp"
#include SOLUTION
