#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "stowage/error.h"

namespace stowage::generate {

/// A plan that no C is generated for, since it runs operators by rows that only have C as wholes, or none.
class RowsRefused : public Error {
 public:
  RowsRefused(const Error& error, std::vector<std::size_t> operators)
      : Error(error), operators_(std::move(operators)) {}

  /// Their numbers in the file.
  [[nodiscard]] const std::vector<std::size_t>& operators() const { return operators_; }

 private:
  std::vector<std::size_t> operators_;
};

}  // namespace stowage::generate
