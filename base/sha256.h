// SHA-256 and what is built on it: message authentication codes, for proofs that two
// processes know the same secret.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Returns the 32 bytes of the SHA-256 of `bytes`. Source: FIPS 180-4.
std::string sha256(std::string_view bytes);

/// Returns the 32 bytes of HMAC-SHA-256. Only who knows `key` can compute them. They do
/// not reveal a random key; one that can be guessed can be found by trying. Source: RFC
/// 2104.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// Returns whether the two are equal. How long it takes depends on their lengths only,
/// so that a secret cannot be guessed byte by byte.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// Returns bytes that nobody can predict. Throws std::system_error if there are none.
std::string random_bytes(size_t count);

/// Returns two lower-case digits for each byte.
std::string hexadecimal(std::string_view bytes);

}  // namespace lockstep
