// SPDX-License-Identifier: BSL-1.0
// A runner that ended with 0 did not fail.
// expect: cordon: an exit code that tells of a failure is 1 to 255

#include <cordon/dialect.hpp>

using namespace cordon;
#ifdef CORDON_BREAK
using Codes = ExitCodes<0>;
#else
using Codes = ExitCodes<1>;
#endif
inline const DialectView view = Dialect<DenialSignatures<>, RunnerFailureRule<Codes, Fatal<"jail: ">>>::view();
