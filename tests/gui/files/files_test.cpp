// Files of the viewer: notes beside a trace or, if that cannot be written, elsewhere;
// what is kept between runs; completion of paths.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gui/files/notes_file.h"
#include "gui/files/state_file.h"
#include "tests/gui/model/made_trace.h"

namespace lockstep::gui {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lockstep_files_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_STATE_HOME");
    fs::remove_all(folder_);
  }

  OpenTrace opened(const fs::path& path) {
    OpenTrace trace;
    trace.model = std::make_unique<Model>(
        test::Made().x("phase", "step", 0, 0, 9, R"("kind":"train")").model());
    trace.model->name = path.string();
    return trace;
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(Files, NotesAreKeptBesideTheTrace) {
  OpenTrace trace = opened(folder_ / "run.json.gz");
  add_note(*trace.model, trace.notes.placed, {at_event(*trace.model, 0), "here"});
  trace.notes_changed = true;
  EXPECT_EQ(save_notes(trace), "");
  EXPECT_FALSE(trace.notes_changed);
  EXPECT_EQ(trace.notes_file, (folder_ / "run.json.gz.notes.json").string());
  OpenTrace again = opened(folder_ / "run.json.gz");
  EXPECT_EQ(load_notes(again), "");
  EXPECT_EQ(again.notes, trace.notes);
  again.notes.placed.clear();
  EXPECT_EQ(save_notes(again), "");
  EXPECT_FALSE(fs::exists(folder_ / "run.json.gz.notes.json"));
}

TEST_F(Files, AnUnwritableFolderIsSaidAndNothingIsLost) {
  // The folder of the trace does not exist, which no user can write to.
  OpenTrace trace = opened(folder_ / "gone" / "run.json");
  add_note(*trace.model, trace.notes.placed, {at_event(*trace.model, 0), "here"});
  const std::string said = save_notes(trace);
  EXPECT_TRUE(said.starts_with("notes are kept in " + (folder_ / "state").string()))
      << said;
  OpenTrace again = opened(folder_ / "gone" / "run.json");
  load_notes(again);
  EXPECT_EQ(again.notes, trace.notes);
  // Once the folder can be written, they move beside the trace.
  fs::create_directories(folder_ / "gone");
  EXPECT_EQ(save_notes(again), "");
  EXPECT_FALSE(fs::exists(notes_elsewhere(again.model->name)));
  // Nowhere at all.
  write(folder_ / "file", "x");
  setenv("XDG_STATE_HOME", (folder_ / "file").c_str(), 1);
  trace.model->name = (folder_ / "lost" / "run.json").string();
  EXPECT_TRUE(save_notes(trace).starts_with("notes are NOT saved"));
  EXPECT_EQ(trace.notes.placed.size(), 1u);
}

TEST_F(Files, AnotherFileIsNotReplaced) {
  const fs::path beside = folder_ / "run.json.notes.json";
  write(beside, "a shopping list");
  OpenTrace trace = opened(folder_ / "run.json");
  EXPECT_NE(load_notes(trace).find("run.json.notes.json"), std::string::npos);
  add_note(*trace.model, trace.notes.placed, {at_event(*trace.model, 0), "here"});
  EXPECT_NE(save_notes(trace).find("holds something else"), std::string::npos);
  EXPECT_EQ(read(beside), "a shopping list");
  EXPECT_TRUE(fs::exists(notes_elsewhere(trace.model->name)));
}

TEST_F(Files, NotesThatCannotBeReadAreLeftAsTheyAre) {
  OpenTrace trace = opened(folder_ / "run.json");
  const fs::path elsewhere = notes_elsewhere(trace.model->name);
  fs::create_directories(elsewhere.parent_path());
  write(elsewhere, "from a newer program");
  EXPECT_NE(load_notes(trace), "");
  add_note(*trace.model, trace.notes.placed, {at_event(*trace.model, 0), "here"});
  EXPECT_EQ(save_notes(trace), "") << "beside the trace";
  EXPECT_EQ(read(elsewhere), "from a newer program");
}

TEST_F(Files, NotesOfATraceHaveOnePlaceWhateverItsPath) {
  EXPECT_EQ(notes_elsewhere((folder_ / "." / "run.json").string()),
            notes_elsewhere((folder_ / "run.json").string()));
}

TEST_F(Files, ChoicesSurvive) {
  Kept kept;
  kept.files = {"/a b.json", "/c.json.gz"};
  kept.toured = kept.light = kept.tree = kept.tracks = true;
  kept.panes.left = 0.25f, kept.panes.ports = 0.125f;
  save_kept(kept);
  EXPECT_EQ(load_kept(), kept);
  Settings settings;
  apply_kept(kept, settings);
  EXPECT_FALSE(settings.dark);
  EXPECT_EQ(settings.panes, kept.panes);
  // Lines of other versions, and damage, are ignored.
  EXPECT_EQ(parse_kept("toured\npanel left 7\npanel top 0.5\nnovel\nfile x\n").files,
            std::vector<std::string>{"x"});
  EXPECT_EQ(parse_kept("panel left nan\npanel left 7").panes, Panes{});
}

TEST_F(Files, PathsAreCompleted) {
  fs::create_directories(folder_ / "runs");
  for (const char* name :
       {"run1.json.gz", "run2.json", "run2.json.notes.json", "x.png"}) {
    write(folder_ / name, "x");
  }
  const std::string base = folder_.string() + "/";
  EXPECT_EQ(complete_path(base + "r"),
            (std::vector<std::string>{base + "run1.json.gz", base + "run2.json",
                                      base + "runs/"}));
  EXPECT_TRUE(complete_path(base + "nothing").empty());
  EXPECT_TRUE(complete_path("/no/such/folder/").empty());
}

TEST_F(Files, TabsOnOneFileShareItsNotes) {
  std::vector<OpenTrace> tabs;
  for (const char* name : {"run.json", "./run.json", "other.json"}) {
    tabs.push_back(opened(folder_ / name));
  }
  const Model& model = *tabs[0].model;
  add_note(model, tabs[0].notes.placed, {at_event(model, 0), "first"});
  EXPECT_EQ(save_notes(tabs[0]), "");
  share_notes(tabs[0], tabs);
  EXPECT_EQ(tabs[1].notes, tabs[0].notes);
  EXPECT_TRUE(tabs[2].notes.placed.empty());
  tabs[1].notes.placed[0].text += ", then more";
  EXPECT_EQ(save_notes(tabs[1]), "");
  EXPECT_NE(read(folder_ / "run.json.notes.json").find("first, then more"),
            std::string::npos);
}

/// Two viewers with the same trace, which read its notes before either saved any.
TEST_F(Files, NotesOfTwoViewersAreJoined) {
  const auto model = [&] {
    OpenTrace trace = opened(folder_ / "run.json");
    *trace.model = test::Made()
                       .x("phase", "step", 0, 0, 90, R"("kind":"train")")
                       .x("op", "aten::relu", 0, 10, 5, "")
                       .x("op", "aten::relu", 0, 20, 5, "")
                       .model();
    trace.model->name = (folder_ / "run.json").string();
    return trace;
  };
  OpenTrace first = model();
  const auto note = [&](OpenTrace& trace, uint32_t event, const char* text) {
    add_note(*trace.model, trace.notes.placed, {at_event(*trace.model, event), text});
  };
  const auto texts = [](const OpenTrace& trace) {
    std::vector<std::string> list;
    for (const Note& own : trace.notes.placed) list.push_back(own.text);
    return list;
  };
  using Texts = std::vector<std::string>;
  note(first, 0, "both");
  EXPECT_EQ(save_notes(first), "");
  OpenTrace second = model();
  EXPECT_EQ(load_notes(second), "");
  note(first, 1, "of the first");
  EXPECT_EQ(save_notes(first), "");
  note(second, 2, "of the second");
  EXPECT_EQ(save_notes(second), "");
  EXPECT_EQ(texts(second), (Texts{"both", "of the first", "of the second"}));
  // What one removes, the other does not bring back.
  second.notes.placed.erase(second.notes.placed.begin());
  EXPECT_EQ(save_notes(second), "");
  EXPECT_EQ(save_notes(first), "");
  EXPECT_EQ(texts(first), (Texts{"of the first", "of the second"}));
  // Neither text of a note that both changed is lost.
  first.notes.placed[0].text = "A";
  second.notes.placed[0].text = "B";
  EXPECT_EQ(save_notes(first), "");
  EXPECT_EQ(save_notes(second), "");
  EXPECT_EQ(texts(second), (Texts{"A · B", "of the second"}));
}

/// Two processes that save at the same time: the lock of the folder keeps each from
/// overwriting what the other has just saved.
TEST_F(Files, NotesOfTwoProcessesAreJoined) {
  constexpr uint32_t kEach = 20;
  const std::string path = (folder_ / "run.json").string();
  const auto opened_again = [&] {
    test::Made made;
    made.x("phase", "step", 0, 0, 1000, R"("kind":"train")");
    for (int i = 0; i < int{2 * kEach}; ++i) {
      made.x("op", "aten::relu", 0, 10 + 20 * i, 5, "");
    }
    OpenTrace trace;
    trace.model = std::make_unique<Model>(made.model());
    trace.model->name = path;
    return trace;
  };
  std::vector<pid_t> processes;
  for (const uint32_t first : {1u, 1u + kEach}) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      OpenTrace own = opened_again();
      bool saved = true;
      for (uint32_t i = 0; i < kEach; ++i) {
        add_note(*own.model, own.notes.placed,
                 {at_event(*own.model, first + i), "of this process"});
        saved = save_notes(own).empty() && saved;
      }
      _exit(saved ? 0 : 1);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  OpenTrace trace = opened_again();
  EXPECT_EQ(load_notes(trace), "");
  EXPECT_EQ(trace.notes.placed.size(), 2 * kEach);
}

TEST_F(Files, PicturesOfTwoEventsOfOneNameHaveTwoNames) {
  const Model model = test::Made()
                          .x("phase", "step", 0, 0, 90, R"("kind":"train")")
                          .x("op", "aten::relu", 0, 10, 5, "")
                          .x("op", "aten::relu", 0, 20, 5, "")
                          .model();
  EXPECT_EQ(file_word(model, at_event(model, 1)), "step_3_aten_relu_2");
  EXPECT_EQ(file_word(model, at_event(model, 2)), "step_3_aten_relu_3");
}

TEST_F(Files, PicturesAndTablesAreSavedBesideTheTrace) {
  EXPECT_EQ(save_beside((folder_ / "run.json").string(), ".kernels.csv", "a,b\n"),
            "saved " + (folder_ / "run.json.kernels.csv").string());
  EXPECT_EQ(read(folder_ / "run.json.kernels.csv"), "a,b\n");
}

}  // namespace
}  // namespace lockstep::gui
