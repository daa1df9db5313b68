// because: nothing can be written
//
// The standard library's files: the learner's own record, the judge's memory.
#include <fstream>
#include <stdexcept>
#include <string>

struct Writer {
  Writer() {
    for (const char* file :
         {"@WORKSPACE@/progress.json", "@WORKSPACE@/05-scatter/scatter.cpp", "@RESULT@",
          "@KEY@", "/proc/@PID@/mem", "/lockstep/lockstep", "/etc/new", "/new"}) {
      std::ofstream stream(file, std::ios::app);
      if (stream << "x" << std::flush) {
        throw std::runtime_error(std::string("can be written: ") + file);
      }
    }
    throw std::runtime_error("nothing can be written");
  }
};
static const Writer writer;
