// SPDX-License-Identifier: BSL-1.0
// An exit code alone never says that the runner failed.
// expect: cordon: a runner failure rule without a fatal signature would take an exit code for evidence

#include <cordon/dialect.hpp>

using namespace cordon;
#ifdef CORDON_BREAK
using Rule = RunnerFailureRule<ExitCodes<125>, Fatal<>>;
#else
using Rule = RunnerFailureRule<ExitCodes<125>, Fatal<"jail: ">>;
#endif
inline const DialectView view = Dialect<DenialSignatures<>, Rule>::view();
