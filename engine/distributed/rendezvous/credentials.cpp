#include "engine/distributed/rendezvous/credentials.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/crypto.h"
#include "engine/distributed/rendezvous/frame.h"

namespace lockstep::distributed {
namespace {

constexpr size_t kSecretBytes = 32;

std::string secret_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream read;
  read << file.rdbuf();  // a directory sets badbit
  std::string text = read.str();
  if (!file || read.bad()) {
    throw std::runtime_error(fmt::format(
        "{}: cannot be read: {}; fix: let {} name a file with the job's secret", path,
        std::strerror(errno), kSecretFileVariable));
  }
  const size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == text.npos ? 0 : end + 1);
  if (!text.empty()) return text;
  throw std::runtime_error(fmt::format(
      "{}: is empty; fix: write the job's secret to it (openssl rand -hex 32 "
      "> {})",
      path, path));
}

}  // namespace

Credentials read_credentials(const std::map<std::string, std::string>& variables) {
  const auto text = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  Credentials read{text(kRunIdVariable), text(kSecretVariable)};
  const std::string torch = text("TORCHELASTIC_RUN_ID"), step = text("SLURM_STEP_ID");
  if (read.run_id.empty() && torch != "none") read.run_id = torch;
  // Ranks that torchrun, `launch` or mpirun starts inherit the step of their launcher,
  // and that may be another one on each node.
  const bool are_tasks_of_srun =
      !step.empty() && torch.empty() && text("OMPI_COMM_WORLD_RANK").empty();
  if (read.run_id.empty() && are_tasks_of_srun) {
    read.run_id = text("SLURM_JOB_ID") + "." + step;
  }
  const std::string file = text(kSecretFileVariable);
  if (!file.empty() && !read.secret.empty()) {
    throw std::runtime_error(
        fmt::format("{} and {} are both set; fix: unset one of them", kSecretVariable,
                    kSecretFileVariable));
  }
  if (!file.empty()) read.secret = secret_in(file);
  return read;
}

std::string draw_secret() { return hexadecimal(random_bytes(kSecretBytes)); }

namespace store {
namespace {

/// The name of the side keeps one side's proof from being sent back as the other's.
std::string proof(std::string_view side, const Nonces& nonces,
                  const std::string& secret, std::string_view run_id) {
  return hmac_sha256(
      secret, fmt::format("lockstep {} {} {} {}", side, hexadecimal(nonces.client),
                          hexadecimal(nonces.server), run_id));
}

}  // namespace

std::string client_proof(const Nonces& nonces, const Credentials& own) {
  return proof("client", nonces, own.secret, own.run_id);
}

std::string server_proof(const Nonces& nonces, const Credentials& own,
                         std::string_view run_id) {
  return proof("server", nonces, own.secret, run_id);
}

std::optional<std::string> objection(const Claim& claim, const Nonces& nonces,
                                     const Credentials& server,
                                     std::string_view whose) {
  const Credentials expected{claim.run_id, server.secret};
  if (!equal_in_constant_time(claim.proof, client_proof(nonces, expected))) {
    const std::string fix =
        fmt::format("fix: set {} or {} to the same secret for all ranks",
                    kSecretVariable, kSecretFileVariable);
    if (!claim.has_secret && server.secret.empty()) {
      return fmt::format("{} is of another version; fix: start one program", whose);
    }
    if (!claim.has_secret) {
      return fmt::format("{} has no secret, but rank 0 has one; {}", whose, fix);
    }
    if (server.secret.empty()) {
      return fmt::format("{} has a secret, but rank 0 has none; {}", whose, fix);
    }
    return fmt::format(
        "{} has another secret than rank 0; {}, or another port for each job", whose,
        fix);
  }
  const bool known = !claim.run_id.empty() && !server.run_id.empty();
  if (!known || claim.run_id == server.run_id) return std::nullopt;
  return fmt::format(
      "{} belongs to run \"{}\", but rank 0 to run \"{}\"; fix: use another port for "
      "each job, or set {} to the same value for all ranks of this one",
      whose, shown(claim.run_id), shown(server.run_id), kRunIdVariable);
}

}  // namespace store

}  // namespace lockstep::distributed
