#include "lessons/machine/signature.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <stdexcept>

#include "base/crypto.h"

namespace lockstep::lessons {

namespace {

constexpr size_t kPublic = 32, kSignature = 64;  // bytes in Ed25519

using Bytes = std::basic_string<unsigned char>;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using Context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

/// Returns the bytes; none if `text` is not hexadecimal.
Bytes from_hexadecimal(const std::string& text) {
  if (text.size() % 2 || text.find_first_not_of("0123456789abcdef") != text.npos) {
    return {};
  }
  Bytes bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<unsigned char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Context new_context() { return {EVP_MD_CTX_new(), EVP_MD_CTX_free}; }

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

EVP_PKEY* evp(const std::shared_ptr<void>& key) {
  return static_cast<EVP_PKEY*>(key.get());
}

/// OpenSSL asks for a passphrase on the terminal unless it is given a callback.
int no_passphrase(char*, int, int, void*) { return -1; }

EVP_PKEY* read_key(const std::filesystem::path& path, bool is_private) {
  const File file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) {
    throw std::runtime_error(path.string() +
                             ": cannot be read; fix: name a file with "
                             "an Ed25519 key");
  }
  const auto read = is_private ? PEM_read_PrivateKey : PEM_read_PUBKEY;
  return read(file.get(), nullptr, no_passphrase, nullptr);
}

}  // namespace

std::string sha256(std::string_view bytes) {
  return hexadecimal(lockstep::sha256(bytes));
}

Key Key::read(const std::filesystem::path& file) {
  EVP_PKEY* found = read_key(file, /*is_private=*/true);
  if (!found) found = read_key(file, /*is_private=*/false);
  Key key;
  key.key_ = std::shared_ptr<void>(
      found, [](void* one) { EVP_PKEY_free(static_cast<EVP_PKEY*>(one)); });
  if (!found || EVP_PKEY_id(found) != EVP_PKEY_ED25519) {
    throw std::runtime_error(
        fmt::format("{} contains no Ed25519 key; fix: openssl "
                    "genpkey -algorithm ed25519 -out KEY.pem",
                    file.string()));
  }
  return key;
}

std::string Key::name() const {
  unsigned char raw[kPublic];
  size_t size = sizeof raw;
  EVP_PKEY_get_raw_public_key(evp(key_), raw, &size);
  return sha256({reinterpret_cast<const char*>(raw), size}).substr(0, 16);
}

bool Key::can_sign() const {
  size_t size = 0;
  return EVP_PKEY_get_raw_private_key(evp(key_), nullptr, &size) == 1;
}

std::string Key::sign(std::string_view text) const {
  const Context context = new_context();
  unsigned char signature[kSignature];
  size_t size = sizeof signature;
  const bool done =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, evp(key_)) == 1 &&
      EVP_DigestSign(context.get(), signature, &size, bytes_of(text), text.size()) == 1;
  if (!done) throw std::runtime_error("the result could not be signed");
  return hexadecimal({reinterpret_cast<const char*>(signature), size});
}

bool Key::verifies(std::string_view text, const std::string& signature) const {
  const Context context = new_context();
  const Bytes bytes = from_hexadecimal(signature);
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, evp(key_)) ==
             1 &&
         EVP_DigestVerify(context.get(), bytes.data(), bytes.size(), bytes_of(text),
                          text.size()) == 1;
}

}  // namespace lockstep::lessons
