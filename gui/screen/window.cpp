#include "gui/screen/window.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "gui/render/fonts.h"
#include "gui/screen/recent.h"
#include "gui/screen/why_job.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {

namespace {

constexpr const char* kInstead =
    "fix: lockstep view TRACE --screenshot picture.png (or --video film.mp4) renders "
    "without a display";
constexpr double kSlowFrame =
    0.15;  ///< seconds; a slow connection or software rendering

std::string glfw_said;  ///< GLFW's last error

[[noreturn]] void no_window(const std::string& why) {
  throw std::runtime_error("no window: " + why +
                           (glfw_said.empty() ? "" : " (" + glfw_said + ")") + "; " +
                           kInstead);
}

/// Owns GLFW, a window with OpenGL 3, and ImGui; destroys them in reverse order.
class Window {
 public:
  explicit Window(const WindowOptions& options) {
    glfwSetErrorCallback([](int, const char* what) { glfw_said = what; });
    if (!glfwInit()) no_window("no display");
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    int width = options.width, height = options.height;
    if (width == 0) fit_screen(width, height);
    window_ = glfwCreateWindow(width, height, "lockstep", nullptr, nullptr);
    if (window_ == nullptr) {
      glfwTerminate();
      no_window("OpenGL 3 is not available");
    }
    glfwSetWindowSizeLimits(window_, 640, 480, GLFW_DONT_CARE, GLFW_DONT_CARE);
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    float scale_x = 1, scale_y = 1;
    glfwGetWindowContentScale(window_, &scale_x, &scale_y);
    int points = 0, pixels = 0, ignored = 0;
    glfwGetWindowSize(window_, &points, &ignored);
    glfwGetFramebufferSize(window_, &pixels, &ignored);
    // On X11, window sizes are in pixels, so scale the whole UI instead.
    ui_scale_ = pixels > points ? 1.0f : std::max(1.0f, scale_x);
    const float font_scale =
        pixels > points
            ? static_cast<float>(pixels) / static_cast<float>(std::max(points, 1))
            : ui_scale_;
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    fonts_ = load_fonts(*io.Fonts, font_scale);
    if (!fonts_.message.empty()) {
      std::fprintf(stderr, "lockstep: %s\n", fonts_.message.c_str());
    }
    ImGui_ImplGlfw_InitForOpenGL(window_, true);
    if (!ImGui_ImplOpenGL3_Init("#version 130")) {
      close();
      no_window("OpenGL 3 does not work");
    }
  }
  ~Window() { close(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  GLFWwindow* glfw() const { return window_; }
  const Fonts& fonts() const { return fonts_; }
  float ui_scale() const { return ui_scale_; }

 private:
  static void fit_screen(int& width, int& height) {
    width = 1440, height = 900;
    GLFWmonitor* monitor = glfwGetPrimaryMonitor();
    const GLFWvidmode* mode = monitor ? glfwGetVideoMode(monitor) : nullptr;
    if (mode == nullptr) return;
    width = std::min(width, mode->width * 9 / 10);
    height = std::min(height, mode->height * 9 / 10);
  }

  void close() {
    if (window_ == nullptr) return;
    if (ImGui::GetIO().BackendRendererUserData != nullptr) ImGui_ImplOpenGL3_Shutdown();
    if (ImGui::GetIO().BackendPlatformUserData != nullptr) ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(window_);
    glfwTerminate();
    window_ = nullptr;
  }

  GLFWwindow* window_ = nullptr;
  Fonts fonts_;
  float ui_scale_ = 1;
};

/// The files to open, from the command line, drag and drop, or the recent list.
struct Queue {
  std::vector<std::string> files;
};

void open_next(App& app, Queue& queue, RecentFiles& memory) {
  if (!app.requested_file.empty()) {
    queue.files.push_back(std::move(app.requested_file));
    app.requested_file.clear();
  }
  if (app.is_loading() || queue.files.empty()) return;
  const std::string path = queue.files.front();
  queue.files.erase(queue.files.begin());
  try {
    const auto trace = tracer::open_file_text(path, SIZE_MAX, tracer::Ending::any);
    app.begin_loading(path, trace.text, trace.owner);
    std::error_code ignored;
    const std::string whole = std::filesystem::absolute(path, ignored).string();
    std::erase(memory.files, whole);
    memory.files.insert(memory.files.begin(), whole);
    app.recent = memory.files;
  } catch (const std::exception& failure) {
    app.fail(failure.what());
  }
}

/// Warns once if this connection or driver is slow, and suggests an alternative.
class SlowFrames {
 public:
  void add(double seconds) {
    if (said_ || ++frames_ <= 5) return;  // the first frames compile shaders
    slow_ += seconds > kSlowFrame;
    if (frames_ < 25) return;
    said_ = true;
    if (slow_ < 15) return;
    const auto* renderer = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
    std::fprintf(stderr, "lockstep: a frame takes %.0f ms here (%s); %s\n",
                 seconds * 1e3, renderer ? renderer : "unknown renderer", kInstead);
  }

 private:
  int frames_ = 0, slow_ = 0;
  bool said_ = false;
};

void draw(Window& window, App& app, float seconds) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGuiIO& io = ImGui::GetIO();
  const float scale = window.ui_scale();
  if (scale != 1) {
    io.DisplaySize = {io.DisplaySize.x / scale, io.DisplaySize.y / scale};
    io.DisplayFramebufferScale = {scale, scale};
    if (io.MousePos.x > -1e6f) {
      io.MousePos = {io.MousePos.x / scale, io.MousePos.y / scale};
    }
  }
  ImGui::NewFrame();
  app.frame({0, 0, io.DisplaySize.x, io.DisplaySize.y}, seconds);
  ImGui::Render();
  int width = 0, height = 0;
  glfwGetFramebufferSize(window.glfw(), &width, &height);
  glViewport(0, 0, width, height);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(window.glfw());
}

}  // namespace

void run_window(const WindowOptions& options) {
  Window window(options);
  App app(window.fonts());
  app.settings.dark = !options.light;
  app.settings.compare = options.compare;
  app.settings.why = options.why;
  RecentFiles memory = load_recent();
  app.recent = memory.files;
  if (!memory.toured && !options.print_state) app.settings.tour = 1;
  Queue queue{options.files};
  glfwSetWindowUserPointer(window.glfw(), &queue);
  glfwSetDropCallback(window.glfw(), [](GLFWwindow* w, int count, const char** paths) {
    auto* dropped = static_cast<Queue*>(glfwGetWindowUserPointer(w));
    dropped->files.insert(dropped->files.end(), paths, paths + count);
  });

  std::string said, at = options.at;
  SlowFrames slow;
  WhyJob why;
  using Clock = std::chrono::steady_clock;
  Clock::time_point before = Clock::now();
  while (!glfwWindowShouldClose(window.glfw())) {
    // No animation is running, so sleep until there is input.
    const bool busy = app.is_loading() || !queue.files.empty() ||
                      app.settings.transport.playing || app.is_settling() ||
                      why.is_running();
    if (busy)
      glfwPollEvents();
    else
      glfwWaitEventsTimeout(0.25);
    open_next(app, queue, memory);
    why.update(app);
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<float> passed = now - before;
    before = now;
    draw(window, app, std::min(passed.count(), 0.1f));
    if (busy) slow.add(std::chrono::duration<double>(Clock::now() - now).count());
    if (!at.empty() && app.has_trace() && !app.is_loading() && queue.files.empty()) {
      std::string why;
      const auto position = parse_position(*app.trace().model, at, why);
      if (!position) throw std::runtime_error("--at: " + why);
      app.go(*position);
      at.clear();
    }
    if (options.print_state && app.state_line() != said) {
      said = app.state_line();
      std::printf("state: %s\n", said.c_str());
      std::fflush(stdout);
    }
  }
  memory.toured = true;
  save_recent(memory);
}

}  // namespace lockstep::gui
