// What a learner's text may contain when it is graded.
#include "lessons/machine/plain_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tracer/format/file_io.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;

void expect_refused(const std::string& text, const std::string& why) {
  EXPECT_EQ(not_plain(text), "uses `" + why + "`") << text;
}

TEST(PlainText, AllSkeletonsAreIt) {
  int files = 0;
  for (const auto& lesson :
       fs::directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / "lessons")) {
    const fs::path file = lesson.path() / "exercise.cpp";
    if (!fs::exists(file)) continue;
    ++files;
    EXPECT_EQ(not_plain(tracer::read_whole_file(file.string())), "") << file;
  }
  EXPECT_GE(files, 7);
}

TEST(PlainText, AllowsWhatExercisesNeed) {
  EXPECT_EQ(not_plain(R"x(
#pragma once
# include <vector>
#include "engine/tensor/tensor.h"
#if __has_include(<omp.h>)
#define TWICE(x)\
  ((x) + (x)) /* the asm of # */
#endif
// __asm__ in a comment isn't code
#error nor is this judge's asm
__attribute__((constructor)) static void f() {
  const char* s = "__asm__ \" #line"; char c = '"'; int n = 1'000'000;
  auto r = R"(asm "##")"; auto t = u8R"a(__asm__)")a"; int line = __LINE__;
  f(__builtin_popcount(n), 0x1p-3, .5'0, c);
})x"),
            "");
  EXPECT_EQ(not_plain(""), "");
  EXPECT_EQ(not_plain("\xEF\xBB\xBFint i;"), "");
}

TEST(PlainText, RefusesWhatWritesAssembly) {
  expect_refused("int f() __asm__(\"f\\n.incbin \\\"/etc/passwd\\\"\");", "__asm__");
  expect_refused("asm(\"nop\");", "asm");
  expect_refused(
      "\xEF\xBB\xBF"
      "asm(\"nop\");",
      "asm");
  expect_refused("__attribute__((section(\".text\\n\"))) int i;", "section");
  expect_refused("[[gnu::section(\".text\")]] int i;", "section");
  expect_refused("__attribute__((__section__(\".text\"))) int i;", "__section__");
  expect_refused("[[using gnu: alias(\"f\")]] void g();", "alias");
  expect_refused("_Pragma(\"GCC poison x\")", "_Pragma");
  expect_refused("extern int __REDIRECT(f, (), g);", "__REDIRECT");
}

TEST(PlainText, RefusesDirectivesThatNoExerciseNeeds) {
  expect_refused("#ident \"x\"", "#ident");
  expect_refused("#line 1 \"/usr/include/stdio.h\"", "#line");
  expect_refused(" /* */ # 1 \"x\"", "#1");
  expect_refused("%:line 3", "#line");
  expect_refused("#pragma GCC dependency \"x\"", "#pragma");
  expect_refused("int i; \\\n#line 3\n \\\n#line 3", "#line");
}

TEST(PlainText, RefusesWhatHidesNames) {
  expect_refused("#define P(a, b) a##b\nP(a, sm)(\"nop\");", "##");
  expect_refused("#define P(a, b) a %:%: b", "##");
  expect_refused("as\\\nm(\"nop\");", "\\");
  expect_refused("\\u0061sm(\"nop\");", "\\");
  expect_refused("// \\\n/*\nasm(\"nop\"); // */", "\\");
  expect_refused("// \\ \v\n/*\nasm(\"nop\"); // */", "\\");
  expect_refused("/* *\\\n/ asm(\"nop\"); /* */", "\\");
  expect_refused("#if 0\nR\"(\n#endif\nasm(\"nop\");\n#if 0\n)\"\n#endif", "R\"");
  expect_refused("#define xR\nxR\"(\" asm(\"nop\"); int i = 0 // )\"", "asm");
  expect_refused("auto r = R\"( )\\\n\" )\";", "R\"");
  expect_refused("#if 0\n#include <x\n#endif\nbool b = asm(1) > 2;", "<");
  expect_refused("#if 0\n'\n#endif\nasm(\"'\");", "'");
  expect_refused("#error /*\n// */ asm(\"nop\");", "/*");
  expect_refused("#define S(x)\nS(1e+R\"(\") extern \"C\" int f() asm(\"f\"); // )\"",
                 "asm");
  expect_refused("S(\xFFR\"(\")\") extern int f() asm(\"f\"); // \"", "\\xff");
  expect_refused("#if __has_include(</*>) || 1\nint f() asm(\"f\");\n#endif // */",
                 "asm");
  expect_refused("#if 0\n#include /**/ </*>\n#endif\nint f() asm(\"f\");\n// */",
                 "#include");
  expect_refused("#define always_inline section(\"s\")", "section");
  expect_refused(std::string("\0#ident \"x\"", 11), "#ident");
  expect_refused("char c = '\\ \n'; asm(\"'\");", "'");
}

}  // namespace
}  // namespace lockstep::lessons
