// SPDX-License-Identifier: BSL-1.0
#pragma once

// fmt for cordon's words, on the target cordon::format. The only header that includes fmt.

#include <fmt/core.h>

#include <cordon/classify/denial.hpp>
#include <cordon/effect.hpp>
#include <cordon/enforcement.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cordon/resource_limits.hpp>
#include <string>
#include <string_view>

template <cordon::Mode M>
struct fmt::formatter<M> : fmt::formatter<std::string_view> {
  auto format(M, format_context& context) const { return formatter<std::string_view>::format(M::name, context); }
};

template <>
struct fmt::formatter<cordon::SandboxMode> : fmt::formatter<std::string_view> {
  auto format(cordon::SandboxMode mode, format_context& context) const {
    return formatter<std::string_view>::format(mode.name(), context);
  }
};

template <>
struct fmt::formatter<cordon::FileEffect> : fmt::formatter<std::string_view> {
  auto format(cordon::FileEffect effect, format_context& context) const {
    return formatter<std::string_view>::format(name(effect), context);
  }
};

template <>
struct fmt::formatter<cordon::Evidence> : fmt::formatter<std::string_view> {
  auto format(cordon::Evidence evidence, format_context& context) const {
    return formatter<std::string_view>::format(name(evidence), context);
  }
};

template <>
struct fmt::formatter<cordon::ErrorCode> : fmt::formatter<std::string_view> {
  auto format(cordon::ErrorCode code, format_context& context) const {
    return formatter<std::string_view>::format(name(code), context);
  }
};

template <>
struct fmt::formatter<cordon::Resource> : fmt::formatter<std::string_view> {
  auto format(cordon::Resource resource, format_context& context) const {
    return formatter<std::string_view>::format(name(resource), context);
  }
};

template <>
struct fmt::formatter<cordon::LimitedBy> : fmt::formatter<std::string_view> {
  auto format(cordon::LimitedBy means, format_context& context) const {
    return formatter<std::string_view>::format(name(means), context);
  }
};

/// The members, separated by ", ".
template <>
struct fmt::formatter<cordon::EffectSet> : fmt::formatter<std::string_view> {
  auto format(cordon::EffectSet set, format_context& context) const {
    return formatter<std::string_view>::format(to_string(set), context);
  }
};

/// `full`, or `partial {metadata, fifo_write}`.
template <>
struct fmt::formatter<cordon::Enforcement> : fmt::formatter<std::string_view> {
  auto format(cordon::Enforcement enforcement, format_context& context) const {
    std::string text(enforcement.level());
    if (!enforcement.full()) text += " {" + to_string(enforcement.missing()) + "}";
    return formatter<std::string_view>::format(text, context);
  }
};
