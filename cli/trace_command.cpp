// `lockstep trace`: reads, checks, compares, merges and converts traces.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "run/outputs.h"
#include "tracer/analysis/call_tree.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/diff.h"
#include "tracer/analysis/hybrid_step.h"
#include "tracer/analysis/server_keys.h"
#include "tracer/analysis/staleness.h"
#include "tracer/analysis/steps.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"
#include "tracer/format/merge.h"
#include "tracer/format/partial.h"
#include "tracer/format/trace.h"
#include "tracer/kineto/kineto.h"
#include "tracer/record/journal.h"

namespace lockstep::cli {
namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stdout);
}

struct TraceOptions {
  std::string file, other;
  bool json = false, calls = false;
  int64_t step = -1;
};

/// Opens a trace that is never destroyed: the process ends after the command, and
/// freeing millions of events one by one would only delay that.
const tracer::Trace& open_for_good(const std::string& file) {
  static const auto* const trace = new tracer::Trace(tracer::open_trace(file));
  return *trace;
}

int summary(const TraceOptions& o) {
  const tracer::Trace& trace = open_for_good(o.file);
  if (o.calls) {
    int64_t step = o.step;
    if (step < 0) {
      const auto steps = tracer::find_steps(trace);
      step = steps.empty() ? 0 : steps.front().number;
    }
    const auto calls = tracer::call_tree(trace, step);
    print(o.json ? tracer::call_tree_json(calls).dump(1)
                 : tracer::call_tree_text(calls));
    return 0;
  }
  const tracer::Summary result = tracer::summarize(trace);
  const tracer::ServerSummary servers = tracer::summarize_servers(trace);
  const auto server_count = static_cast<int>(servers.servers.size());
  const tracer::HybridLedger hybrid = tracer::hybrid_ledger(trace);
  if (o.json) {
    tracer::Json json = tracer::summary_json(result);
    if (server_count > 0) {
      json["parameter_servers"] = servers_json(servers);
      json["parameter_servers"]["owned"] = server_keys_json(trace, server_count);
    }
    if (!hybrid.rows.empty()) json["hybrid"] = hybrid_json(hybrid);
    print(json.dump(1));
    return 0;
  }
  print(tracer::summary_text(result) + servers_text(servers) +
        server_keys_text(trace, server_count) + hybrid_text(hybrid));
  return 0;
}

int check(const TraceOptions& o) {
  const tracer::CheckReport report = tracer::check_trace(open_for_good(o.file));
  print(o.json ? tracer::check_json(report).dump(1) : tracer::check_text(report));
  return report.ok() ? 0 : 1;
}

int diff(const TraceOptions& o) {
  const auto result =
      tracer::diff_traces(tracer::open_trace(o.file), tracer::open_trace(o.other));
  print(o.json ? tracer::diff_json(result).dump(1)
               : tracer::diff_text(result, o.file, o.other));
  return 0;
}

struct MergeOptions {
  std::vector<std::string> files;
  std::string out;
};

int64_t rank_fact(const tracer::Trace& trace, const char* name) {
  return tracer::int_arg(tracer::object_arg(trace.other, "distributedInfo"), name, -1);
}

int merge(const MergeOptions& o) {
  std::vector<std::pair<tracer::Trace, std::string>> ranks;
  for (const std::string& file : o.files) {
    run::require_other_file(file, o.out);
    try {
      ranks.emplace_back(tracer::open_trace(file), file);
    } catch (const tracer::NoCompleteStep& error) {
      std::fprintf(stderr, "lockstep: left out: %s\n", error.what());
    }
  }
  if (ranks.empty()) throw std::runtime_error("no file has a complete step");
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return rank_fact(a.first, "rank") < rank_fact(b.first, "rank");
  });
  std::vector<tracer::Trace> traces;
  std::vector<std::string> names;
  for (auto& [trace, name] : ranks) {
    traces.push_back(std::move(trace));
    names.push_back(std::move(name));
  }
  tracer::ClockReport clocks;
  const tracer::Trace merged = tracer::merge_traces(std::move(traces), names, &clocks);
  const auto what = tracer::partial_of(merged);
  const std::string partial = what ? what->text() : "";
  tracer::write_trace(merged, o.out);
  if (!clocks.text().empty()) std::printf("=> %s\n", clocks.text().c_str());
  std::printf("=> trace written: %s (%zu rank%s)\n", o.out.c_str(), names.size(),
              names.size() == 1 ? "" : "s");
  if (!partial.empty()) {
    std::printf("=> partial: %s; `trace check` judges what is there\n",
                partial.c_str());
  }
  return 0;
}

