// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cordon/argv.hpp>
#include <cordon/backend/backend.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/process/spawn.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace cordon {

/// The functional probe: a shell script that tries to get out of a sandbox, and the evidence that its host looks at
/// afterwards. Version numbers and exit codes are not evidence; files on the host are.
///
/// One use: make it, run `argv()` in the sandbox with `scope()` as its roots, ask for the `verdict`. The scratch
/// directory goes away with it.
class EscapeProbe {
 public:
  /// Lays out roots of the same kind as `like` has.
  EscapeProbe(const PolicyScope& like, bool writable) : writable_(writable) {
    if (scratch_.path().empty()) {
      error_ = "no temporary directory can be made";
      return;
    }
    for (const char* directory : {"/in", "/in/kept", "/in2", "/out"})
      step(os::make_directory(scratch_.path() + directory));
    for (const char* file : {"/out/grown", "/out/cut", "/out/removed", "/out/moved", "/out/changed"})
      step(os::create_file(scratch_.path() + file, content));
    step(os::make_fifo(outside("fifo")));
    if (!error_.empty()) return;
    if (const long fd = os::open_file<os::Kernel>(outside("fifo").c_str(), O_RDONLY | O_NONBLOCK); fd >= 0)
      fifo_ = os::Fd(fd);
    broad_ = like.workspace_root == "/" ||
             std::find(like.extra_roots.begin(), like.extra_roots.end(), "/") != like.extra_roots.end();
    scope_.workspace_root = scratch_.path() + "/in";
    if (!like.extra_roots.empty()) scope_.extra_roots = {broad_ ? std::string("/") : scratch_.path() + "/in2"};
    if (like.workspace_root == "/") scope_.workspace_root = "/";
    if (!like.protected_paths.empty()) scope_.protected_paths = {scratch_.path() + "/in/kept"};
  }

  /// Empty when the scratch directory is ready.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] const PolicyScope& scope() const noexcept { return scope_; }
  [[nodiscard]] static std::vector<std::string> environment() {
    return {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  }

  [[nodiscard]] Argv argv() const {
    static constexpr const char* script = R"(exec 2>/dev/null
echo x >/dev/null && echo sink
echo x >"$1/in/landed"
echo x >"$1/in/kept/landed"
echo x >"$1/out/created"
mkdir "$1/out/directory"
echo x >>"$1/out/grown"
true >"$1/out/cut"
rm -f "$1/out/removed"
mv "$1/out/moved" "$1/out/elsewhere"
ln "$1/out/changed" "$1/in/link"
chmod 777 "$1/out/changed"
echo x >"$1/out/fifo"
chmod "$2" /dev/null && echo device-metadata
mknod "$1/out/node" c 1 3
mount -o remount,rw,bind "$1" && echo x >"$1/out/created"
mount -o remount,rw,bind / && echo x >"$1/out/created"
echo done)";
    os::FileFacts null;
    (void)os::stat_path("/dev/null", null);
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%o", null.mode & 07777U);  // the mode it has: no harm if it succeeds
    return Argv({"/bin/sh", "-c", script, "sh", scratch_.path(), mode.data()});
  }

  /// Compares what happened with what had to: `claimed` is what the backend says it governs.
  template <ConfinedMode M>
  [[nodiscard]] Availability verdict(const process::Completed& done, EffectSet claimed) const {
    const std::string said = done.out.text();
    if (const auto* refused = std::get_if<process::NotExecutable>(&done.ending))
      return Availability::unusable(
          "the probe's /bin/sh can't be executed in it: " + detail::error_text(refused->error),
          "make a POSIX shell available at /bin/sh");
    if (said.find("done\n") == std::string::npos)
      return Availability::unusable("the probe's script did not run to its end", "see whether /bin/sh works in it");
    if (said.find("sink\n") == std::string::npos)
      return Availability::unusable("it refuses writes to /dev/null, which every mode allows", remedy);
    if (os::exists(scratch_.path() + "/in/landed") != (writable_ || broad_))
      return Availability::unusable(
          writable_ ? "a write inside the workspace did not land" : "a write landed in a read-only workspace", remedy);
    if (!scope_.protected_paths.empty() && writable_ && os::exists(scratch_.path() + "/in/kept/landed"))
      return Availability::unusable("a write landed in a protected path", remedy);
    if (broad_) return Availability::usable(Enforcement::of<M>(claimed));

    EffectSet escaped;
    const auto note = [&](bool happened, FileEffect effect) {
      if (happened) escaped = escaped | EffectSet{effect};
    };
    note(os::exists(outside("created")) || os::exists(outside("directory")), FileEffect::create);
    note(size("grown") > content.size(), FileEffect::write);
    note(size("cut") != content.size(), FileEffect::truncate);
    note(!os::exists(outside("removed")), FileEffect::remove);
    note(!os::exists(outside("moved")) || os::exists(scratch_.path() + "/in/link"), FileEffect::rename_link);
    note(mode("changed") != 0600 || said.find("device-metadata") != std::string::npos, FileEffect::metadata);
    note(!os::read_rest<os::Kernel>(fifo_.get(), 1).empty(), FileEffect::fifo_write);
    note(os::exists(outside("node")), FileEffect::device);
    const EffectSet basics{FileEffect::create, FileEffect::write, FileEffect::truncate, FileEffect::remove,
                           FileEffect::rename_link};
    if (const EffectSet broken = escaped & basics; !broken.empty())
      return Availability::unusable("it did not hold: the probe could " + to_string(broken) + " outside its roots",
                                    remedy);
    return Availability::usable(Enforcement::of<M>(claimed - escaped));
  }

 private:
  static constexpr std::string_view content = "12345678";
  static constexpr const char* remedy = "report this to whoever provides the sandbox; nothing was run in it";

  void step(long result) {
    if (result < 0 && error_.empty()) error_ = detail::error_text(static_cast<int>(-result));
  }
  [[nodiscard]] std::string outside(std::string_view name) const {
    return scratch_.path() + "/out/" + std::string(name);
  }
  [[nodiscard]] std::uint64_t size(std::string_view name) const {
    os::FileFacts facts;
    (void)os::stat_path(outside(name), facts);
    return facts.size;
  }
  [[nodiscard]] unsigned mode(std::string_view name) const {
    os::FileFacts facts;
    (void)os::stat_path(outside(name), facts);
    return facts.mode & 07777U;
  }

  os::PrivateDirectory scratch_{"/var/tmp", "/tmp"};
  os::Fd fifo_;
  PolicyScope scope_;
  std::string error_;
  bool writable_;
  bool broad_ = false;
};

}  // namespace cordon
