#include "lessons/machine/results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace lockstep::lessons {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTokens = 128;  // three rows for each test, and one at the end

// Nobody reads before the judged process has ended, so the socket must hold all rows:
// bytes of a text, of all texts but their beginnings, of a beginning, and of the
// socket, which the kernel doubles.
constexpr size_t kLongestText = 8192, kAllTexts = 65536, kBeginning = 256;
constexpr int kSocketBytes = 212'992;

std::string random_token() {
  static std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(),
                     device());
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Sends all of `text`; false if the other end is closed.
bool send_all(int socket, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count =
        ::send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

ResultsReader::ResultsReader() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  ours_ = Fd(ends[0]);
  theirs_ = Fd(ends[1]);
  ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  std::string text;
  for (size_t i = 0; i < kTokens; ++i) {
    tokens_.push_back(random_token());
    text += tokens_.back() + "\n";
  }
  send_all(ours_.get(), text + "\n");
}

std::vector<Json> ResultsReader::read() {
  theirs_ = Fd();
  std::string text;
  char part[4096];
  for (;;) {  // everything sent has already arrived; never waits
    const ssize_t count = ::recv(ours_.get(), part, sizeof part, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(part, static_cast<size_t>(count));
  }
  std::vector<Json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Json row = Json::parse(line, nullptr, false);
    const bool dealt = row.is_object() && row.contains("token") && !tokens_.empty() &&
                       row["token"] == tokens_.front();
    if (!dealt) {
      forged_ = true;
      continue;
    }
    tokens_.pop_front();
    rows.push_back(std::move(row));
  }
  return rows;
}

ResultsWriter::ResultsWriter()
    : left_(kAllTexts),
      socket_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(null.get(), STDIN_FILENO);
  std::string text;
  for (char byte; !text.ends_with("\n\n");) {
    if (::recv(socket_.get(), &byte, 1, 0) != 1) {
      throw std::runtime_error(
          "only `lesson check` can start `lesson judge`; fix: run `lesson check`");
    }
    text += byte;
  }
  std::istringstream lines(text);
  for (std::string token; std::getline(lines, token) && !token.empty();) {
    tokens_.push_back(token);
  }
}

void ResultsWriter::say(Json row) {
  if (tokens_.empty()) throw std::runtime_error("the lesson has too many tests");
  for (auto& [key, value] : row.items()) {
    if (!value.is_string()) continue;
    std::string text = value;
    const size_t room = std::max(kBeginning, std::min(kLongestText, left_));
    if (text.size() > room) value = text.substr(0, room) + " …";
    left_ -= std::min(left_, dumped(value).size());  // escapes are longer
  }
  row["token"] = tokens_.front();
  tokens_.pop_front();
  send_all(socket_.get(), dumped(row) + "\n");
}

}  // namespace lockstep::lessons
