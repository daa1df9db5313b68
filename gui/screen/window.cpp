#include "gui/screen/window.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "gui/files/notes_file.h"
#include "gui/files/state_file.h"
#include "gui/screen/glfw_window.h"
#include "gui/screen/what_if_job.h"
#include "gui/screen/why_job.h"

namespace lockstep::gui {

namespace {

using WindowClock = std::chrono::steady_clock;

constexpr double kSlowFrame =
    0.15;  ///< seconds; a slow connection or software rendering

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

/// The window, the App in it, and what it reads and writes.
class Session {
 public:
  explicit Session(const WindowOptions& options)
      : options_(options), window_(options, inbox_), app_(window_.fonts()) {
    inbox_.files = {options.files, options.compare};
    kept_ = load_kept();
    apply_kept(kept_, app_.settings);
    if (options.light) app_.settings.dark = !*options.light;
    app_.settings.compare = options.compare;
    app_.settings.quiz = options.quiz;
    app_.settings.why = options.why;
    app_.settings.pipeline = options.pipeline;
    app_.settings.exposed = options.exposed;
    app_.settings.tracks |= options.tracks;
    app_.what_if = std::make_shared<WhatIfPanel>();
    app_.what_if->profiles = options.profiles;
    app_.settings.cpp_names |= options.cpp;
    app_.settings.tree |= options.tree;
    if (options.pace) app_.settings.transport.pace = *options.pace;
    app_.settings.transport.speed = options.speed;
    app_.recent = kept_.files;
    at_ = options.at;
    choice_ = options.choice;
    if (!kept_.toured && !options.print_state) app_.settings.tour = 1;
    if (options.tour > 0) app_.settings.tour = options.tour;
    const bool chooses = choice_.rank >= 0 || choice_.device >= 0;
    placed_ = at_.empty() && !options.time_order && !chooses && !options.emulate;
    saved_ = kept_;
  }

  void run() {
    while (!glfwWindowShouldClose(window_.glfw())) {
      const double wait = inbox_.pacing.wait(moves(), types());
      if (wait == 0)
        glfwPollEvents();
      else
        glfwWaitEventsTimeout(wait);
      open_next();
      why_.update(app_);
      what_if_.update(app_);
      if (!inbox_.pacing.draws(moves(), types())) continue;
      draw_all();
      go_to_start();
      keep();
    }
    why_.cancel();
    glfwHideWindow(window_.glfw());  // the analysis may take a moment to stop
    app_.settings.editing = -1;      // what was typed so far is kept, too
    leave_what_if(app_);             // so are notes of a recorded trace that it hides
    keep();
  }

 private:
  /// Returns true while a frame differs from the last one without any input.
  bool moves() const {
    return app_.is_loading() || !inbox_.files.paths.empty() ||
           app_.settings.transport.playing || app_.is_settling() || why_.is_running() ||
           what_if_.is_running() || !window_.fonts().wanted.empty();
  }
  bool types() const { return ImGui::GetIO().WantTextInput; }
  bool opens_text() const {
    const Settings& settings = app_.settings;
    return settings.searching || settings.editing >= 0 || app_.opening.shown;
  }

  void open_next() {
    if (!app_.requested_file.empty()) {
      inbox_.files.paths.push_back(std::move(app_.requested_file));
      app_.requested_file.clear();
    }
    if (app_.is_loading()) return;
    if (inbox_.files.paths.empty()) {
      by_hand_ = true;
      return;
    }
    try {
      const TraceText trace = next_text(inbox_.files);
      app_.begin_loading(trace.name, trace.text, trace.owner, by_hand_);
      note_opened(trace.name, kept_);
      app_.recent = kept_.files;
    } catch (const std::exception& failure) {
      app_.fail(failure.what());
    }
  }

  /// Draws a frame for each key press that arrived; shows the last one.
  void draw_all() {
    const WindowClock::time_point now = WindowClock::now();
    const std::chrono::duration<float> passed = now - before_;
    before_ = now;
    const bool busy = moves();
    float seconds = std::min(passed.count(), 0.1f);
    for (bool more = true; more; seconds = 0) {
      // A text field gets and loses the focus some frames after the key that opens or
      // leaves it; keys wait for that.
      for (int i = 0; focused_ != types() && i < 4; ++i) draw_frame(0, false);
      more = inbox_.keys.feed(ImGui::GetIO());
      const bool before = opens_text();
      draw_frame(seconds, !more);
      focused_ = opens_text() || (types() && !before);
      read_new_notes();
      print_state();
    }
    if (busy) {
      slow_.add(std::chrono::duration<double>(WindowClock::now() - now).count());
    }
  }

