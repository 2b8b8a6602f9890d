#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::share {

/// A model, or several that run one after the other or at the same time.
struct RunExpression {
  enum class Kind { model, sequence, parallel };

  Kind kind = Kind::model;
  std::size_t model = 0;               ///< Index among the names, for Kind::model.
  std::vector<RunExpression> parts{};  ///< At least two, none of the same kind, for the other kinds.
};

/// Reads `A; (B | C; D)`: `;` is one after the other, `|` at the same time and binds tighter. A name that
/// holds one of `;|()` or begins or ends with a blank stands in quotes, single or double. An empty text is
/// all models one after the other. Throws UsageError, naming the place, unless every model comes once.
[[nodiscard]] RunExpression parse_run_expression(std::string_view text, std::span<const std::string> names);

}  // namespace stowage::share
