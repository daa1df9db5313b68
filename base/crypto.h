// Hashes, message authentication codes and random bytes, by OpenSSL's libcrypto.
// Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Returns the 32 bytes of the SHA-256 of `bytes`.
std::string sha256(std::string_view bytes);

/// Returns the 32 bytes of HMAC-SHA-256, which can be computed only with `key`. They do
/// not reveal a random key, but a guess can be checked against them.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// Returns whether the two are equal, in a time that depends only on their lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// Returns unpredictable bytes. Throws std::runtime_error if there are none.
std::string random_bytes(size_t count);

/// Returns two lower-case digits for each byte.
std::string hexadecimal(std::string_view bytes);

}  // namespace lockstep