  void draw_frame(float seconds, bool shown) {
    window_.load_wanted_glyphs();
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGuiIO& io = ImGui::GetIO();
    const float scale = window_.ui_scale();
    if (scale != 1) {
      io.DisplaySize = {io.DisplaySize.x / scale, io.DisplaySize.y / scale};
      io.DisplayFramebufferScale = {scale, scale};
      if (io.MousePos.x > -1e6f) {
        io.MousePos = {io.MousePos.x / scale, io.MousePos.y / scale};
      }
    }
    ImGui::NewFrame();
    app_.frame({0, 0, io.DisplaySize.x, io.DisplaySize.y}, seconds);
    ImGui::Render();
    if (!shown) return;
    int width = 0, height = 0;
    glfwGetFramebufferSize(window_.glfw(), &width, &height);
    glViewport(0, 0, width, height);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    export_files();
    glfwSwapBuffers(window_.glfw());
  }

  /// Writes the picture and the table that were asked for, and says where they are.
  void export_files() {
    Export& wanted = app_.exports;
    if (!app_.has_trace() || (!wanted.picture && wanted.csv.empty())) return;
    const OpenTrace& trace = app_.trace();
    if (wanted.picture) {
      app_.say(save_beside(trace.model->name,
                           "." + file_word(*trace.model, trace.position) + ".png",
                           encode_png(window_.picture())));
    }
    if (!wanted.csv.empty()) {
      app_.say(save_beside(trace.model->name, ".kernels.csv", wanted.csv));
    }
    wanted = {};
    inbox_.pacing.wake();
  }

  /// Reads the notes of traces that were opened since the last call.
  void read_new_notes() {
    for (; with_notes_ < app_.traces().size(); ++with_notes_) {
      OpenTrace& trace = app_.traces()[with_notes_];
      const std::string problem = load_notes(trace);
      if (!problem.empty()) app_.say(problem);
      if (with_notes_ >= options_.files.size()) continue;  // opened by hand
      for (const std::string& note : options_.notes) {
        std::string why;
        const auto parsed = parse_note(*trace.model, note, why);
        if (!parsed) throw std::runtime_error("--note: " + why);
        add_note(*trace.model, trace.notes.placed, *parsed);
        trace.notes_changed = true;
      }
    }
    with_notes_ = app_.traces().size();  // traces may be closed, too
  }

  void go_to_start() {
    if (placed_ || !app_.has_trace() || app_.is_loading()) return;
    if (!inbox_.files.paths.empty()) return;
    const Model& model = *app_.trace().model;
    Position position = app_.trace().position;
    if (!at_.empty()) {
      std::string why;
      const auto parsed = parse_position(model, at_, why);
      if (!parsed) throw std::runtime_error("--at: " + why);
      position = *parsed;
      if (options_.time_order) position = at_first_task(model, position);
    }
    std::string problem;
    const auto chosen = at_choice(model, position, choice_, problem);
    if (!chosen) throw std::runtime_error("--rank, --device: " + problem);
    position = *chosen;
    app_.go(options_.time_order ? in_time_order(model, position) : position);
    if (options_.emulate) open_what_if(app_, options_.emulate);
    placed_ = true;
    inbox_.pacing.wake();
  }

  void print_state() {
    if (!options_.print_state || app_.state_line() == said_) return;
    said_ = app_.state_line();
    std::printf("state: %s\n", said_.c_str());
    std::fflush(stdout);
  }

  /// Saves what changed at once: notes, choices, recent files; and looks up the files
  /// that the user is typing.
  void keep() {
    if (app_.settings.editing < 0) {
      for (OpenTrace& trace : app_.traces()) {
        if (!trace.notes_changed) continue;
        const std::string problem = save_notes(trace);
        if (!problem.empty()) app_.say(problem);
        share_notes(trace, app_.traces());
      }
    }
    OpenField& field = app_.opening;
    if (field.shown && (field.listed != field.typed || field.found.empty())) {
      field.found = complete_path(field.typed);
      field.listed = field.typed;
    }
    if (ImGui::GetIO().MouseDown[0]) return;  // a splitter may be moving
    note_settings(app_.settings, kept_);
    if (!options_.print_state && app_.settings.tour == 0 && app_.has_trace()) {
      kept_.toured = true;
    }
    if (kept_ == saved_) return;
    save_kept(kept_);
    saved_ = kept_;
  }

  const WindowOptions& options_;
  Inbox inbox_;
  Window window_;
  App app_;
  Kept kept_, saved_;
  SlowFrames slow_;
  WhyJob why_;
  WhatIfJob what_if_;
  WindowClock::time_point before_ = WindowClock::now();
  size_t with_notes_ = 0;  ///< traces whose notes were read
  std::string said_, at_;
  Choice choice_;
  bool by_hand_ = false;  ///< the command line's files are open; it shows the first
  bool placed_ = false;   ///< the trace shows what `at` and `time_order` ask for
  bool focused_ = false;  ///< a text field has the focus, or will have it
};

}  // namespace

void run_window(const WindowOptions& options) { Session(options).run(); }

}  // namespace lockstep::gui
