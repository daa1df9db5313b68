#include "run/words.h"

namespace lockstep::run {

template <>
const Words<DataKind>& words<DataKind>() {
  static const Words<DataKind> all{{"cifar10", DataKind::cifar10},
                                   {"imagefolder", DataKind::image_folder},
                                   {"random", DataKind::random},
                                   {"generated", DataKind::generated},
                                   {"sparse", DataKind::sparse}};
  return all;
}

template <>
const Words<OnBadImage>& words<OnBadImage>() {
  static const Words<OnBadImage> all{{"error", OnBadImage::error},
                                     {"skip", OnBadImage::skip}};
  return all;
}

template <>
const Words<InputOn>& words<InputOn>() {
  static const Words<InputOn> all{{"host", InputOn::host},
                                  {"device0", InputOn::device0}};
  return all;
}

template <>
const Words<DistBackend>& words<DistBackend>() {
  static const Words<DistBackend> all{{"ring", DistBackend::ring},
                                      {"gloo", DistBackend::gloo},
                                      {"mpi", DistBackend::mpi},
                                      {"nccl", DistBackend::nccl}};
  return all;
}

template <>
const Words<DdpSync>& words<DdpSync>() {
  static const Words<DdpSync> all{{"reducer", DdpSync::reducer},
                                  {"naive", DdpSync::naive},
                                  {"bucketed", DdpSync::bucketed}};
  return all;
}

template <>
const Words<train::Mode>& words<train::Mode>() {
  static const Words<train::Mode> all{{"single", train::Mode::single},
                                      {"dp", train::Mode::dp},
                                      {"dp-features", train::Mode::dp_features},
                                      {"dp-criterion", train::Mode::dp_criterion},
                                      {"ddp", train::Mode::ddp},
                                      {"local-sgd", train::Mode::local_sgd},
                                      {"hogwild", train::Mode::hogwild},
                                      {"locked", train::Mode::locked},
                                      {"ps", train::Mode::ps},
                                      {"model-parallel", train::Mode::model_parallel},
                                      {"hybrid", train::Mode::hybrid}};
  return all;
}

template <>
const Words<sharing::Consistency>& words<sharing::Consistency>() {
  using sharing::Consistency;
  static const Words<Consistency> all{{"sync", Consistency::sync},
                                      {"async", Consistency::async},
                                      {"ssp", Consistency::ssp}};
  return all;
}

template <>
const Words<PipelineKind>& words<PipelineKind>() {
  static const Words<PipelineKind> all{{"naive", PipelineKind::naive},
                                       {"gpipe", PipelineKind::gpipe},
                                       {"1f1b", PipelineKind::one_f_one_b},
                                       {"1f1b-eager", PipelineKind::eager_one_f_one_b},
                                       {"interleaved", PipelineKind::interleaved}};
  return all;
}

template <>
const Words<DeviceType>& words<DeviceType>() {
  static const Words<DeviceType> all{{"cpu", DeviceType::cpu},
                                     {"cuda", DeviceType::cuda},
                                     {"reference", DeviceType::reference},
                                     {"null", DeviceType::null},
                                     {"emulated", DeviceType::emulated}};
  return all;
}

template <>
const Words<DType>& words<DType>() {
  static const Words<DType> all{{"float32", DType::f32}, {"float64", DType::f64}};
  return all;
}

template <>
const Words<ConvAlgorithm>& words<ConvAlgorithm>() {
  static const Words<ConvAlgorithm> all{{"auto", ConvAlgorithm::automatic},
                                        {"direct", ConvAlgorithm::direct},
                                        {"winograd", ConvAlgorithm::winograd}};
  return all;
}

template <>
const Words<models::Stem>& words<models::Stem>() {
  static const Words<models::Stem> all{{"cifar", models::Stem::cifar},
                                       {"imagenet", models::Stem::imagenet}};
  return all;
}

template <>
const Words<optim::Schedule::Kind>& words<optim::Schedule::Kind>() {
  using Kind = optim::Schedule::Kind;
  static const Words<Kind> all{{"step", Kind::step},
                               {"multi-step", Kind::multi_step},
                               {"cosine", Kind::cosine},
                               {"one-cycle", Kind::one_cycle}};
  return all;
}

template <>
const Words<OptimizerKind>& words<OptimizerKind>() {
  static const Words<OptimizerKind> all{{"sgd", OptimizerKind::sgd},
                                        {"adam", OptimizerKind::adam},
                                        {"adamw", OptimizerKind::adamw},
                                        {"rmsprop", OptimizerKind::rmsprop}};
  return all;
}

template <>
const Words<plan::BucketRule>& words<plan::BucketRule>() {
  static const Words<plan::BucketRule> all{{"current", plan::BucketRule::current},
                                           {"1.11", plan::BucketRule::torch_1_11}};
  return all;
}

template <>
const Words<sharing::UpdateBy>& words<sharing::UpdateBy>() {
  using sharing::UpdateBy;
  static const Words<UpdateBy> all{{"store", UpdateBy::store},
                                   {"fetch-add", UpdateBy::fetch_add}};
  return all;
}

template <>
const Words<sharing::LockFor>& words<sharing::LockFor>() {
  using sharing::LockFor;
  static const Words<LockFor> all{{"step", LockFor::step}, {"update", LockFor::update}};
  return all;
}

template <>
const Words<Partition>& words<Partition>() {
  static const Words<Partition> all{{"own", Partition::own}, {"all", Partition::all}};
  return all;
}

}  // namespace lockstep::run
