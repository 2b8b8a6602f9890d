#pragma once

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.h"

namespace stowage::base {

template <typename T>
using Shown = std::conditional_t<std::is_convertible_v<const T&, std::string_view>, std::string, const T&>;

/// An argument as `print` shows it.
template <typename T>
Shown<T> shown(const T& argument) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return visible(argument);
  } else {
    return argument;
  }
}

/// Like fmt::print, for what people read on a terminal: a text among the arguments is shown as `visible` makes it.
/// Names come from files that nobody has looked at, and a terminal obeys control characters.
template <typename... Arguments>
void print(std::ostream& out, fmt::format_string<const Shown<Arguments>&...> format,
           const Arguments&... arguments) {
  const auto print_all = [&](const auto&... all) {
    fmt::vprint(out, fmt::string_view(format), fmt::make_format_args(all...));
  };
  print_all(shown(arguments)...);
}

/// Prints a message that may have several lines.
inline void print_lines(std::ostream& out, std::string_view before, std::string_view message) {
  out << before << visible_lines(message) << '\n';
}

}  // namespace stowage::base
