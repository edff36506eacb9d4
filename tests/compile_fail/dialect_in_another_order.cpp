// SPDX-License-Identifier: BSL-1.0
// Rules about the runner are tried before denials, wherever they are written: there is one order.
// expect: cordon: write Dialect<DenialSignatures

#include <cordon/dialect.hpp>

using namespace cordon;
using Rule = RunnerFailureRule<ExitCodes<125>, Fatal<"jail: ">>;
#ifdef CORDON_BREAK
using Mine = Dialect<Rule, DenialSignatures<"read-only file system">>;
#else
using Mine = Dialect<DenialSignatures<"read-only file system">, Rule>;
#endif
inline const DialectView view = Mine::view();
