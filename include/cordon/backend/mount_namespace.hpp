// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/backend/in_process.hpp>

namespace cordon {

/// Confines in namespaces of the command's own, with no helper program: the tree is read-only and without devices, the
/// writable roots, the sinks and the session's private /tmp and /dev/shm are put over it, and every capability is
/// dropped but, for uid 0, CAP_DAC_OVERRIDE. Needs Linux 5.12 and user namespaces.
///
/// Alone it is partial {fifo_write}: a read-only mount does not stop a write into a FIFO.
///
/// Not governed: sockets, hard links made before the run.
class MountNamespace : public in_process::Confiner<in_process::Layers{.mounts = true, .landlock = false}> {
 public:
  using Confiner::Confiner;
  static constexpr std::string_view name = "mount-namespace";
};

}  // namespace cordon
