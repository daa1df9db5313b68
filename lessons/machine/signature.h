// Hashes and signatures of graded results, computed by OpenSSL's libcrypto.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::lessons {

/// Returns the SHA-256 of `bytes` in hexadecimal.
std::string sha256(std::string_view bytes);

/// An Ed25519 key.
class Key {
 public:
  /// Reads a private or a public key in PEM. Throws std::runtime_error naming the file
  /// and the fix.
  static Key read(const std::filesystem::path& file);

  /// Returns the first 16 hexadecimal digits of the SHA-256 of the public key.
  std::string name() const;
  bool can_sign() const;

  /// Returns the signature in hexadecimal. The key must be able to sign.
  std::string sign(std::string_view text) const;
  bool verifies(std::string_view text, const std::string& signature) const;

 private:
  std::shared_ptr<void> key_;  ///< an EVP_PKEY
};

}  // namespace lockstep::lessons
