// The scoreboard: its table, its model of a step, its fit and its intervals. Networks
// are compared with torchvision's counts of parameters, buckets with a published trace,
// the rest with closed forms and with rows that are made from known factors.
#include "tracer/emulate/scoreboard/scoreboard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/csv.h"
#include "tracer/emulate/scoreboard/other_rows.h"
#include "tracer/emulate/scoreboard/print_scoreboard.h"

namespace lockstep::tracer {
namespace {

constexpr const char* kHeader =
    "source,model,framework,mode,gpu,interconnect,n_gpus,global_batch,precision,metric,"
    "value,notes,evidence\n";

Scoreboard board_of(const std::string& rows) {
  return score(published_rows(parse_csv(kHeader + rows, "table.csv")));
}

std::string error_of(const std::string& text) {
  try {
    published_rows(parse_csv(text, "table.csv"));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

std::string row_text(const std::string& model, const std::string& mode, int devices,
                     double seconds, const std::string& role,
                     const std::string& links = "PCIe gen3") {
  return fmt::format(
      "lab x,{},pytorch,{},V100,{},{},{},fp32,ms_per_iter,{:.6f},role={},"
      "read\n",
      model, mode, links, devices, 32 * devices, seconds * 1e3, role);
}

TEST(Scoreboard, TablesAreReadAsRfc4180Says) {
  const CsvTable table = parse_csv("a,b\r\n\"1,\"\"2\"\"\n3\",\n\n4,5", "t.csv");
  ASSERT_EQ(table.lines.size(), 2u);
  EXPECT_EQ(table.lines[0].fields, (std::vector<std::string>{"1,\"2\"\n3", ""}));
  EXPECT_EQ(table.lines[1].number, 5);
  EXPECT_EQ(csv_field("1,\"2\""), "\"1,\"\"2\"\"\"");
}

TEST(Scoreboard, ErrorsNameTheRowAndTheFix) {
  EXPECT_EQ(error_of(""), "table.csv: empty; fix: name a CSV file with a header");
  EXPECT_EQ(error_of("source,model\na,b\n"),
            "table.csv: no column 'framework'; fix: add it to the header, which has "
            "source, model");
  EXPECT_EQ(error_of("a,b\n1\n"),
            "table.csv: row 2: 1 fields, but the header has 2; fix: quote fields that "
            "contain commas");
  EXPECT_EQ(error_of("a,b\n1,\"2\n"),
            "table.csv: row 2: a quote is not closed; fix: close it");
  const std::string start = "s,resnet50,pytorch,ddp,V100,,";
  EXPECT_EQ(error_of(kHeader + start + "8,256,fp32,img_per_s,fast,role=validate-ddp,r"),
            "table.csv: row 2: value 'fast' is not a positive number; fix: correct it, "
            "or give the row a role that is not scored, such as role=context");
  EXPECT_EQ(error_of(kHeader + start + "1.5,256,fp32,img_per_s,9,role=validate-ddp,r"),
            "table.csv: row 2: n_gpus '1.5' is not a number of devices; fix: write a "
            "whole number");
  EXPECT_EQ(error_of(kHeader + start + "8,256,fp32,img_per_s,9,none,r"),
            "table.csv: row 2: notes 'none' does not begin with role=; fix: say what "
            "the row is for, such as role=validate-ddp");
  EXPECT_EQ(error_of(kHeader + start + "8,256,fp32,scaling,linear,role=context,r"),
            "no error");
}

TEST(Scoreboard, NetsHaveTorchvisionsParameters) {
  const std::map<std::string, std::pair<size_t, int64_t>> counts{
      {"alexnet", {16, 61100840}},          {"vgg11", {22, 132863336}},
      {"vgg16", {32, 138357544}},           {"vgg16_bn", {58, 138365992}},
      {"vgg19", {38, 143667240}},           {"resnet18", {62, 11689512}},
      {"resnet34", {110, 21797672}},        {"resnet50 v1.5", {161, 25557032}},
      {"resnet101", {314, 44549160}},       {"resnet152", {467, 60192808}},
      {"resnext50_32x4d", {161, 25028904}}, {"resnext101_32x8d", {314, 88791336}},
      {"wide_resnet50_2", {161, 68883240}}, {"inception_v3", {284, 23834568}}};
  for (const auto& [name, expected] : counts) {
    const std::optional<Net> net = net_named(name);
    ASSERT_TRUE(net) << name;
    EXPECT_EQ(net->parameters.size(), expected.first) << name;
    EXPECT_EQ(net->numel(), expected.second) << name;
  }
  EXPECT_FALSE(net_named("bert"));
  EXPECT_NEAR(net_named("resnet50")->macs(), 4.089e9, 1e6);
  EXPECT_NEAR(net_named("vgg16")->macs(), 15.47e9, 1e7);
}

TEST(Scoreboard, BucketsAreThoseOfThePublishedTrace) {
  const Net net = *net_named("resnet18");
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(bucket_bytes(net, 25 << 20, 4), (Sizes{2052000, 28852224, 15853824}));
  EXPECT_EQ(bucket_bytes(net, 35 << 20, 4), (Sizes{2052000, 38297600, 6408448}));
}

TEST(Scoreboard, DescriptionsOfMachinesAreRead) {
  const MachineLinks pcie = machine_links("RTX 3070", "PCIe gen4, no P2P");
  EXPECT_EQ(pcie.within, LinkClass::pcie);
  EXPECT_EQ(pcie.ring(8, 1, 1).gb_per_s, 24);
  const MachineLinks dgx = machine_links("V100-SXM2-16GB", "NVLink2 + 4x100Gb IB");
  EXPECT_EQ(dgx.ring(8, 1, 1).gb_per_s, 120);
  EXPECT_EQ(dgx.ring(2, 1, 1).gb_per_s, 30);  // a quarter of the links
  EXPECT_EQ(dgx.machines(16), 2);
  EXPECT_EQ(dgx.ring(16, 1, 0.5).gb_per_s, 24);
  const MachineLinks gb = machine_links("V100-32GB (DGX-2)", "NVSwitch");
  EXPECT_EQ(gb.machines(16), 1) << "32GB is no network";
  const MachineLinks pairs = machine_links("RTX 2080 Ti", "NVLink pairs + PCIe gen3");
  EXPECT_EQ(pairs.ring(2, 1, 1).gb_per_s, 40);
  EXPECT_EQ(pairs.ring(4, 1, 1).gb_per_s, 12);
  EXPECT_FALSE(machine_links("K80", "unstated").stated);
  EXPECT_EQ(without_network("NVLink2 + 4x100Gb IB"), "NVLink2");
  EXPECT_EQ(without_network("NVLink pairs + PCIe gen3"), "NVLink pairs + PCIe gen3");
}

TEST(Scoreboard, TheSlowestOfNormalNumbers) {
  EXPECT_NEAR(expected_maximum(2), 1 / std::sqrt(M_PI), 1e-5);
  EXPECT_NEAR(expected_maximum(3), 1.5 / std::sqrt(M_PI), 1e-5);
  EXPECT_NEAR(expected_maximum(8), 1.42360, 1e-4);
}

TEST(Scoreboard, PipelinesFollowTheClosedForm) {
  // T = (m + n − 1) / m · 1 / n · (3 + (m − 1) / m) / 3
  for (const auto& [n, m] : {std::pair{1, 2}, {2, 4}, {4, 32}, {8, 32}}) {
    const double time = (m + n - 1.0) / m / n * (3 + (m - 1.0) / m) / 3;
    EXPECT_NEAR(pipeline_speed(nullptr, n, m), 1 / time, 1e-9) << n << ' ' << m;
  }
  // Stages that are not equal are slower.
  const Net vgg = *net_named("vgg16");
  EXPECT_LT(pipeline_speed(&vgg, 4, 32), pipeline_speed(nullptr, 4, 32));
}

StepSetting setting(const Net& net, Sharing sharing, int devices, double alone = 0.1) {
  StepSetting s;
  s.net = &net;
  s.sharing = sharing;
  s.devices = devices;
  s.batch = 32;
  s.alone = alone;
  s.links = machine_links("V100", "PCIe gen3");
  return s;
}

TEST(Scoreboard, StepsObeyTheirBounds) {
  const Net net = *net_named("resnet50");
  for (const Sharing sharing :
       {Sharing::dp, Sharing::ddp, Sharing::collective, Sharing::server}) {
    for (const int devices : {2, 4, 8, 16}) {
      const StepSetting s = setting(net, sharing, devices);
      const double usual = step_time(s, {}).total();
      EXPECT_GT(usual, s.alone);
      CostFactors faster{};
      faster[static_cast<size_t>(Cost::link)] = 1;
      EXPECT_LE(step_time(s, faster).total(), usual);
      CostFactors slower{};
      slower[static_cast<size_t>(Cost::spread)] = 1;
      EXPECT_GT(step_time(s, slower).total(), usual);
    }
  }
  // DDP hides messages, tf_cnn_benchmarks does not, and no step hides more than all.
  StepSetting ddp = setting(net, Sharing::ddp, 4);
  StepSetting after = setting(net, Sharing::collective, 4);
  after.sum = Sum::per_tensor;
  EXPECT_LT(step_time(ddp, {}).links, step_time(after, {}).links);
  // Buckets wait for each other: together they take their port at least that long.
  const Net vgg = *net_named("vgg16");
  const StepSetting many = setting(vgg, Sharing::ddp, 4);
  CostFactors slow{};
  slow[static_cast<size_t>(Cost::link)] = -2;
  const StepParts parts = step_time(many, slow);
  EXPECT_GE(parts.links + parts.compute + parts.interference,
            ring_bytes(many) / (many.links.pcie_gb_per_s * 1e9 * std::exp(-2)));
  // With one bucket, there is nothing to hide behind: its ring is exposed.
  ddp.bucket_cap = int64_t{1} << 40;
  EXPECT_GT(step_time(ddp, {}).links, 0.9 * ring_bytes(ddp) / 12e9 - 0.01);
}

TEST(Scoreboard, OneDeviceHasNoDataParallelCosts) {
  const Net net = *net_named("resnet50");
  EXPECT_EQ(step_time(setting(net, Sharing::dp, 1), {}).total(), 0.1);
  // DDP's hooks are there on one device, too.
  EXPECT_NEAR(step_time(setting(net, Sharing::ddp, 1), {}).total(), 0.1 + 161 * 23e-6,
              1e-9);
}

TEST(Scoreboard, AFitFindsTheFactorsAgain) {
  CostFactors truth{};
  truth[static_cast<size_t>(Cost::host)] = std::log(2.5);
  truth[static_cast<size_t>(Cost::link)] = std::log(0.5);
  const Net r18 = *net_named("resnet18"), r50 = *net_named("resnet50"),
            vgg = *net_named("vgg16");
  std::vector<Observation> seen;
  for (const Net* net : {&r18, &r50, &vgg}) {
    for (const int devices : {2, 3, 4, 8}) {
      const StepSetting s = setting(*net, Sharing::dp, devices, 0.03);
      seen.push_back({s, step_time(s, truth).total(), 0.001});
    }
  }
  const CostFit fit = fit_costs(seen);
  for (const Cost cost : {Cost::host, Cost::link}) {
    const auto i = static_cast<size_t>(cost);
    EXPECT_NEAR(fit.factors[i], truth[i], 0.06) << cost_priors()[i].name;
  }
  // Without rows, the priors; a factor that no row depends on stays as it was.
  EXPECT_EQ(fit_costs({}).factors, CostFactors{});
  EXPECT_NEAR(fit.covariance[2][2], std::pow(cost_priors()[2].machine, 2), 1e-9);
}

/// Normal numbers for made rows, from a sum of twelve uniform ones.
class MadeNormal {
 public:
  double next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<double>(state_ >> 40) / (1 << 24);
    }
    return sum;
  }

 private:
  uint64_t state_ = 7;
};

TEST(Scoreboard, NineOfTenMadeRowsLieInTheirIntervals) {
  const Net r34 = *net_named("resnet34"), r50 = *net_named("resnet50");
  MadeNormal normal;
  int covered = 0;
  constexpr int kMachines = 200;
  for (int machine = 0; machine < kMachines; ++machine) {
    CostFactors factors{};
    for (size_t i = 0; i < kCosts; ++i) {
      factors[i] = cost_priors()[i].machine * normal.next();
    }
    const auto measured = [&](const StepSetting& s) {
      CostFactors own = factors;
      for (size_t i = 0; i < kCosts; ++i) {
        own[i] += cost_priors()[i].transfer * normal.next();
      }
      return step_time(s, own).total() * std::exp(0.01 * normal.next());
    };
    const StepSetting known = setting(r34, Sharing::dp, 4, 0.03);
    const StepSetting asked = setting(r50, Sharing::dp, 3, 0.05);
    const CostFit fit = fit_costs({{known, measured(known), 0.01}});
    const TimeInterval time = predict_time(asked, fit, 0.01);
    const double truth = measured(asked);
    covered += time.low <= truth && truth <= time.high;
  }
  EXPECT_GE(covered, kMachines * 0.85);
  EXPECT_LE(covered, kMachines * 0.96);
}

/// A machine whose factors are known: four models on 1 to 4 devices.
std::string made_family(double host, double link, const std::string& changed = "",
                        double factor = 1) {
  CostFactors factors{};
  factors[static_cast<size_t>(Cost::host)] = std::log(host);
  factors[static_cast<size_t>(Cost::link)] = std::log(link);
  std::string text;
  for (const auto& [name, alone] : {std::pair{"resnet18", 0.02},
                                    {"resnet34", 0.03},
                                    {"resnet50", 0.05},
                                    {"vgg16", 0.08}}) {
    const Net net = *net_named(name);
    text += row_text(name, "single", 1, alone, "validate-dp");
    for (const int devices : {2, 3, 4}) {
      const double seconds =
          step_time(setting(net, Sharing::dp, devices, alone), factors).total();
      text += row_text(name, "dp", devices,
                       name == changed ? seconds * factor : seconds, "validate-dp");
    }
  }
  return text;
}

TEST(Scoreboard, AMadeFamilyIsPredictedFromOneRowOfAnotherModel) {
  const Scoreboard board = board_of(made_family(2, 1));
  ASSERT_EQ(board.predictions.size(), 12u);
  for (const RowPrediction& p : board.predictions) {
    EXPECT_LT(std::abs(p.error()), 0.1) << p.row->line;
    EXPECT_TRUE(p.covered()) << p.row->line;
    const PublishedRow& fitted = board.rows[static_cast<size_t>(p.fit_line) - 2];
    EXPECT_NE(fitted.model, p.row->model);
    EXPECT_EQ(fitted.devices, 4);
  }
}

TEST(Scoreboard, NoPredictionKnowsItsOwnRow) {
  const Scoreboard before = board_of(made_family(2, 1));
  const Scoreboard after = board_of(made_family(2, 1, "resnet50", 3));
  int same = 0;
  for (size_t i = 0; i < before.predictions.size(); ++i) {
    const RowPrediction &a = before.predictions[i], &b = after.predictions[i];
    EXPECT_EQ(a.fit_line, b.fit_line) << "the choice depends on values";
    if (a.row->model != "resnet50") continue;
    EXPECT_EQ(a.predicted, b.predicted);
    EXPECT_EQ(a.low, b.low);
    ++same;
  }
  EXPECT_EQ(same, 3);
}

TEST(Scoreboard, AnomaliesAreNotFitted) {
  std::string rows = made_family(2, 1);
  const Scoreboard before = board_of(rows);
  const int fitted = before.predictions[0].fit_line;
  const std::string wanted = "resnet34,pytorch,dp,V100,PCIe gen3,4";
  const size_t at = rows.find(wanted);
  ASSERT_NE(at, std::string::npos);
  rows.replace(rows.find("role=validate-dp", at), 16, "role=validate-dp; ANOMALY");
  const Scoreboard after = board_of(rows);
  EXPECT_EQ(before.rows[static_cast<size_t>(fitted) - 2].model, "resnet34");
  EXPECT_NE(after.predictions[0].fit_line, fitted);
  EXPECT_EQ(score_of({&after.predictions[5]}).anomalies, 1);
  EXPECT_EQ(score_of({&after.predictions[5]}).predicted, 0);
}

TEST(Scoreboard, NegativeScalingHasASign) {
  // Without peer-to-peer, two devices are slower than one on VGG16.
  const std::string rows =
      row_text("vgg16", "single", 1, 0.02, "validate-allreduce") +
      row_text("vgg16", "replicated-nccl", 2, 0.08, "validate-allreduce");
  Scoreboard board = board_of(rows);
  ASSERT_EQ(board.predictions.size(), 1u);
  Signs signs = signs_of({&board.predictions[0]});
  EXPECT_EQ(signs.steps, 1);
  EXPECT_EQ(signs.negative, 1);
  EXPECT_EQ(signs.wrong, 0);
  board.predictions[0].seconds = 0.03;  // 1.3 times as fast
  EXPECT_EQ(signs_of({&board.predictions[0]}).wrong_lines, std::vector<int>{3});
}

TEST(Scoreboard, NothingIsExtrapolated) {
  const std::string one = row_text("resnet50", "single", 1, 0.1, "validate-ddp");
  std::string two = row_text("resnet50", "ddp", 2, 0.1, "validate-ddp");
  two.replace(two.find(",64,"), 4, ",128,");
  const Scoreboard board = board_of(one + two);
  EXPECT_EQ(board.predictions[0].why_not,
            "one device was not measured at batch 64, nor above and below");
  EXPECT_EQ(reasons_not_predicted(board).size(), 1u);
  const std::string csv = scoreboard_csv(board);
  const CsvTable table = parse_csv(csv, "out.csv");
  ASSERT_EQ(table.lines.size(), 1u);
  EXPECT_EQ(table.lines[0].fields[table.column("note")], board.predictions[0].why_not);
}

TEST(Scoreboard, PrintedDigitsAreTheColumns) {
  const Scoreboard board = board_of(
      "lab "
      "x,resnet50,pytorch,single,V100,,1,32,fp32,sec_per_iter,0.1,role=validate-ddp,r"
      "\nlab "
      "x,resnet50,pytorch,ddp,V100,,2,64,fp32,sec_per_iter,0.103,role=validate-ddp,"
      "r\n");
  EXPECT_NEAR(board.rows[0].resolution(), 0.0005, 1e-12);
}

}  // namespace
}  // namespace lockstep::tracer
