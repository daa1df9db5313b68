// LLVM's OpenMP keeps some memory of its threads until the process ends, in which
// LeakSanitizer sees leaks. The sanitizers call this function by its name.
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp.so"; }
