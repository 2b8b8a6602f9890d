#pragma once

#include <string>
#include <string_view>

#include "stowage/problem.h"

namespace stowage::web {

/// A file and the fields of the page, as a reader fills them in.
struct Question {
  std::string_view bytes{};  ///< Of the file: a model or a list.
  std::string name{};        ///< Of the file.
  std::string capacity{};    ///< As --capacity takes it; empty: none.
  std::string seconds{};     ///< As --time-limit takes it; empty: its default.
  std::string sizes{};       ///< NAME=SIZE as --dim takes it, separated by spaces; empty: none.
  std::string values{};      ///< INPUT=ELEMENTS as --value takes it, separated by spaces; empty: none.
  std::string states{};      ///< OUTPUT=INPUT as --state takes it, separated by spaces; empty: none.
  bool by_rows = false;      ///< As --stream.
};

/// What the page shows: either what is wrong, or a plan.
struct Answer {
  std::string error{};  ///< Empty: there is a plan.
  std::string
      notes{};  ///< Lines: what was assumed of the file, and by how much the plan exceeds its capacity.
  std::string report{};  ///< The page that `stowage plan NAME -o plan.html` writes.
  std::string plan{};    ///< The plan as JSON.
  Bytes peak = 0;        ///< As the next, of the plan's summary.
  Bytes lower_bound = 0;
};

/// Plans the file on this thread alone.
[[nodiscard]] Answer answer(const Question& question, const Progress& progress = {});

}  // namespace stowage::web
