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
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  return std::getline(file, name) && name == kWritingName;
}

}  // namespace lockstep::run
