// `lockstep view`: shows the viewer in a window, or writes its images to files.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/hardware_profiles.h"
#include "gui/app/what_if.h"
#include "gui/files/notes_file.h"
#include "gui/render/film.h"
#include "gui/render/offscreen.h"
#include "gui/screen/trace_files.h"
#include "tracer/format/file_io.h"
#ifdef LOCKSTEP_HAS_WINDOW
#include "gui/screen/window.h"
#endif

namespace lockstep::cli {
namespace {

enum class Theme { dark, light };

constexpr float kFilm = 6, kLongestFilm = 3600;  ///< seconds

struct ViewOptions {
  std::vector<std::string> files, notes;
  std::string screenshot, video, at, size, emulate;
  bool sliders = false;  ///< --emulate was given; "" leaves them as they are
  gui::Choice choice;
  Theme theme = Theme::dark;
  bool themed = false;  ///< a theme was asked for
  gui::Pace pace = gui::Pace::director;
  bool paced = false;  ///< a pace was asked for
  float scale = 1, speed = 1, seconds = 0;
  int fps = 30, tour = 0;
  bool film = false;  ///< the stage with its caption instead of the window
  bool compare = false, cpp = false, tree = false, help = false, time_order = false,
       state = false, quiz = false, why = false, pipeline = false, tracks = false,
       overlap = false;
};

struct Size {
  int width = 1440, height = 900;
};

Size parse_size(const std::string& text, bool film = false) {
  Size size;
  if (film) size = {1280, 720};
  if (text.empty()) return size;
  const size_t cross = text.find('x');
  const char* end = text.data() + text.size();
  if (cross != std::string::npos) {
    const char* middle = text.data() + cross;
    const auto w = std::from_chars(text.data(), middle, size.width);
    const auto h = std::from_chars(middle + 1, end, size.height);
    if (w.ptr == middle && h.ptr == end && w.ec == std::errc() && h.ec == std::errc() &&
        size.width >= 320 && size.height >= 240 && size.width <= 8192 &&
        size.height <= 8192) {
      return size;
    }
  }
  throw UsageError("--size '" + text +
                   "': must be WIDTHxHEIGHT, from 320x240 to 8192x8192");
}

void open_all(const ViewOptions& o, gui::App& app) {
  gui::TraceFiles files{o.files, o.compare};
  while (!files.paths.empty()) {
    const gui::TraceText trace = gui::next_text(files);
    const std::string& file = trace.name;
    app.begin_loading(file, trace.text, trace.owner, false);
    app.finish_loading();
    if (!app.error.empty()) throw std::runtime_error(app.error);
    for (const std::string& problem : app.traces().back().model->problems) {
      std::fprintf(stderr, "lockstep: %s: %s\n", file.c_str(), problem.c_str());
    }
  }
  for (gui::OpenTrace& trace : app.traces()) {
    const std::string problem = gui::load_notes(trace);
    if (!problem.empty()) std::fprintf(stderr, "lockstep: %s\n", problem.c_str());
    for (const std::string& note : o.notes) {
      std::string why;
      const auto parsed = gui::parse_note(*trace.model, note, why);
      if (!parsed) throw UsageError("--note: " + why);
      gui::add_note(*trace.model, trace.notes.placed, *parsed);
    }
  }
}

void go_to(const ViewOptions& o, gui::App& app) {
  if (!app.has_trace()) return;
  gui::OpenTrace& trace = app.trace();
  gui::Position position = trace.position;
  if (o.at.empty() && !o.video.empty()) {  // a film shows the whole step
    const gui::Model& model = *trace.model;
    const uint32_t step = model.steps[trace.state.step].event_of(trace.state.rank);
    position = step == gui::kNoEvent ? gui::Position{} : gui::at_event(model, step);
  } else if (!o.at.empty()) {
    std::string why;
    const auto parsed = gui::parse_position(*trace.model, o.at, why);
    if (!parsed) throw UsageError("--at: " + why);
    position = *parsed;
  }
  if (o.time_order) {
    if (!o.at.empty()) position = gui::at_first_task(*trace.model, position);
    position = gui::in_time_order(*trace.model, position);
  }
  std::string why;
  const auto chosen = gui::at_choice(*trace.model, position, o.choice, why);
  if (!chosen) throw UsageError("--rank, --device: " + why);
  position = *chosen;
  app.go(position);
}

/// Returns where --emulate sets the sliders.
std::optional<tracer::WhatIf> sliders_of(const ViewOptions& o) {
  if (!o.sliders) return std::nullopt;
  try {
    return tracer::parse_what_if(o.emulate);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--emulate: ") + error.what());
  }
}

/// Opens the sliders, and waits for the emulated trace.
void emulate_now(const ViewOptions& o, gui::App& app) {
  const auto question = sliders_of(o);
  if (!question || !app.has_trace()) return;
  app.what_if = std::make_shared<gui::WhatIfPanel>();
  app.what_if->profiles = all_hardware();
  open_what_if(app, question);
  take_what_if(app, gui::WhatIfLab(what_if_source(app)).answer(question));
  if (!app.what_if->problem.empty()) {
    throw std::runtime_error("--emulate: " + app.what_if->problem);
  }
}

void print_emulated(const gui::App& app) {
  if (app.what_if == nullptr) return;
  std::printf("emulated step: %lld ns; %s\n",
              static_cast<long long>(step_times(app).step),
              what_if_command(app).c_str());
}

/// Shows the grid of a pipeline in its film, unless another panel was asked for.
void choose_panel(const ViewOptions& o, gui::App& app) {
  if (!o.film || o.why || o.overlap || !app.has_trace()) return;
  const gui::OpenTrace& trace = app.trace();
  app.settings.pipeline |=
      trace.why != nullptr &&
      trace.why->pipeline(*trace.model, trace.state.step) != nullptr;
}

/// Throws UsageError if a panel was asked for that comparing does not show.
void check_compared(const ViewOptions& o) {
  const std::pair<bool, const char*> hidden[] = {
      {o.film, "--film"},         {o.why, "--why"},   {o.overlap, "--overlap"},
      {o.pipeline, "--pipeline"}, {o.tree, "--tree"}, {o.quiz, "--quiz"},
      {o.sliders, "--emulate"}};
  for (const auto& [given, flag] : hidden) {
    if (!given) continue;
    const char* const fix =
        flag == std::string_view("--emulate")
            ? "write the emulated trace with ./lockstep emulate … -o "
              "FILE, and compare the files"
            : "leave out one of them";
    throw UsageError(fmt::format(
        "{} needs a panel that --compare does not show; fix: {}", flag, fix));
  }
}

/// Throws UsageError if an option would have no effect.
void check_effects(const ViewOptions& o, const CLI::App& command) {
  const auto needs = [&](const char* option, bool met, const char* fix) {
    if (met || command.get_option(option)->count() == 0) return;
    throw UsageError(fmt::format("{} has no effect here; fix: {}", option, fix));
  };
  const bool headless = !o.screenshot.empty() || !o.video.empty();
  needs("--seconds", !o.video.empty(), "add --video FILE");
  needs("--fps", !o.video.empty(), "add --video FILE");
  needs("--film", headless, "add --screenshot FILE or --video FILE");
  needs("--scale", headless, "add --screenshot FILE or --video FILE");
  needs("--speed", !headless || !o.video.empty(), "add --video FILE");
  needs("--pace", !headless || !o.video.empty(), "add --video FILE");
  const bool plays = !headless ? o.paced : !o.video.empty();
  if (o.time_order && plays && o.pace == gui::Pace::director) {
    throw UsageError(
        "--time-order: the director orders events itself; fix: add --pace even or "
        "--pace real");
  }
}

using Draw = std::function<const gui::Image&(float seconds)>;

/// Writes the video: the step and, of a film, its numbers. Returns how many frames.
int write_video(const ViewOptions& o, gui::App& app, const Draw& frame) {
  constexpr int kNumbers = 5;  // seconds
  gui::Film film(o.video, o.fps);
  app.settings.transport = {true, false, o.pace, o.speed};
  const bool directed = o.pace == gui::Pace::director;
  const float seconds = o.seconds > 0 ? o.seconds : directed ? kLongestFilm : kFilm;
  const int most = std::max(1, static_cast<int>(seconds * static_cast<float>(o.fps)));
  int frames = 0;
  while (frames < most && (!directed || app.settings.transport.playing)) {
    film.add(frame(1.0f / static_cast<float>(o.fps)));
    ++frames;
  }
  if (o.film) app.settings.cut = gui::Cut::numbers;
  for (int i = 0; o.film && i < kNumbers * o.fps; ++i, ++frames) film.add(frame(0));
  film.finish();
  return frames;
}

int draw_pictures(const ViewOptions& o) {
  const Size size = parse_size(o.size, o.film);
  gui::Offscreen screen(size.width, size.height, o.scale);
  if (!screen.fonts().message.empty()) {
    std::fprintf(stderr, "lockstep: %s\n", screen.fonts().message.c_str());
  }
  gui::App app(screen.fonts());
  app.settings.dark = o.theme == Theme::dark;
  if (o.film) app.settings.cut = gui::Cut::stage;
  app.settings.compare = o.compare;
  app.settings.cpp_names = o.cpp;
  app.settings.tree = o.tree;
  app.settings.why = o.why;
  app.settings.pipeline = o.pipeline;
  app.settings.exposed = o.overlap;
  app.settings.tracks = o.tracks;
  app.settings.help = o.help;
  app.settings.tour = o.tour;
  open_all(o, app);
  while (const gui::Model* model = app.awaits_why()) {
    app.take_why(model->text.data(), gui::analyse(gui::why_source(*model)));
  }
  emulate_now(o, app);
  choose_panel(o, app);
  go_to(o, app);
  print_emulated(app);
  if (o.quiz && app.has_trace()) gui::ask_here(app);
  const gui::Rect whole{0, 0, static_cast<float>(size.width),
                        static_cast<float>(size.height)};
  const auto frame = [&](float seconds) -> const gui::Image& {
    return screen.frame([&] { app.frame(whole, seconds); }, app.theme().background);
  };
  frame(0);  // ImGui measures its windows during the first frame
  if (!o.screenshot.empty()) {
    gui::write_png(frame(0), o.screenshot);
    std::printf("%s: %s\n", o.screenshot.c_str(), app.state_line().c_str());
  }
  if (o.video.empty()) return 0;
  const int frames = write_video(o, app, frame);
  std::printf("%s: %d frames written; last frame: %s\n", o.video.c_str(), frames,
              app.state_line().c_str());
  return 0;
}

int open_window(const ViewOptions& o) {
#ifdef LOCKSTEP_HAS_WINDOW
  const Size size = parse_size(o.size);
  gui::WindowOptions options;
  options.files = o.files;
  options.at = o.at;
  options.choice = o.choice;
  if (!o.size.empty()) options.width = size.width, options.height = size.height;
  if (o.themed) options.light = o.theme == Theme::light;
  options.notes = o.notes;
  options.compare = o.compare;
  options.quiz = o.quiz;
  options.why = o.why;
  options.pipeline = o.pipeline;
  options.exposed = o.overlap;
  options.tracks = o.tracks;
  options.emulate = sliders_of(o);
  options.profiles = all_hardware();
  options.print_state = o.state;
  if (o.paced) options.pace = o.pace;
  if (o.time_order && !o.paced) options.pace = gui::Pace::even;
  options.speed = o.speed;
  options.tour = o.tour;
  options.time_order = o.time_order;
  options.cpp = o.cpp;
  options.tree = o.tree;
  gui::run_window(options);
  return 0;
#else
  (void)o;
  throw std::runtime_error(
      "this build has no window (GLFW or OpenGL was missing when it was configured); "
      "fix: apt-get install libglfw3-dev libgl-dev, or use --screenshot FILE.png");
#endif
}

/// Adds the options of what is written without a window.
void add_outputs(CLI::App& command, ViewOptions& o) {
  command.add_option("--screenshot", o.screenshot,
                     "write a PNG image without opening a window");
  command.add_option("--video", o.video,
                     "render to .mp4 .webm .webp .gif (needs ffmpeg) or FRAME%04d.png");
  command.add_flag("--film", o.film,
                   "draw only the stage, or a pipeline's grid, with its caption, at "
                   "1280x720 unless --size is given; a video ends with the numbers");
  command
      .add_option(
          "--seconds", o.seconds,
          "length of the video (default: until the step ends; 6 at other paces)")
      ->check(CLI::Range(0.1, 3600.0));
  command.add_option("--fps", o.fps, "frames per second")->check(CLI::Range(1, 120));
}

}  // namespace

int view_traces(const std::vector<std::string>& files) {
  ViewOptions o;
  o.files = files;
  return open_window(o);
}

int picture_of_trace(const std::string& file, const std::string& at,
                     const std::string& png) {
  ViewOptions o;
  o.files = {file};
  o.at = at;
  o.screenshot = png;
  return draw_pictures(o);
}

void add_view(CLI::App& app, Action& action) {
  auto o = std::make_shared<ViewOptions>();
  auto* command = app.add_subcommand("view", "play a trace, step by step");
  command->add_option("TRACE", o->files,
                      "trace files (.json, .json.gz) of lockstep or of PyTorch's "
                      "profiler; the files of "
                      "a job's ranks are merged");
  command->add_option(
      "--at", o->at,
      "2 | 2:backward | 2:ResNet.forward | '2:bucket 0' (its all-reduce) "
      "| 2:1B0 (a pipeline's action) | '#1234' (an id) | @12.5ms");
  command
      ->add_option("--rank", o->choice.rank,
                   "show this rank's program (default 0, or the rank that --at names)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--device", o->choice.device,
                   "go to the first kernel or copy that starts on this device at --at "
                   "or later")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--note", o->notes,
                   "STEP[:PHASE]=text: add a note; it is drawn on the timeline")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--emulate", o->emulate,
                   "open the sliders, set as the options of `emulate` say: '--mode ddp "
                   "--devices 16', or '--link-gb-per-s 1'")
      ->each([o](const std::string&) { o->sliders = true; });
  add_outputs(*command, *o);
  command->add_option("--speed", o->speed, "playback speed")
      ->check(CLI::Range(0.0001, 10000.0));
  add_choice<gui::Pace>(*command, "--pace", o->pace,
                        "director: about 45 s per step; even: all events take equally "
                        "long; real: recorded durations",
                        {{"director", gui::Pace::director},
                         {"even", gui::Pace::even},
                         {"real", gui::Pace::real}});
  command->add_option("--size", o->size, "WIDTHxHEIGHT in points (default 1440x900)");
  command->add_option("--scale", o->scale, "pixels per point")
      ->check(CLI::Range(0.5, 4.0));
  add_choice<Theme>(*command, "--theme", o->theme, "colours",
                    {{"dark", Theme::dark}, {"light", Theme::light}});
  command->add_flag("--compare", o->compare, "show all traces side by side, in step");
  command->add_flag("--cpp", o->cpp, "show C++ names instead of PyTorch's");
  command->add_flag("--tree", o->tree,
                    "show the step's call tree instead of the call stack");
  command->add_flag("--why", o->why,
                    "show why N devices are not N times as fast, and the longest path");
  command->add_flag("--pipeline", o->pipeline,
                    "show the pipeline's grid: what each device ran, and why it idled");
  command->add_flag(
      "--overlap", o->overlap,
      "show which collective is hidden behind backward, which is exposed");
  command->add_flag("--tracks", o->tracks,
                    "show memory, busy devices and ports over time in the timeline");
  command->add_flag("--time-order", o->time_order,
                    "order events by time, not by calls");
  command->add_flag("--quiz", o->quiz,
                    "predict, then reveal: playing asks a question before a phase");
  command->add_flag("--keys", o->help,
                    "print the list of keys; with --screenshot, draw it");
  command->add_option("--tour", o->tour, "show this card of the tour")
      ->check(CLI::Range(0, 5));
  command->add_flag("--print-state", o->state,
                    "print each position to standard output");
  command->callback([o, command, &action] {
    o->themed = command->get_option("--theme")->count() > 0;
    o->paced = command->get_option("--pace")->count() > 0;
    check_effects(*o, *command);
    const bool headless = !o->screenshot.empty() || !o->video.empty();
    if (o->compare && o->files.size() < 2) {
      throw UsageError("--compare requires two or three traces");
    }
    if (o->compare) check_compared(*o);
    action = [o, headless] {
      if (o->help && !headless) {
        fmt::print("{}", gui::key_table());
        return 0;
      }
      return headless ? draw_pictures(*o) : open_window(*o);
    };
  });
}

}  // namespace lockstep::cli
