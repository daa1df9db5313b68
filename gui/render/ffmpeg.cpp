// Writes videos through the ffmpeg program, which reads raw frames from its stdin.
#include "gui/render/film.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/process.h"

namespace lockstep::gui {

namespace {

/// A child process that reads what is passed to `write`; the destructor stops it. Its
/// standard error is recorded.
class ChildProcess {
 public:
  /// The first argument is the program, which is looked up in PATH. Throws
  /// std::system_error if it does not exist or the process cannot be created.
  explicit ChildProcess(const std::vector<std::string>& arguments);

  /// Returns false if the program no longer reads. Does not raise SIGPIPE.
  bool write(std::string_view bytes);

  /// Closes the input and waits for the program. Returns true if it exited with 0.
  bool finish();

  /// Returns the last line of standard error, which may be empty.
  std::string last_error_line() const;

 private:
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<FILE, CloseFile> errors_;
  Fd input_;
  std::optional<Process> process_;  ///< the destructor stops it
};

ChildProcess::ChildProcess(const std::vector<std::string>& arguments)
    : errors_(std::tmpfile()) {
  // Unlike a pipe, a socket pair can suppress SIGPIPE.
  int ends[2];
  if (!errors_ || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), arguments[0]);
  }
  fcntl(fileno(errors_.get()), F_SETFD, FD_CLOEXEC);
  input_ = Fd(ends[0]);
  const Fd input_of_child(ends[1]);
  Command command{arguments};
  command.input = input_of_child.get();
  command.output = Command::kNull;
  command.errors = fileno(errors_.get());
  process_.emplace(command);
}

bool ChildProcess::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ChildProcess::finish() {
  input_ = Fd();
  return process_->running() && process_->wait().code == 0;
}

std::string ChildProcess::last_error_line() const {
  std::rewind(errors_.get());
  std::string line, last;
  for (int c = 0; c != EOF;) {
    c = std::fgetc(errors_.get());
    if (c != EOF && c != '\n' && c != '\r') {
      line += static_cast<char>(c);
    } else if (!line.empty()) {
      last = std::exchange(line, {});
    }
  }
  return last;
}

using Words = std::vector<std::string>;

struct FilmKind {
  const char* ending;
  Words options;
};

/// Chroma is subsampled, so width and height must be even; players expect this colour
/// matrix.
constexpr const char* kVideoFilter =
    "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,"
    "format=yuv420p";
/// Uses a palette computed from the video, without dithering.
constexpr const char* kGifFilter =
    "split[a][b];[a]palettegen=stats_mode=diff[p];"
    "[b][p]paletteuse=dither=none:diff_mode=rectangle";

const std::vector<FilmKind>& kinds() {
  static const Words kVideoTags{"-colorspace", "bt709", "-color_primaries", "bt709",
                                "-color_trc",  "bt709", "-color_range",     "tv"};
  static const auto video = [](Words codec) {
    Words options{"-vf", kVideoFilter};
    options.insert(options.end(), codec.begin(), codec.end());
    options.insert(options.end(), kVideoTags.begin(), kVideoTags.end());
    return options;
  };
  static const std::vector<FilmKind> kAll{
      {".mp4", video({"-c:v", "libx264", "-preset", "fast", "-crf", "18", "-movflags",
                      "+faststart", "-f", "mp4"})},
      {".webm", video({"-c:v", "libvpx-vp9", "-deadline", "good", "-cpu-used", "4",
                       "-row-mt", "1", "-crf", "24", "-b:v", "0", "-f", "webm"})},
      {".webp",
       {"-c:v", "libwebp_anim", "-lossless", "1", "-compression_level", "4", "-loop",
        "0", "-f", "webp"}},
      {".gif", {"-vf", kGifFilter, "-loop", "0", "-f", "gif"}},
  };
  return kAll;
}

class Ffmpeg : public Film::Sink {
 public:
  Ffmpeg(const std::string& path, int fps, const Words& options)
      : path_(path), fps_(fps), options_(options) {}
  ~Ffmpeg() override {
    process_.reset();  // stop ffmpeg before removing its file
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }

  void add(const Image& frame) override {
    if (!process_) start(frame);
    const std::string_view bytes(reinterpret_cast<const char*>(frame.pixels.data()),
                                 frame.pixels.size() * sizeof(uint32_t));
    if (!process_->write(bytes)) fail_as_ffmpeg_did();
  }

  void finish() override {
    if (!process_->finish()) fail_as_ffmpeg_did();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_to_write(errno);
    temporary_.clear();
  }

 private:
  void start(const Image& frame) {
    reserve_file();
    Words words{"ffmpeg",       "-nostdin",
                "-hide_banner", "-loglevel",
                "error",        "-y",
                "-f",           "rawvideo",
                "-pix_fmt",     "rgba",
                "-s",           fmt::format("{}x{}", frame.width, frame.height),
                "-r",           fmt::format("{}", fps_),
                "-i",           "pipe:0"};
    words.insert(words.end(), options_.begin(), options_.end());
    words.push_back("file:" + temporary_);
    try {
      process_.emplace(words);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory) throw;
      throw std::runtime_error(
          fmt::format("{}: ffmpeg is not installed; fix: apt-get install ffmpeg, or "
                      "write images to a name with %04d.png or to a folder/",
                      path_));
    }
  }

  /// Creates the file early, so that we can report a missing or read-only folder.
  void reserve_file() {
    if (!temporary_.empty()) return;
    static std::atomic<int> counter{0};
    const std::string name = fmt::format("{}.tmp{}-{}", path_, getpid(), counter++);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) fail_to_write(errno);
    close(file);
    temporary_ = name;
  }

  [[noreturn]] void fail_as_ffmpeg_did() {
    process_->finish();
    throw std::runtime_error(
        fmt::format("{}: ffmpeg failed ({}); fix: try another format: .mp4, .webm, "
                    ".webp, .gif, %04d.png",
                    path_, process_->last_error_line()));
  }

  [[noreturn]] void fail_to_write(int error) {
    throw std::runtime_error(
        fmt::format("{}: cannot be written ({}); fix: choose another location or free "
                    "some disk space",
                    path_, std::strerror(error)));
  }

  std::string path_;
  int fps_;
  Words options_;
  std::string temporary_;
  std::optional<ChildProcess> process_;
};

}  // namespace

std::unique_ptr<Film::Sink> open_ffmpeg(const std::string& path, int fps) {
  for (const auto& [ending, options] : kinds()) {
    if (path.ends_with(ending)) return std::make_unique<Ffmpeg>(path, fps, options);
  }
  return nullptr;
}

}  // namespace lockstep::gui
