// What a process must know to take part in a job: a run id and a secret.
//
// A connection to a store begins with a handshake:
//
//   client → server   hello: the client's nonce
//   server → client   the server's nonce
//   client → server   prove: run id, whether it has a secret, its HMAC
//   server → client   the server's HMAC, or `refused` with the reason
//
// Each HMAC is of both nonces and the run id, with the secret as its key: the secret
// itself is never sent, a recorded handshake cannot be replayed, and each side knows
// that the other one has the secret. What follows is neither encrypted nor signed.
// Without a secret, the HMACs show only that the other side is a store of this program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::distributed {

struct Credentials {
  std::string run_id;  ///< of the job; "": not known, and not compared
  std::string secret;  ///< "": none. Never printed
};

/// Environment variables.
inline constexpr const char* kRunIdVariable = "LOCKSTEP_RUN_ID";
inline constexpr const char* kSecretVariable = "LOCKSTEP_SECRET";
inline constexpr const char* kSecretFileVariable = "LOCKSTEP_SECRET_FILE";

/// Returns the credentials that the environment's variables name. The run id is that of
/// LOCKSTEP_RUN_ID, of torchrun, or of the Slurm step. Throws std::runtime_error with
/// the fix if both variables of the secret are set, or if its file cannot be read or is
/// empty.
Credentials read_credentials(const std::map<std::string, std::string>& variables);

/// Returns a secret that nobody can guess, for the ranks that one process starts.
std::string draw_secret();

namespace store {

/// Nonces have this many bytes.
inline constexpr size_t kNonceBytes = 16;

/// The random numbers of one handshake.
struct Nonces {
  std::string client, server;
};

std::string client_proof(const Nonces& nonces, const Credentials& own);
std::string server_proof(const Nonces& nonces, const Credentials& own,
                         std::string_view run_id);

/// What a client claims in `prove`.
struct Claim {
  std::string run_id, proof;
  bool has_secret = false;
};

/// Returns why the server does not believe the client, for either side, with the fix;
/// nullopt if it does. `whose`: "this rank" in the answer, "it" for rank 0 itself.
std::optional<std::string> objection(const Claim& claim, const Nonces& nonces,
                                     const Credentials& server, std::string_view whose);

}  // namespace store

}  // namespace lockstep::distributed
