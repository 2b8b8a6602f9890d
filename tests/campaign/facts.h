#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"

/// What the documents say of a network, without a plan: which byte is which, and what an operator needs.
namespace stowage::campaign {

/// What a case plans, in the order of the plan's models.
struct Networks {
  std::vector<Graph> graphs{};
  std::vector<Constants> constants{};
};

/// The name of a byte: which byte of which tensor computed it. 0 is nobody's.
using ByteName = std::uint64_t;
inline constexpr ByteName nobody = 0;

/// Rows of a tensor along an axis, and the bytes of each in the tensor's row-major order.
class RowLayout {
 public:
  /// None where rows are no whole bytes.
  [[nodiscard]] static std::optional<RowLayout> of(const Tensor& tensor, std::size_t axis);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] Bytes row_bytes() const { return outer_ * inner_; }
  /// Where byte `at` of a row is in the tensor.
  [[nodiscard]] Bytes byte_of(std::int64_t row, Bytes at) const {
    return (at / inner_ * rows_ + row) * inner_ + at % inner_;
  }

 private:
  RowLayout(std::int64_t outer, std::int64_t rows, Bytes inner) : outer_(outer), rows_(rows), inner_(inner) {}

  std::int64_t outer_;
  std::int64_t rows_;
  Bytes inner_;
};

/// Whether rows that come back unchanged count as copies, too: they do where tensors are stored row by row.
enum class KeptRows : std::uint8_t { followed, ignored };

/// The bytes of all tensors of all models by name, copies followed back to what computed them.
class Names {
 public:
  /// Of constants whose data is known equal bytes have equal names.
  Names(std::span<const Graph> graphs, const Plan& plan, std::span<const Constants> constants = {},
        KeptRows kept_rows = KeptRows::followed);

  [[nodiscard]] const std::vector<ByteName>& of(std::size_t model, TensorId tensor) const {
    return names_[model][tensor];
  }
  /// A name that no tensor's byte has.
  [[nodiscard]] static ByteName other(std::uint64_t number) { return (std::uint64_t{1} << 63U) + number; }

 private:
  struct Origin {
    std::size_t op = 0;
    std::size_t output = 0;
  };
  void follow(std::size_t model, TensorId tensor);
  /// The first tensor of the same kind with the same data, if it has data.
  [[nodiscard]] std::pair<std::size_t, TensorId> first_like(std::size_t model, TensorId tensor) const;
  void follow_copies(std::size_t model, const Operator& op, std::size_t output, std::vector<ByteName>& names);
  void follow_rows(std::size_t model, const Operator& op, std::size_t output, std::vector<ByteName>& names);

  std::span<const Graph> graphs_;
  std::span<const Constants> constants_;
  KeptRows kept_rows_;
  std::vector<std::vector<std::optional<std::pair<std::size_t, Origin>>>> origins_;  ///< Subgraph, origin.
  std::vector<std::vector<std::optional<std::pair<std::size_t, TensorId>>>> fed_by_;
  std::vector<std::vector<std::vector<ByteName>>> names_;
  std::vector<std::vector<bool>> is_known_;
};

/// Rows of an input that rows [begin, end) of the outputs read, in ascending order.
[[nodiscard]] std::vector<std::int64_t> rows_read(const RowMap& map, std::int64_t rows, std::int64_t begin,
                                                  std::int64_t end);

/// Whether all that the operator writes are bytes that it passes on.
[[nodiscard]] bool only_copies(const Graph& graph, const Operator& op);

/// Whether the operator may write its first output over that input, element by element.
[[nodiscard]] bool is_elementwise(const Graph& graph, const Operator& op, std::size_t input);

/// For each tensor of the graph its place in Plan::tensors; none where the plan does not have it.
[[nodiscard]] std::vector<std::optional<std::size_t>> places_in_plan(const Graph& graph, std::size_t model,
                                                                     const Plan& plan);

}  // namespace stowage::campaign
