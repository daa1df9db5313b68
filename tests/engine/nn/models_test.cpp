// The models match torchvision's: names, shapes, counts and initial values.
#include "engine/models/vgg.h"
#include "tests/engine/values.h"

namespace lockstep {
namespace {

using test::Json;

nn::ModulePtr make(const std::string& arch, int64_t classes, models::Stem stem,
                   bool fill = false) {
  nn::Construction construction;
  construction.fill = fill;
  construction.skeleton = !fill;  // shapes require no memory
  construction.seed = 1;
  nn::ConstructionScope scope(construction);
  models::ZooOptions options;
  options.classes = classes;
  options.stem = stem;
  return models::make(arch, options);
}

int64_t count(const std::vector<nn::Named<Tensor>>& tensors) {
  int64_t n = 0;
  for (const auto& [name, tensor] : tensors) n += tensor.numel();
  return n;
}

TEST(Models, NamesShapesAndCountsAreTorchvisions) {
  const Json golden = test::read_golden("init.json");
  for (const auto& [arch, table] : golden["models"].items()) {
    SCOPED_TRACE(arch);
    const nn::ModulePtr model = make(arch, golden["classes"], models::Stem::imagenet);
    const auto parameters = model->named_parameters(), buffers = model->named_buffers();
    EXPECT_EQ(count(parameters), table["parameters"]);
    EXPECT_EQ(parameters.size(), table["parameter_tensors"]);
    EXPECT_EQ(count(buffers), table["buffers"]);
    size_t p = 0,
           b = 0;  // the state_dict lists a module's parameters, then its buffers
    for (const Json& row : table["state_dict"]) {
      const bool is_parameter = row[2] == "parameter";
      const auto& list = is_parameter ? parameters : buffers;
      size_t& next = is_parameter ? p : b;
      ASSERT_LT(next, list.size());
      EXPECT_EQ(list[next].name, row[0].get<std::string>());
      EXPECT_EQ(list[next].value.sizes(), Shape(row[1].get<std::vector<int64_t>>()))
          << row[0];
      ++next;
    }
    EXPECT_EQ(p, parameters.size());
    EXPECT_EQ(b, buffers.size());
  }
}

// torchvision publishes them (`num_params`); the names and shapes of its checkpoints
// are compared in tests/e2e/torch_training_test.py.
TEST(Models, CountsOfDeepNetsArePublished) {
  for (const auto& [arch, parameters] :
       {std::pair{"resnet101", 44549160}, {"resnet152", 60192808}}) {
    EXPECT_EQ(count(make(arch, 1000, models::Stem::imagenet)->named_parameters()),
              parameters);
  }
}

TEST(Models, CountsForCifar10) {
  for (const auto& [arch, parameters] : {std::pair{"resnet18", 11173962},
                                         {"resnet20", 272474},
                                         {"resnet34", 21282122},
                                         {"resnet50", 23520842}}) {
    EXPECT_EQ(count(make(arch, 10, models::Stem::cifar)->named_parameters()),
              parameters)
        << arch;
  }
  EXPECT_EQ(count(make("toy", 10, models::Stem::cifar)->named_parameters()), 12);
}

TEST(Models, UnknownNamesAreListed) {
  EXPECT_EQ(test::message_of([] { models::make("densenet", {}); }),
            "unknown architecture 'densenet'; available: alexnet, resnet18, resnet20, "
            "resnet34, resnet50, resnet101, resnet152, vgg16, vgg16_bn, vgg16_legacy, "
            "toy, sparse");
  EXPECT_THROW(models::make("", {}), std::invalid_argument);
}

/// Compares mean and standard deviation with torchvision's initial distribution, within
/// five standard errors of the two samples.
void expect_law(const Json& row, const Tensor& tensor) {
  const std::vector<double> v = test::values_of(tensor);
  const double n = static_cast<double>(v.size());
  double sum = 0, squares = 0, largest = 0;
  for (double x : v) sum += x;
  for (double x : v) squares += (x - sum / n) * (x - sum / n);
  for (double x : v) largest = std::max(largest, std::abs(x));
  const std::string name = row[0], law = row[3];
  const double mean = row[4], std = row[5];
  if (law == "constant") {
    EXPECT_EQ(v.front(), mean) << name;
    EXPECT_EQ(squares, 0) << name;
    return;
  }
  const double error = std / std::sqrt(n);
  EXPECT_NEAR(sum / n, mean, 5 * 1.3 * error) << name;
  if (n < 100) return;
  EXPECT_NEAR(std::sqrt(squares / n), std, 5 * 0.9 * error) << name;
  if (law == "uniform") {
    // The golden standard deviation is itself one of a sample.
    EXPECT_LE(largest, (1.02 + 1 / std::sqrt(n)) * std::sqrt(3) * std) << name;
  } else {
    EXPECT_GE(largest, 2.4 * std) << name << " lacks the tails of a normal law";
  }
}

TEST(Models, InitialValuesFollowTorchvisionsLaws) {
  const Json golden = test::read_golden("init.json");
  for (const char* arch : {"resnet18", "resnet50"}) {
    SCOPED_TRACE(arch);
    const auto model = make(arch, golden["classes"], models::Stem::imagenet, true);
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, tensor] : model->named_parameters()) tensors[name] = tensor;
    for (const auto& [name, tensor] : model->named_buffers()) tensors[name] = tensor;
    for (const Json& row : golden["models"][arch]["state_dict"]) {
      expect_law(row, tensors.at(row[0]));
    }
  }
}

