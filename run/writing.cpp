#include "run/writing.h"

#include <sys/prctl.h>

#include <fstream>
#include <string>

namespace lockstep::run {
namespace {

constexpr char kWritingName[] = "lockstep writes";  // at most 15 characters

}  // namespace

Writing::Writing() {
  ::prctl(PR_GET_NAME, name_before_.data());
  ::prctl(PR_SET_NAME, kWritingName);
}

Writing::~Writing() { ::prctl(PR_SET_NAME, name_before_.data()); }

bool is_writing(pid_t process) {
  const std::string begin = std::to_string(process) + " (" + kWritingName + ") ";
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line) || !line.starts_with(begin)) return false;
  const char state = line[begin.size()];
  return state != 'T' && state != 't';
}

}  // namespace lockstep::run
