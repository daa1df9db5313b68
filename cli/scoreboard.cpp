#include "cli/scoreboard.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/file.h"
#include "run/outputs.h"
#include "tracer/emulate/scoreboard/print_scoreboard.h"

namespace lockstep::cli {
namespace {

std::string read_table(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad() || !stream.is_open()) {
    throw std::runtime_error("cannot read " + file +
                             "; fix: name a CSV file of published measurements");
  }
  return text;
}

}  // namespace

void run_scoreboard(const std::string& file, bool json, const std::string& csv) {
  if (!csv.empty()) run::require_other_file(file, csv);
  const tracer::Scoreboard board =
      tracer::score(tracer::published_rows(tracer::parse_csv(read_table(file), file)));
  if (!csv.empty()) {
    AtomicFile out(csv);
    out.write(tracer::scoreboard_csv(board));
    out.commit();
  }
  if (json) {
    std::printf("%s\n", tracer::scoreboard_json(board).dump(1).c_str());
    return;
  }
  std::printf("%s", tracer::scoreboard_text(board).c_str());
  if (!csv.empty()) std::printf("=> every row: %s\n", csv.c_str());
}

}  // namespace lockstep::cli
