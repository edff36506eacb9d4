// SPDX-License-Identifier: BSL-1.0
#pragma once

// The hash that chains the records of a log. Comes on a target of its own, cordon::sha256, with CORDON_WITH_LIBCRYPTO.

#include <openssl/evp.h>

#include <cordon/detail/hex.hpp>
#include <cordon/error.hpp>
#include <string>
#include <string_view>

namespace cordon {

/// SHA-256 in lower case hexadecimal digits, for JsonlOptions::chain. Thread-safe.
[[nodiscard]] inline std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1)
    throw LogError(ErrorCode::log_failed, "libcrypto refuses SHA-256; see its configuration");
  std::string hex;
  for (unsigned int i = 0; i != size; ++i) detail::append_hex(hex, digest[i]);
  return hex;
}

}  // namespace cordon
