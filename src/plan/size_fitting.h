#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/size_terms.h"
#include "stowage/offset_functions.h"

namespace stowage::plan {

/// One number for each reading.
using Results = std::vector<std::int64_t>;

/// Terms that have given results at given values of symbols; see size_fitting.cc.
class SizeFitting {
 public:
  /// `readings` has the values of all symbols at each reading; there is at least one.
  SizeFitting(std::vector<SizeSymbol> symbols, std::vector<std::vector<std::int64_t>> readings);

  /// Looks for terms of all these results; some need the terms of others.
  void fit(std::vector<Results> wanted);
  /// The term with these results; none if none was found.
  [[nodiscard]] std::optional<std::size_t> find(const Results& results) const;

  /// A term, or an earlier one with the same results at the readings that is as simple. None: see `model::range_of`.
  std::optional<std::size_t> add(SizeTerm term);

  /// A term, even if an earlier one has the same results. Throws Error where `add` gives none.
  std::size_t append(SizeTerm term);

  [[nodiscard]] const std::vector<SizeTerm>& terms() const { return terms_; }
  [[nodiscard]] const Results& results_of(std::size_t term) const { return results_[term]; }

 private:
  std::optional<std::size_t> fit_one(const Results& wanted);
  std::optional<std::size_t> fit_line(const Results& wanted, std::size_t of);
  std::optional<std::size_t> fit_quotient(const Results& wanted, std::size_t of);
  std::optional<std::size_t> fit_limit(const Results& wanted, std::size_t of);
  std::optional<std::size_t> fit_product(const Results& wanted, std::size_t of);
  std::optional<std::size_t> fit_sum(const Results& wanted, std::size_t of);
  std::optional<std::size_t> fit_sum_of_three(const Results& wanted);
  std::optional<std::size_t> add_line(std::size_t of, std::int64_t factor, std::int64_t added);
  [[nodiscard]] std::optional<Results> results_with(const SizeTerm& term) const;
  void use(std::size_t term);

  std::vector<SizeSymbol> symbols_;
  std::vector<std::vector<std::int64_t>> readings_;
  std::vector<SizeTerm> terms_{};
  std::vector<Results> results_{};          ///< Of each term.
  std::vector<model::TermRange> ranges_{};  ///< Of each term.
  std::map<Results, std::size_t> found_{};
  std::vector<std::size_t> used_{};  ///< Symbols and terms of wanted results: what others are made of.
  std::map<Results, std::size_t> by_difference_{};  ///< Of those used, by results less the first one.
  std::map<Results, std::vector<std::size_t>>
      by_ratio_{};  ///< The same by results over their common divisor.
};

}  // namespace stowage::plan
