#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/open_instance.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/open_rows.h"
#include "stowage/options.h"
#include "stream/model.h"

namespace stowage::plan {

/// Why there is no plan for all sizes.
class NoOpenRows : public Error {
 public:
  explicit NoOpenRows(const std::string& why) : Error("", why) {}
};

/// The network at sizes of a range, which are numbered from 0.
class OpenReadings {
 public:
  OpenReadings(const SizeSymbol& range, const ReadAtSize& read) : range_(range), read_(read) {}

  [[nodiscard]] const SizeSymbol& range() const { return range_; }
  [[nodiscard]] std::int64_t last() const { return (range_.most - range_.least) / range_.step; }
  [[nodiscard]] std::int64_t size_of(std::int64_t number) const {
    return range_.least + number * range_.step;
  }
  [[nodiscard]] std::int64_t number_of(std::int64_t size) const {
    return (size - range_.least) / range_.step;
  }
  /// "n=64"
  [[nodiscard]] std::string word(std::int64_t size) const;
  /// Null if the model rejects the size.
  [[nodiscard]] const Input* read(std::int64_t size);
  /// Of a size that the model takes.
  [[nodiscard]] const Graph& graph(std::int64_t size) { return std::get<Graph>(read(size)->content); }
  /// Why it has rejected the first size that it has rejected.
  [[nodiscard]] const std::string& rejected() const { return rejected_; }

 private:
  const SizeSymbol& range_;
  const ReadAtSize& read_;
  std::map<std::int64_t, std::optional<Input>> known_{};
  std::string rejected_{};
};

/// What is known of the operators of a model at two sizes.
struct OpenAnalysis {
  std::vector<bool> is_open{};  ///< It has more steps at the larger size.
  std::vector<bool> is_late{};  ///< It needs what is complete only after the last row.
  std::vector<bool> in_tail{};  ///< The same, or nothing else needs it.
};

/// What depends on the size, see open_axes.cc. Members throw NoOpenRows where something needs all rows at once.
class OpenAxes {
 public:
  /// Keeps references. Gives the schedule axes, and an order in which operators of the tail are the last ones.
  OpenAxes(OpenReadings& readings, const PlanOptions& options, OpenSchedule& schedule);

  /// Of the operators of `model_at`.
  [[nodiscard]] OpenAnalysis analyse();
  /// An operator of the model, in words.
  [[nodiscard]] std::string described(const stream::Operator& op, const Graph& graph) const;
  /// Sizes at which the model was read.
  [[nodiscard]] const std::set<std::int64_t>& probes() const { return probes_; }

 private:
  void find_axes();
  void add_probe(std::int64_t index, std::vector<const Graph*>& graphs);
  void put_tail_behind();
  void expect_rows_of_open_tensors(const stream::RowModel& model);

  OpenReadings& readings_;
  const PlanOptions& options_;
  OpenSchedule& schedule_;
  std::set<std::int64_t> probes_{};
  std::vector<bool> is_folded_{};  ///< By operator.
};

}  // namespace stowage::plan
