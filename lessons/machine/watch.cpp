#include "lessons/machine/watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lockstep::lessons {

FileWatch::FileWatch(const std::filesystem::path& file) : file_(file) {
  notify_ = inotify_init1(IN_CLOEXEC);
  if (notify_ < 0 || inotify_add_watch(notify_, file.parent_path().c_str(),
                                       IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    const std::string why = std::strerror(errno);
    if (notify_ >= 0) close(notify_);
    throw std::runtime_error(file.parent_path().string() +
                             " cannot be watched: " + why);
  }
}

FileWatch::~FileWatch() { close(notify_); }

bool FileWatch::wait() {
  bool seen = false;
  for (;;) {
    // Editors save in several steps: wait until nothing happens for 50 ms.
    pollfd readable{notify_, POLLIN, 0};
    const int ready = poll(&readable, 1, seen ? 50 : -1);
    if (ready < 0) return false;
    if (ready == 0) return true;
    alignas(inotify_event) char buffer[4096];
    const ssize_t count = read(notify_, buffer, sizeof buffer);
    for (ssize_t at = 0; at < count;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      if (event->len > 0 && file_.filename() == event->name) seen = true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

}  // namespace lockstep::lessons
