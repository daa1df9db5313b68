#include "run/child_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "engine/train/trainer.h"
#include "run/writing.h"

namespace lockstep::run {
namespace {

std::atomic<int> told_to_end{0};  ///< the signal received; 0: none

void on_signal(int number) { told_to_end = number; }

constexpr std::chrono::seconds kTimeToWrite{60};  ///< after another child's failure

bool ends_a_run(int code) { return code == 128 + SIGINT || code == 128 + SIGTERM; }

}  // namespace

/// Handles SIGINT and SIGTERM during its lifetime.
class ChildGroup::SignalsCaught {
 public:
  SignalsCaught() {
    told_to_end = 0;
    struct sigaction ours{};
    ours.sa_handler = on_signal;
    ::sigaction(SIGINT, &ours, &old_int_);
    ::sigaction(SIGTERM, &ours, &old_term_);
  }
  /// Batch systems repeat SIGTERM: a program that was told to end ends by itself.
  ~SignalsCaught() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    if (!terminated_) ::sigaction(SIGTERM, &old_term_, nullptr);
  }
  void note_sigterm() { terminated_ = true; }
  SignalsCaught(const SignalsCaught&) = delete;
  SignalsCaught& operator=(const SignalsCaught&) = delete;

 private:
  struct sigaction old_int_{}, old_term_{};
  bool terminated_ = false;
};

namespace {

/// Forwards whole lines to one of our own streams, each prefixed with a name. Lines of
/// different children are never interleaved.
OnLine prefixed(const std::string& name, int stream) {
  return [prefix = "[" + name + "] ", stream](const std::string& line) {
    const std::string whole = prefix + line;
    (void)!::write(stream, whole.data(), whole.size());
  };
}

}  // namespace

ChildGroup::ChildGroup(Milliseconds grace)
    : grace_(grace), caught_(std::make_unique<SignalsCaught>()) {}

ChildGroup::~ChildGroup() = default;

LineReader::LineReader(OnLine on_line) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::runtime_error(std::string("cannot create a pipe: ") +
                             std::strerror(errno));
  }
  exit_ = Fd(ends[0]);
  entrance_ = Fd(ends[1]);
  thread_ = std::thread([this, on_line = std::move(on_line)] { read(on_line); });
}

LineReader::~LineReader() {
  close_entrance();
  thread_.join();
}

void LineReader::read(const OnLine& on_line) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t got = ::read(exit_.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) text.append(bytes, got);
    if (got <= 0 && !text.empty()) text += '\n';
    for (size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      on_line(text.substr(0, end + 1));
    }
    if (got <= 0) return;
  }
}

void ChildGroup::start(const std::string& name,
                       const std::vector<std::string>& arguments,
                       const Variables& environment, Output output) {
  std::vector<std::pair<int, OnLine>> streams;
  if (output == Output::prefixed) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      streams.emplace_back(stream, prefixed(name, stream));
    }
  }
  spawn(name, {arguments, environment}, streams);
}

void ChildGroup::start(const std::string& name,
                       const std::vector<std::string>& arguments, OnLine on_line) {
  spawn(name, {arguments}, {{STDOUT_FILENO, std::move(on_line)}});
}

void ChildGroup::spawn(const std::string& name, Command command,
                       const std::vector<std::pair<int, OnLine>>& streams) {
  command.file = "/proc/self/exe";
  command.input = Command::kInherited;
  for (const auto& [stream, on_line] : streams) {
    outputs_.push_back(std::make_unique<LineReader>(on_line));
    (stream == STDOUT_FILENO ? command.output : command.errors) =
        outputs_.back()->entrance();
  }
  running_.push_back({name, Process(command)});
  for (auto& open : outputs_) open->close_entrance();
}

int ChildGroup::wait(const std::atomic<bool>& interrupted) {
  const int failure = wait_for_all(interrupted);
  outputs_.clear();  // prints the remaining output; Ctrl-C may interrupt it
  if (const int late = told_to_end.exchange(0)) signal_ = late;
  if (signal_ == SIGTERM) caught_->note_sigterm();
  return failure;
}

int ChildGroup::wait_for_all(const std::atomic<bool>& interrupted) {
  int none = 0;  // one that came since the constructor is the later one
  if (interrupted)
    told_to_end.compare_exchange_strong(none, train::Trainer::stop_signal);
  int failure = 0;
  TimePoint end_at = TimePoint::max(), writers_end_at = TimePoint::max();
  while (!running_.empty()) {
    if (const int signal = told_to_end.exchange(0)) {
      signal_all(signal);
      signal_ = signal;
    }
    const bool reaped = reap(failure);
    if (failed_ && end_at == TimePoint::max()) {
      end_at = Clock::now() + grace_;
      writers_end_at = Clock::now() + kTimeToWrite;
    }
    if (Clock::now() >= end_at) {
      end_rest(Clock::now() >= writers_end_at);
      end_at = Clock::now() + Milliseconds(250);
    }
    if (!reaped) std::this_thread::sleep_for(Milliseconds(10));
  }
  return signal_ != 0 && ends_a_run(failure) ? 128 + signal_ : failure;
}

/// Reaps one child that has exited; returns false if there is none.
bool ChildGroup::reap(int& first_failure) {
  for (auto child = running_.begin(); child != running_.end(); ++child) {
    const auto status = child->process.poll();
    if (!status) continue;
    if (status->signal != 0 && !we_signalled_) {
      fmt::print(stderr, "lockstep: {} was terminated by signal {} ({})\n", child->name,
                 status->signal, ::strsignal(status->signal));
    }
    running_.erase(child);
    // A child that a signal has stopped has told the others, which stop, too, and write
    // their results; they need as long as that takes. They may not know which signal.
    // One that had just started does not handle the signal yet.
    const bool ours = status->signal == 0 || status->signal == signal_;
    const bool stopped = ours && ends_a_run(status->code);
    failed_ |= status->code != 0 && !stopped;
    const bool terminated = stopped && status->code == 128 + SIGTERM;
    if (first_failure == 0 || (terminated && ends_a_run(first_failure))) {
      first_failure = status->code;
    }
    return true;
  }
  return false;
}

/// Terminates the children that still run, and kills those that it has terminated
/// before; those that write only if `writers`.
void ChildGroup::end_rest(bool writers) {
  for (Child& child : running_) {
    if (!writers && is_writing(child.process.id())) continue;
    child.process.signal(std::exchange(child.terminated, true) ? SIGKILL : SIGTERM);
    we_signalled_ = true;
  }
}

void ChildGroup::signal_all(int number) {
  we_signalled_ = true;
  for (Child& child : running_) child.process.signal(number);
}

}  // namespace lockstep::run