// AlexNet and VGG have most values in their first linear layers. Checks the
// features, and the distribution of the two small linear layers of the head.
TEST(LargeModels, InitialValuesOfAlexNetAndVgg) {
  const Json golden = test::read_golden("init.json");
  for (const char* arch : {"alexnet", "vgg16"}) {
    SCOPED_TRACE(arch);
    const auto model = make(arch, golden["classes"], models::Stem::imagenet, true);
    const auto parameters = model->named_parameters();
    const Json& rows = golden["models"][arch]["state_dict"];
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].value.numel() >= 5000000) continue;
      expect_law(rows[i], parameters[i].value);
    }
  }
}

TEST(Models, TheSeedDecides) {
  auto first_weight = [](uint64_t seed) {
    nn::Construction construction;
    construction.seed = seed;
    nn::ConstructionScope scope(construction);
    return test::values_of(nn::Linear(5, 2).parameters()[0]);
  };
  EXPECT_EQ(first_weight(1), first_weight(1));
  EXPECT_NE(first_weight(1), first_weight(2));
  const auto model = make("resnet18", 10, models::Stem::cifar, true);
  const auto p = model->named_parameters();
  EXPECT_NE(test::values_of(p[3].value), test::values_of(p[6].value))
      << p[3].name << " and " << p[6].name << " use different random streams";
}

TEST(Models, LegacyVggSaysWhyItFails) {
  const auto model = make("vgg16_legacy", 10, models::Stem::cifar);
  const Device null{DeviceType::null, 0};
  for (Tensor& tensor : model->parameters()) {
    tensor.set_data(Tensor::empty(tensor.spec(), null));
  }
  const Tensor small = Tensor::empty({2, 3, 32, 32}, null);
  const std::string message = test::message_of([&] { (*model)(small); });
  for (const char* part :
       {"mat1 and mat2 shapes cannot be multiplied (2x512 and 25088x4096)",
        "size mismatch, m1: [2 x 512], m2: [25088 x 4096]", "classifier.0"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_NE(message.find("use -a vgg16"), std::string::npos);
  const Tensor large = Tensor::empty({2, 3, 224, 224}, null);
  EXPECT_EQ((*model)(large).sizes(), (Shape{2, 10}));
  // The pictures do not explain another layer's error.
  Tensors parameters = model->parameters();
  parameters[parameters.size() - 2].set_data(Tensor::empty({10, 7}, null));
  const std::string other = test::message_of([&] { (*model)(large); });
  EXPECT_NE(other.find("(2x4096 and 7x10)"), std::string::npos) << other;
  EXPECT_EQ(other.find("use -a vgg16"), std::string::npos) << other;
}

TEST(Models, AlexNetNeedsImagesOf63Pixels) {
  const auto model = make("alexnet", 10, models::Stem::imagenet);
  const Device null{DeviceType::null, 0};
  for (Tensor& t : model->parameters()) t.set_data(Tensor::empty(t.spec(), null));
  EXPECT_EQ(test::message_of([&] { (*model)(Tensor::empty({1, 3, 62, 62}, null)); }),
            "Given input size: (256x2x2). Calculated output size: (256x0x0). Output "
            "size is too small");
}

TEST(Models, OutputShapesOnTheNullDevice) {
  const Device null{DeviceType::null, 0};
  for (const auto& [arch, stem, size] :
       {std::tuple{"resnet18", models::Stem::cifar, 32},
        {"resnet20", models::Stem::cifar, 32},
        {"resnet34", models::Stem::imagenet, 224},
        {"resnet50", models::Stem::imagenet, 224},
        {"alexnet", models::Stem::imagenet, models::AlexNet::kSmallestImage},
        {"vgg16_bn", models::Stem::imagenet, 32}}) {
    const auto model = make(arch, 10, stem);
    for (Tensor& t : model->parameters()) t.set_data(Tensor::empty(t.spec(), null));
    for (Tensor& t : model->buffers()) t.set_data(Tensor::empty(t.spec(), null));
    const Tensor y = (*model)(Tensor::empty({3, 3, size, size}, null));
    EXPECT_EQ(y.sizes(), (Shape{3, 10})) << arch;
  }
}

}  // namespace
}  // namespace lockstep
