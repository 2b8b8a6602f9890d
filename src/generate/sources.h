#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/storage.h"
#include "kernels/kernel.h"
#include "kernels/tflite/operands.h"
#include "run/program.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::generate {

/// A tensor that is kept from run to run, but is not in the plan.
struct KeptTensor {
  TensorId tensor = 0;
  Bytes offset = 0;  ///< In the state that the caller has.
  int fill = 0;      ///< Each of its bytes before the first run.
};

/// Throws kernels::Unsupported if one begins with bytes that differ.
[[nodiscard]] std::vector<KeptTensor> kept_tensors(const Network& network, const Plan& plan);

/// A constant array of the weights file.
struct ConstantArray {
  std::string name{};
  std::string comment{};
  DType dtype = DType::unknown;
  std::vector<std::byte> data{};
};

/// What all operators of a package share: constants, places of tensors, kernels.
class Sources {
 public:
  Sources(const Network& network, const run::Program& program, const Plan& plan, std::string name);

  /// The name of an array with these elements.
  std::string array(const std::string& name, const std::string& comment, DType dtype,
                    std::vector<std::byte> data);
  template <typename Element>
  std::string array(const std::string& name, const std::string& comment, DType dtype,
                    const std::vector<Element>& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    return array(name, comment, dtype, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  /// The name of the array of a constant tensor.
  std::string constant(TensorId tensor);
  /// The name of a place; equal places have one name.
  std::string place(const RowPlace& place, TensorId tensor);
  void need(std::string_view kernel) { kernels_.emplace(kernel); }
  void use(CKernels kernels) { c_kernels_ = kernels; }
  [[nodiscard]] CKernels c_kernels() const { return c_kernels_; }
  /// A C expression: bytes of scratch memory that a kernel wants beyond those that are planned.
  void add_wish(std::string expression) { wishes_.push_back(std::move(expression)); }
  [[nodiscard]] const std::vector<std::string>& wishes() const { return wishes_; }

  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const run::Program& program() const { return program_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<ConstantArray>& arrays() const { return arrays_; }
  [[nodiscard]] const std::set<std::string>& kernels() const { return kernels_; }
  /// Definitions of all places.
  [[nodiscard]] const std::string& places() const { return places_; }
  [[nodiscard]] Bytes bytes_of_places() const { return bytes_of_places_; }

  /// Where a planned or outside tensor is. Throws kernels::Unsupported.
  [[nodiscard]] Storage storage(TensorId tensor) const;
  [[nodiscard]] bool is_constant(TensorId tensor) const;
  /// Inputs, outputs and states that are outside of the arena; each is a memory behind those of the plan.
  [[nodiscard]] const std::vector<TensorId>& outside() const { return outside_; }

 private:
  const Network& network_;
  const run::Program& program_;
  const Plan& plan_;
  std::string name_;
  std::vector<ConstantArray> arrays_{};
  std::set<std::string> kernels_{};
  CKernels c_kernels_ = CKernels::portable;
  std::vector<std::string> wishes_{};
  std::map<TensorId, std::string> constants_{};
  std::map<std::string, std::string> place_names_{};  ///< By definition.
  std::set<std::string> used_names_{};
  std::string places_{};
  Bytes bytes_of_places_ = 0;
  std::vector<TensorId> outside_{};
};

/// A C function that computes an operator, or one of its row blocks.
struct Function {
  std::string name{};
  std::string layers{};  ///< Definitions of constants that it uses.
  std::string text{};
};

/// "conv_2d_7"
[[nodiscard]] std::string function_name(const Operator& op, std::size_t number);

/// How the steps of a plan run an operator.
struct StepKind {
  std::size_t op = 0;
  std::optional<std::size_t> axis{};  ///< It runs by rows along this axis.
  std::optional<Sums> sums{};         ///< Then its rows are those of the first input.
  std::int64_t granule = 1;           ///< Rows of a step.
  bool is_one_step = false;           ///< One step computes all rows.
};

/// An operand as an operator's kernel sees it: a tensor, or a row of it.
struct Operand {
  std::string at{};  ///< A C expression: a pointer to its first element.
  DType dtype = DType::unknown;
  Shape shape{};

  [[nodiscard]] std::int64_t count() const { return kernels::count_of(shape); }
};

/// Writes the function of one operator. All queries throw kernels::Unsupported.
class Writer {
 public:
  Writer(Sources& sources, const StepKind& kind);

  [[nodiscard]] const Operator& op() const { return *op_; }
  [[nodiscard]] const StepKind& kind() const { return kind_; }
  /// The operator with the whole shapes, and as it computes one row: see `row_axis`.
  [[nodiscard]] const kernels::Signature& signature() const { return signature_; }
  [[nodiscard]] const kernels::Signature& seen() const { return seen_; }
  [[nodiscard]] Sources& sources() { return sources_; }
  /// How it reads rows; null if it runs as a whole.
  [[nodiscard]] const RowAxis* axis() const { return axis_; }

  /// Operands of `seen()`: row y if the operator runs by rows.
  [[nodiscard]] Operand input(std::size_t i);
  [[nodiscard]] Operand output(std::size_t i = 0);
  /// An input that the operator changes: state.
  [[nodiscard]] Operand state(std::size_t i);
  /// Row `index` (a C expression) along an axis.
  [[nodiscard]] Operand input_row(std::size_t i, std::size_t axis, std::string_view index);
  [[nodiscard]] Operand output_row(std::size_t axis, std::string_view index);
  /// The name of the place of an operand's rows.
  [[nodiscard]] std::string input_place(std::size_t i, std::size_t axis);
  [[nodiscard]] Storage storage_of_input(std::size_t i);
  /// The operator's own number.
  [[nodiscard]] std::string number() const { return std::to_string(kind_.op); }

  /// The name of a constant of a layer's type.
  std::string layer(std::string_view type, std::string_view fields);
  void need(std::string_view kernel) { sources_.need(kernel); }
  /// A declaration at the begin of the function.
  void declare(std::string_view declaration);
  /// A line of the body, which computes row y if there are rows.
  void line(std::string_view text);
  /// The body computes one of so many rows, also where the plan runs the operator as a whole.
  void loop_over(std::int64_t rows) { rows_ = rows; }

  /// Whether it runs as a whole, or computes rows that are all alike.
  [[nodiscard]] bool is_alike() const { return is_alike_; }
  [[nodiscard]] Function take();

 private:
  [[nodiscard]] Operand operand(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                                bool is_read);

  Sources& sources_;
  StepKind kind_;
  const Operator* op_;
  kernels::Signature signature_;
  kernels::Signature seen_;
  const RowAxis* axis_ = nullptr;
  bool is_alike_ = true;
  Function function_{};
  std::string declarations_{};
  std::string body_{};
  std::optional<std::int64_t> rows_{};
  std::size_t layers_ = 0;
};

/// Writes the operator's function. Throws kernels::Unsupported with a reason in words.
[[nodiscard]] Function function_of(Sources& sources, const StepKind& kind);

/// Writes the body of an operator's function.
using Emit = void (*)(Writer& writer);

/// What an operator does where the plan runs it by rows.
enum class RowHandling : std::uint8_t {
  alike,  ///< It is written for tensors of one row; impossible unless `has_rows_alike`.
  own     ///< Its writer knows.
};

struct EmitEntry {
  std::string_view type{};
  Emit emit = nullptr;
  RowHandling rows = RowHandling::alike;
};

using EmitPart = std::vector<EmitEntry>;

// The operators, by the file that defines them.
[[nodiscard]] EmitPart window_operators();
[[nodiscard]] EmitPart element_operators();
[[nodiscard]] EmitPart movement_operators();
[[nodiscard]] EmitPart reduction_operators();

}  // namespace stowage::generate
