// because: uses `#pragma`
//
// A message of the compiler would show that the key is there, and how old it is.
#pragma GCC dependency "@KEY@"
