// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/in_process.hpp>

namespace cordon {

/// Confines by Landlock rules that the child puts on itself. Needs Linux 5.13 with Landlock switched on; no namespaces.
///
/// Alone it is always partial: no ABI governs `metadata` (chmod, chown, utimes, setxattr outside the roots succeed);
/// before ABI 3 `truncate` is missing, before ABI 5 `device` (ioctl on a device that was opened for reading). On ABI 1
/// every rename and link across directories is refused, also inside the workspace. It has no private temp directory:
/// under workspace-write it grants the host's /tmp, /dev/shm and $TMPDIR and reports them as `shared_temp`; under
/// read-only there is none. It can't make a path read-only inside a writable root, and refuses such a policy.
///
/// Where the ABI has scopes (6), signals to and abstract sockets of processes outside are refused too. Not governed:
/// pathname sockets, hard links made before the run.
class Landlock : public in_process::Confiner<in_process::Layers{.mounts = false, .landlock = true}> {
 public:
  using Confiner::Confiner;
  static constexpr std::string_view name = "landlock";
};

}  // namespace cordon
