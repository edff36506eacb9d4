// SPDX-License-Identifier: BSL-1.0
// A signature that matches everything is no evidence of a denial.
// expect: cordon: a blank denial signature would match every text

#include <cordon/dialect.hpp>

#ifdef CORDON_BREAK
using Signatures = cordon::DenialSignatures<"read-only file system", " ">;
#else
using Signatures = cordon::DenialSignatures<"read-only file system">;
#endif
inline const cordon::DialectView view = cordon::Dialect<Signatures>::view();
