#include "gui/screen/glfw_window.h"

#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

std::string glfw_said;  ///< GLFW's last error

[[noreturn]] void no_window(const std::string& why) {
  throw std::runtime_error("no window: " + why +
                           (glfw_said.empty() ? "" : " (" + glfw_said + ")") + "; " +
                           kInstead);
}

/// Returns 9/10 of the screen, at most the wanted size.
std::pair<int, int> fitted(int width, int height) {
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  const GLFWvidmode* mode = monitor ? glfwGetVideoMode(monitor) : nullptr;
  if (mode == nullptr) return {width, height};
  return {std::min(width, mode->width * 9 / 10),
          std::min(height, mode->height * 9 / 10)};
}

Inbox& inbox_of(GLFWwindow* window) {
  return *static_cast<Inbox*>(glfwGetWindowUserPointer(window));
}

void wake(GLFWwindow* window) { inbox_of(window).pacing.wake(); }

}  // namespace

Window::Window(const WindowOptions& options, Inbox& inbox) {
  glfwSetErrorCallback([](int, const char* what) { glfw_said = what; });
  if (!glfwInit()) no_window("no display");
  create(options);
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  int points = 0, pixels = 0, ignored = 0;
  glfwGetWindowSize(window_, &points, &ignored);
  glfwGetFramebufferSize(window_, &pixels, &ignored);
  font_scale_ = pixels > points ? static_cast<float>(pixels) /
                                      static_cast<float>(std::max(points, 1))
                                : ui_scale_;
  fonts_ = load_fonts(*io.Fonts, font_scale_);
  if (!fonts_.message.empty()) {
    std::fprintf(stderr, "lockstep: %s\n", fonts_.message.c_str());
  }
  listen(inbox);
  if (!ImGui_ImplOpenGL3_Init("#version 130")) {
    close();
    no_window("OpenGL 3 does not work");
  }
}

Window::~Window() { close(); }

void Window::create(const WindowOptions& options) {
  constexpr int kLeastWidth = 960, kLeastHeight = 600;  // points; less hides panels
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  int width = options.width, height = options.height;
  if (width == 0) std::tie(width, height) = fitted(1440, 900);
  window_ = glfwCreateWindow(width, height, "lockstep", nullptr, nullptr);
  if (window_ == nullptr) {
    glfwTerminate();
    no_window("OpenGL 3 is not available");
  }
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(1);
  float scale_x = 1, scale_y = 1;
  glfwGetWindowContentScale(window_, &scale_x, &scale_y);
  int points = 0, pixels = 0, ignored = 0;
  glfwGetWindowSize(window_, &points, &ignored);
  glfwGetFramebufferSize(window_, &pixels, &ignored);
  // On X11, window sizes are in pixels, so scale the whole UI instead.
  ui_scale_ = pixels > points ? 1.0f : std::max(1.0f, scale_x);
  auto [least_width, least_height] = fitted(static_cast<int>(kLeastWidth * ui_scale_),
                                            static_cast<int>(kLeastHeight * ui_scale_));
  if (options.width > 0) {  // asked for on the command line
    least_width = std::min(least_width, options.width);
    least_height = std::min(least_height, options.height);
  }
  glfwSetWindowSizeLimits(window_, least_width, least_height, GLFW_DONT_CARE,
                          GLFW_DONT_CARE);
}

void Window::listen(Inbox& inbox) {
  glfwSetWindowUserPointer(window_, &inbox);
  // ImGui's callbacks call those that were set before.
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int, int, int) { wake(w); });
  glfwSetScrollCallback(window_, [](GLFWwindow* w, double, double) { wake(w); });
  glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double, double) { wake(w); });
  glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int) { wake(w); });
  glfwSetWindowFocusCallback(window_, [](GLFWwindow* w, int) { wake(w); });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { wake(w); });
  glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* w, int, int) { wake(w); });
  glfwSetWindowCloseCallback(window_, [](GLFWwindow* w) { wake(w); });
  glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
    Inbox& own = inbox_of(w);
    TraceFiles& files = own.files;
    files.apart = !files.paths.empty();  // files dropped together may be one job's
    files.paths.insert(files.paths.end(), paths, paths + count);
    wake(w);
  });
  ImGui_ImplGlfw_InitForOpenGL(window_, true);
  // Keys go through the latch, not to ImGui's own callbacks.
  glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int, int action, int) {
    if (key == GLFW_KEY_UNKNOWN) return;
    wake(w);  // ImGui repeats held keys, if frames are drawn
    if (action != GLFW_REPEAT) inbox_of(w).keys.key(key, action == GLFW_PRESS);
  });
  glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned point) {
    inbox_of(w).keys.character(point);
    wake(w);
  });
}

void Window::load_wanted_glyphs() {
  if (!load_wanted(fonts_, *ImGui::GetIO().Fonts, font_scale_)) return;
  renew_font_texture();
}

Image Window::picture() const {
  Image image;
  glfwGetFramebufferSize(window_, &image.width, &image.height);
  const auto wide = static_cast<size_t>(image.width);
  const auto high = static_cast<size_t>(image.height);
  std::vector<uint32_t> rows(wide * high);  // from the bottom up
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, image.width, image.height, GL_RGBA, GL_UNSIGNED_BYTE, rows.data());
  image.pixels.resize(rows.size());
  for (size_t y = 0; y < high; ++y) {
    for (size_t x = 0; x < wide; ++x) {
      image.pixels[y * wide + x] = rows[(high - 1 - y) * wide + x] | 0xFF000000u;
    }
  }
  return image;
}

void Window::close() {
  if (window_ == nullptr) return;
  if (ImGui::GetIO().BackendRendererUserData != nullptr) ImGui_ImplOpenGL3_Shutdown();
  if (ImGui::GetIO().BackendPlatformUserData != nullptr) ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window_);
  glfwTerminate();
  window_ = nullptr;
}

}  // namespace lockstep::gui
