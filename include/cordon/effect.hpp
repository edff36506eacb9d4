// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cordon/mode.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cordon {

/// What a process can do to files. Modes promise about these and about nothing else: network, signals, sockets and
/// the sight of other processes are not file effects.
enum class FileEffect : std::uint8_t {
  create,          ///< make a new file, directory, symlink, socket or FIFO
  write,           ///< change the bytes of a regular file
  truncate,        ///< change its length, by truncate(2) or O_TRUNC
  remove,          ///< unlink or rmdir
  rename_link,     ///< rename or hard-link, into, out of, or within
  metadata,        ///< mode, owner, times, extended attributes, ACL
  device,          ///< make a device node, or open one for writing or ioctl
  fifo_write,      ///< write into a FIFO that exists outside the writable roots
  mount_topology,  ///< mount, remount or move, so that another effect becomes possible
};

inline constexpr std::array all_file_effects{FileEffect::create, FileEffect::write,       FileEffect::truncate,
                                             FileEffect::remove, FileEffect::rename_link, FileEffect::metadata,
                                             FileEffect::device, FileEffect::fifo_write,  FileEffect::mount_topology};

[[nodiscard]] constexpr std::string_view name(FileEffect effect) noexcept {
  switch (effect) {
    case FileEffect::create:
      return "create";
    case FileEffect::write:
      return "write";
    case FileEffect::truncate:
      return "truncate";
    case FileEffect::remove:
      return "remove";
    case FileEffect::rename_link:
      return "rename_link";
    case FileEffect::metadata:
      return "metadata";
    case FileEffect::device:
      return "device";
    case FileEffect::fifo_write:
      return "fifo_write";
    case FileEffect::mount_topology:
      return "mount_topology";
  }
  return "unknown";
}

/// A set of file effects. A value type; all operations are constexpr.
class EffectSet {
 public:
  constexpr EffectSet() noexcept = default;
  constexpr EffectSet(std::initializer_list<FileEffect> effects) noexcept {
    for (FileEffect effect : effects) bits_ |= bit(effect);
  }

  [[nodiscard]] static constexpr EffectSet all() noexcept {
    EffectSet set;
    for (FileEffect effect : all_file_effects) set.bits_ |= bit(effect);
    return set;
  }

  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool contains(FileEffect effect) const noexcept { return (bits_ & bit(effect)) != 0; }
  [[nodiscard]] constexpr bool contains(EffectSet other) const noexcept { return (other.bits_ & ~bits_) == 0; }

  friend constexpr EffectSet operator|(EffectSet a, EffectSet b) noexcept { return from_bits(a.bits_ | b.bits_); }
  friend constexpr EffectSet operator&(EffectSet a, EffectSet b) noexcept { return from_bits(a.bits_ & b.bits_); }
  /// What is in `a` and not in `b`.
  friend constexpr EffectSet operator-(EffectSet a, EffectSet b) noexcept { return from_bits(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(EffectSet, EffectSet) noexcept = default;

  /// Calls `visit(FileEffect)` for each member, in declaration order.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (FileEffect effect : all_file_effects)
      if (contains(effect)) visit(effect);
  }

 private:
  static constexpr unsigned bit(FileEffect effect) noexcept { return 1U << static_cast<unsigned>(effect); }
  static constexpr EffectSet from_bits(unsigned bits) noexcept {
    EffectSet set;
    set.bits_ = bits;
    return set;
  }
  unsigned bits_ = 0;
};

/// The names of the members, separated by ", ".
[[nodiscard]] inline std::string to_string(EffectSet set) {
  std::string text;
  set.for_each([&](FileEffect effect) {
    if (!text.empty()) text += ", ";
    text += name(effect);
  });
  return text;
}

/// The effects that mode M promises to refuse: everywhere but on sinks under ReadOnly, everywhere but on sinks,
/// writable roots and the private temp area under WorkspaceWrite. DangerFullAccess promises nothing.
template <Mode M>
[[nodiscard]] consteval EffectSet promised() noexcept {
  return ConfinedMode<M> ? EffectSet::all() : EffectSet{};
}

}  // namespace cordon