void add_merge(CLI::App& trace, Action& action) {
  auto options = std::make_shared<MergeOptions>();
  auto* command =
      trace.add_subcommand("merge", "merge the files of a run's ranks into one");
  command->add_option("RANK", options->files, "trace files of the ranks")->required();
  command->add_option("-o,--out", options->out, "merged trace")->required();
  command->callback(
      [options, &action] { action = [options] { return merge(*options); }; });
}

struct ExchangeOptions {
  std::string file, out;
  bool kineto = false, gzip = false;
  int64_t rank = tracer::kNone;
};

/// Adds the file's name to the errors of the conversion.
template <typename Translate>
auto of_file(const std::string& file, Translate translate) {
  const tracer::Trace trace =
      tracer::parse_trace(tracer::open_trace_text(file, tracer::kMaxText), file);
  try {
    return translate(trace);
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.find('/') == 0 ? what : file + ": " + what);
  }
}

int export_trace(const ExchangeOptions& o) {
  const auto files = of_file(o.file, [&](const tracer::Trace& trace) {
    return tracer::export_kineto(trace, o.out, o.gzip);
  });
  for (const std::string& file : files) {
    std::printf("=> written in torch.profiler's format: %s\n", file.c_str());
  }
  return 0;
}

int import_trace(const ExchangeOptions& o) {
  run::require_other_file(o.file, o.out);
  const auto imported = of_file(o.file, [&](const tracer::Trace& trace) {
    return tracer::import_kineto(trace, o.rank);
  });
  tracer::write_trace(imported, o.out);
  std::printf("=> trace written: %s (imported)\n", o.out.c_str());
  const std::string left_out = tracer::left_out_text(imported.lockstep);
  if (!left_out.empty()) std::printf("%s\n", left_out.c_str());
  return 0;
}

void add_exchange(CLI::App& trace, Action& action) {
  auto out = std::make_shared<ExchangeOptions>();
  auto* command =
      trace.add_subcommand("export", "convert a trace to torch.profiler's format");
  command->add_option("TRACE", out->file, "lockstep trace")->required();
  command
      ->add_flag("--kineto", out->kineto,
                 "write torch.profiler's JSON, one file per rank")
      ->required();
  command->add_flag("--gzip", out->gzip, "compress the files");
  command->add_option("-o,--out", out->out, "output folder")->required();
  command->callback([out, &action] { action = [out] { return export_trace(*out); }; });

  auto in = std::make_shared<ExchangeOptions>();
  command = trace.add_subcommand("import", "convert a torch.profiler trace");
  command->add_option("FILE", in->file, "file of one rank")->required();
  command->add_option("-o,--out", in->out, "the trace")->required();
  command
      ->add_option("--rank", in->rank,
                   "the file's rank (default: the file's own `distributedInfo`, or 0)")
      ->check(CLI::Range(0, 65'535));
  command->callback([in, &action] { action = [in] { return import_trace(*in); }; });
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto* trace = app.add_subcommand("trace", "summarise, check or compare traces");
  auto add = [&](const char* name, const char* help, int (*run)(const TraceOptions&)) {
    auto options = std::make_shared<TraceOptions>();
    auto* command = trace->add_subcommand(name, help);
    command->add_option("TRACE", options->file, "trace file")->required();
    command->add_flag("--json", options->json, "print JSON");
    command->callback(
        [options, run, &action] { action = [options, run] { return run(*options); }; });
    return std::pair(command, options);
  };
  auto [summarize, summary_options] =
      add("summary", "show phases, bytes by reason and port, memory and the bottleneck",
          summary);
  summarize->add_flag("--calls", summary_options->calls, "show the call tree");
  summarize->add_option("--step", summary_options->step,
                        "step for --calls (default: the first)");
  add("check", "verify the file and the conservation laws", check);
  auto [compare, diff_options] = add("diff", "compare two traces side by side", diff);
  compare->add_option("OTHER", diff_options->other, "the other trace")->required();
  add_merge(*trace, action);
  add_exchange(*trace, action);
  require_known_subcommand(*trace);
}

}  // namespace lockstep::cli
