#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "c_packages.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "temporary.h"

/// What the product does with operators, for the pages that list them.
namespace stowage::testing {

/// What is done with an operator in one form.
struct Answers {
  std::string planned = "-";
  std::string aliased = "-";
  std::string by_rows = "-";
  std::string run = "-";
  std::string generated = "-";

  bool operator==(const Answers&) const = default;
};

/// The C of calls. What is generated is compiled and run, so that the pages promise nothing that is wrong.
class GeneratedCalls {
 public:
  /// Whether C is generated of a network that calls an operator of this type.
  [[nodiscard]] bool add(const Network& network, const Plan& plan, std::string_view type);

  /// Compiles and runs all of it: expects what the interpreter gives, bit for bit.
  void expect_right() const;

 private:
  TemporaryDirectory folder_{};
  Packages packages_{folder_.path()};
  std::set<std::string> known_{};  ///< Several sets of operators often become the same C.
};

/// Asks planner, runner and generator about a network that has one operator of this type.
[[nodiscard]] Answers answers_about(const Network& network, std::string_view type, GeneratedCalls& calls);

/// Forms of an operator ("6, 13"; "float32, int8"), and what is done with them.
struct Form {
  std::string name{};
  Answers answers{};
};

/// Neighbours with the same answers as one form.
[[nodiscard]] std::vector<Form> joined(const std::vector<Form>& forms);

/// Rows of a table for an operator.
[[nodiscard]] std::string rows_of(const std::string& type, const std::vector<Form>& forms);

/// Compares a page with its text before the table and this table, or with STOWAGE_WRITE_TABLES=1 writes it.
void expect_page_has(const std::string& file, const std::string& forms_are, const std::string& rows);

}  // namespace stowage::testing
