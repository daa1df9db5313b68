#include "base/crypto.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <stdexcept>

namespace lockstep {
namespace {

constexpr size_t kHashBytes = 32;

const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* unsigned_bytes(std::string& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

void check(bool worked, const char* call) {
  if (!worked) throw std::runtime_error(fmt::format("{} of libcrypto failed", call));
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string hash(kHashBytes, '\0');
  check(EVP_Digest(bytes.data(), bytes.size(), unsigned_bytes(hash), nullptr,
                   EVP_sha256(), nullptr) == 1,
        "EVP_Digest");
  return hash;
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::string code(kHashBytes, '\0');
  check(HMAC(EVP_sha256(), std::string(key).data(), static_cast<int>(key.size()),
             unsigned_bytes(message), message.size(), unsigned_bytes(code),
             nullptr) != nullptr,
        "HMAC");
  return code;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  check(RAND_bytes(unsigned_bytes(bytes), static_cast<int>(count)) == 1, "RAND_bytes");
  return bytes;
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += fmt::format("{:02x}", unsigned_bytes(bytes)[i]);
  }
  return text;
}

}  // namespace lockstep
