// The sliders: where they stand, what moving one asks, and that a question is a command
// line.
#include "gui/model/sliders.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::gui {
namespace {

using tracer::WhatIf;

/// `batch`: the index of the recording's own.
WhatIfRoom one_device(const std::vector<int64_t>& batches, size_t batch = 0) {
  return {"single", 1, batches, "", {"dgx-a100", "two-sockets"}, batches.at(batch)};
}

WhatIfRoom recorded_on(int devices) {
  return {"dp", devices, {}, "it is of mode dp", {}};
}

SliderFace face(Knob knob, const WhatIf& question, const WhatIfRoom& room) {
  return face_of(knob, question, room);
}

TEST(Sliders, StandWhereTheQuestionIs) {
  const WhatIfRoom room = one_device({8});
  const WhatIf question = first_question(room);
  EXPECT_EQ(face(Knob::mode, question, room).value, "ddp");
  EXPECT_EQ(face(Knob::devices, question, room).value, "4");
  EXPECT_EQ(face(Knob::bucket_cap, question, room).value, "25 MiB");
  EXPECT_EQ(face(Knob::gb_per_s, question, room).value, "12 GB/s");
  EXPECT_EQ(face(Knob::latency, question, room).value, "10 µs");
  EXPECT_EQ(face(Knob::compute, question, room).value, "1x");
  for (size_t i = 0; i < kKnobs; ++i) {  // each default is a stop
    const auto knob = static_cast<Knob>(i);
    const SliderFace own = face(knob, question, room);
    EXPECT_EQ(with_stop(knob, own.stop, question, room).devices, question.devices);
    if (!own.off.empty()) continue;
    EXPECT_EQ(face(knob, with_stop(knob, own.stop, question, room), room), own)
        << own.name;
  }
}

TEST(Sliders, EachStopIsReached) {
  const WhatIfRoom room = one_device({8, 32});
  for (size_t i = 0; i < kKnobs; ++i) {
    const auto knob = static_cast<Knob>(i);
    const WhatIf question = first_question(room);
    const size_t stops = face(knob, question, room).stops;
    EXPECT_GT(stops, 1u) << i;
    for (size_t stop = 0; stop < stops; ++stop) {
      EXPECT_EQ(face(knob, with_stop(knob, stop, question, room), room).stop, stop)
          << face(knob, question, room).name;
    }
  }
}

TEST(Sliders, CompareSeveralDevicesWithOneSuchDevice) {
  const WhatIfRoom room = one_device({64});
  WhatIf question = first_question(room);  // 256 images on 4 devices
  EXPECT_EQ(step_words(question, room, {1'000'000'000, 1'600'000'000, 800'000'000, 0}),
            "**1.00 s** a step of 256 images on 4 devices, 256 images/s: **3.20x** one "
            "such device. Recorded: 1.60 s for 64 images on one device");
  EXPECT_EQ(step_words(question, room, {1'000'000'000, 1'600'000'000, 0, 0}),
            "**1.00 s** a step of 256 images on 4 devices, 256 images/s. Recorded: "
            "1.60 s for 64 images on one device");
  question.devices = 1;
  EXPECT_EQ(step_words(question, room, {400'000'000, 800'000'000, 400'000'000, 0}),
            "**400 ms** a step of 64 images on 1 device, 160 images/s. Recorded: 800 "
            "ms, **−50 %**");
  EXPECT_EQ(step_words({}, recorded_on(4), {400'000'000, 800'000'000, 0, 0}),
            "**400 ms** a step; recorded 800 ms: **−50 %**");
  EXPECT_EQ(step_words({}, recorded_on(4), {400'000'000, 800'000'000, 0, 500'000'000}),
            "**400 ms** a step: **−20 %** from 500 ms with the default links and "
            "speeds. Recorded: 800 ms");
}

TEST(Sliders, ThatChangeMostComeBeforeTheLinks) {
  EXPECT_LT(Knob::compute, Knob::gb_per_s);
  EXPECT_LT(Knob::host, Knob::gb_per_s);
  EXPECT_LT(Knob::compute, Knob::hardware);
  const WhatIfRoom room = recorded_on(4);
  const size_t last = face(Knob::compute, {}, room).stops - 1;
  EXPECT_GE(with_stop(Knob::compute, last, {}, room).compute_scale, 50);
}

TEST(Sliders, SayWhyLinksChangeLittle) {
  constexpr int64_t kMs = 1'000'000;
  WhatIf question;
  EXPECT_EQ(links_words(question, {}), "") << "no link was moved";
  question.link.gb_per_s = 300;
  EXPECT_EQ(
      links_words(question, {1'000 * kMs, 995 * kMs, 300 * kMs, 100 * kMs}),
      "Links change little here: with 12 GB/s and 10 µs, the step takes **1.00 "
      "s**. With **device speed 50x**, they change it from 300 ms to **100 ms**.");
  EXPECT_EQ(links_words(question, {1'000 * kMs, 995 * kMs, 300 * kMs, 299 * kMs}),
            "Links change little here: with 12 GB/s and 10 µs, the step takes **1.00 "
            "s**. With device speed 50x, they change little, too.");
  EXPECT_EQ(links_words(question, {1'000 * kMs, 900 * kMs, 0, 0}), "") << "they do";
  EXPECT_EQ(links_words(question, {1'000 * kMs, 995 * kMs, 0, 0}),
            "Links change little here: with 12 GB/s and 10 µs, the step takes **1.00 "
            "s**.");
}

TEST(Sliders, HardwareIsItsLinks) {
  WhatIf question;
  question.hardware = "dgx-a100";
  const char* const kept =
      "**dgx-a100** stands for its links: kernels keep the speed of the recording.";
  EXPECT_EQ(links_words(question, {1'000, 500, 0, 0}), kept);
  EXPECT_EQ(links_words(question, {1'000, 999, 0, 0}).find(kept), 0u);
  question.compute_scale = 50;
  EXPECT_EQ(links_words(question, {1'000, 500, 0, 0}), "");
}

TEST(Sliders, CallNothingRecordedThatWasEmulated) {
  WhatIfRoom room = recorded_on(4);
  room.provenance = Provenance::emulated;
  EXPECT_EQ(step_words({}, room, {400'000'000, 800'000'000, 0, 0}),
            "**400 ms** a step; original 800 ms: **−50 %**");
  EXPECT_EQ(retimed_words(room).substr(0, 30), "Recorded with mode dp on 4 dev");
  room.provenance = Provenance::constructed;
  EXPECT_EQ(retimed_words(room),
            "Constructed with mode dp on 4 devices, so only its times change here. For "
            "other modes, devices and buckets, open the recording of one device.");
  EXPECT_EQ(face(Knob::devices, {}, room).off,
            "constructed with mode dp on 4 devices: only its times change");
  room = one_device({64});
  room.provenance = Provenance::constructed;
  EXPECT_EQ(step_words(first_question(room), room,
                       {1'000'000'000, 1'600'000'000, 800'000'000, 0}),
            "**1.00 s** a step of 256 images on 4 devices, 256 images/s: **3.20x** one "
            "such device. Original: 1.60 s for 64 images on one device");
}

TEST(Sliders, SayWhyOnlyTimesChange) {
  EXPECT_EQ(retimed_words(one_device({8})), "");
  EXPECT_NE(retimed_words(recorded_on(4)).find("mode dp on 4 devices"),
            std::string::npos);
  WhatIfRoom sparse = recorded_on(1);
  EXPECT_NE(retimed_words(sparse).find("it is of mode dp"), std::string::npos);
}

TEST(Sliders, SayWhyTheyCannotBeMoved) {
  WhatIf question;
  const WhatIfRoom four = recorded_on(4);
  EXPECT_EQ(first_question(four), question);
  EXPECT_EQ(face(Knob::devices, question, four).value, "4");
  EXPECT_EQ(face(Knob::devices, question, four).off,
            "recorded with mode dp on 4 devices: only its times change");
  EXPECT_EQ(face(Knob::gb_per_s, question, four).off, "");
  const WhatIfRoom one = one_device({8});
  question = first_question(one);
  EXPECT_NE(face(Knob::batch, question, one).off.find("one batch was recorded"),
            std::string::npos);
  question.mode = "dp";
  EXPECT_EQ(face(Knob::bucket_cap, question, one).off,
            "only DDP has buckets: choose mode ddp");
  question.hardware = "dgx-a100";
  EXPECT_EQ(face(Knob::latency, question, one).off, "dgx-a100 has links of its own");
}

TEST(Sliders, InterferenceIsOfCollectives) {
  const WhatIfRoom room = one_device({8});
  WhatIf question = first_question(room);
  EXPECT_EQ(face(Knob::interference, question, room).value, "1x");
  const WhatIf slowed = with_stop(Knob::interference, 3, question, room);
  EXPECT_EQ(slowed.interference, 1.1);
  EXPECT_EQ(tracer::what_if_options(slowed),
            "--mode ddp --devices 4 --interference 1.1");
  EXPECT_EQ(with_stop(Knob::interference, 0, slowed, room), question);
  question.hardware = "dgx-a100";  // a profile may have a figure of its own
  EXPECT_EQ(face(Knob::interference, question, room).value, "by hardware");
  EXPECT_EQ(with_stop(Knob::interference, 0, question, room).interference, 1);
  question.hardware = "";
  question.mode = "dp";
  EXPECT_EQ(face(Knob::interference, question, room).off,
            "only collectives slow kernels down: choose mode ddp");
}

TEST(Sliders, KeepTheBatchOfEachDevice) {
  const WhatIfRoom room = one_device({8, 32});
  WhatIf question = first_question(room);
  const size_t stops = face(Knob::batch, question, room).stops;
  question = with_stop(Knob::batch, stops - 1, question, room);
  EXPECT_EQ(question.batch, 4 * 32);
  question = with_stop(Knob::devices, 7, question, room);
  EXPECT_EQ(question.devices, 8);
  EXPECT_EQ(question.batch, 8 * 32);
}

// A question without a batch is one about the recording's own, not the smallest.
TEST(Sliders, TheBatchBeginsAtTheRecordingsOwn) {
  const WhatIfRoom room = one_device({8, 32}, 1);
  WhatIf question = first_question(room);
  const SliderFace own = face(Knob::batch, question, room);
  EXPECT_EQ(own.value, "32 on each");
  EXPECT_EQ(own.stop, own.stops - 1);
  question.batch = 16;
  EXPECT_EQ(with_stop(Knob::devices, 7, question, room).batch, 8 * 4);
}

TEST(Sliders, DataParallelHasAtMostAsManyDevicesAsATrace) {
  const WhatIfRoom room = one_device({8});
  WhatIf question = first_question(room);
  question.devices = 1024;
  EXPECT_EQ(with_stop(Knob::mode, 0, question, room).devices, 64);
}

// Every place of the sliders is a command line that is read back as the same question.
TEST(Sliders, AreACommandLine) {
  const WhatIfRoom room = one_device({8, 13, 32});
  std::mt19937 random(3);
  WhatIf question = first_question(room);
  for (int i = 0; i < 2000; ++i) {
    const auto knob = static_cast<Knob>(random() % kKnobs);
    const SliderFace own = face(knob, question, room);
    if (!own.off.empty()) continue;
    question = with_stop(knob, random() % own.stops, question, room);
    const std::string options = tracer::what_if_options(question);
    WhatIf read = tracer::parse_what_if(options);
    if (question.mode != "ddp") {
      EXPECT_EQ(tracer::what_if_options(read), options);
    }
    EXPECT_EQ(read, question) << options;
  }
}

TEST(WhatIfOptions, AreThoseOfTheCommand) {
  WhatIf question;
  EXPECT_EQ(tracer::what_if_options(question), "");
  question.mode = "ddp";
  question.devices = 16;
  question.batch = 512;
  question.link.gb_per_s = 0.1;
  EXPECT_EQ(tracer::what_if_options(question),
            "--mode ddp --devices 16 --batch-size 512 --link-gb-per-s 0.1");
  EXPECT_EQ(tracer::parse_what_if("--devices=16 --mode ddp -b 512 --link-gb-per-s 0.1"),
            question);
}

TEST(WhatIfOptions, NameWhatIsWrong) {
  for (const auto& [text, says] :
       {std::pair{"--nodes 4", "--nodes: unknown; fix: use --mode, "},
        {"--devices 4", "--devices: this is an option of a constructed program"},
        {"--mode ddp --devices 0", "--devices: '0' is not a whole number from 1"},
        {"--mode tp", "--mode: 'tp' is not one of dp, ddp"},
        {"--mode ps", "--mode: there are no sliders for ps; fix: open the trace"},
        {"--link-gb-per-s", "--link-gb-per-s: a value is missing"},
        {"--hardware a --link-gb-per-s 3", "--hardware: it has links of its own"}}) {
    try {
      tracer::parse_what_if(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).rfind(says, 0), 0u) << error.what();
    }
  }
}

TEST(Sliders, SayTheChange) {
  EXPECT_EQ(change_text(100, 62), "−38 %");
  EXPECT_EQ(change_text(100, 112), "+12 %");
  EXPECT_EQ(change_text(1000, 1001), "±0 %");
  EXPECT_EQ(change_text(100, 310), "+210 %");
  EXPECT_EQ(change_text(0, 5), "");
}

}  // namespace
}  // namespace lockstep::gui
