#pragma once

#include <algorithm>
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

#include "generate/places.h"
#include "generate/storage.h"
#include "kernels/kernel.h"
#include "kernels/tflite/operands.h"
#include "kernels/tflite/window.h"
#include "run/blocks.h"
#include "run/program.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::generate {

/// A tensor that is kept from run to run, but is not in the plan.
struct KeptTensor {
  TensorId tensor = 0;
  Bytes offset = 0;                          ///< In the state that the caller has.
  std::span<const std::byte> first_value{};  ///< Before the first run; none: zeros.
};

[[nodiscard]] std::vector<KeptTensor> kept_tensors(const Network& network, const Plan& plan);

/// A constant array of the weights file.
struct ConstantArray {
  std::string name{};
  std::string comment{};
  DType dtype = DType::unknown;
  std::vector<std::byte> data{};
  bool is_elsewhere = false;  ///< Another file of weights defines it.
};

/// Constant arrays of all networks of a package: those with equal elements are defined once.
class EqualArrays {
 public:
  /// The name of an array with these elements that another network has.
  [[nodiscard]] std::optional<std::string> find(DType dtype, const std::vector<std::byte>& data) const {
    const auto known = names_.find({dtype, data});
    return known == names_.end() ? std::nullopt : std::optional(known->second);
  }
  void add(const std::vector<ConstantArray>& arrays) {
    for (const ConstantArray& it : arrays) names_.try_emplace({it.dtype, it.data}, it.name);
  }

 private:
  std::map<std::pair<DType, std::vector<std::byte>>, std::string> names_{};
};

/// A row of a tensor that moves, as C: a pointer to one, and how many rows the wanted one is behind that.
struct RowNow {
  std::string at{};
  std::string behind{};  ///< Empty: none.
  Bytes row_bytes = 0;

  /// A pointer to the bytes of the wanted row.
  [[nodiscard]] std::string bytes() const;
};

/// What all operators of a package share: constants, places of tensors, kernels.
class Sources {
 public:
  /// `blocks` are those that the network is made of, or null. `others` are arrays of other networks, or null.
  Sources(const Network& network, const run::Program& program, const Plan& plan, std::string name,
          const run::BlockNetwork* blocks, const EqualArrays* others = nullptr);

  /// The name of an array with these elements, which may be one that is there already. A name that another array has
  /// gets a number. NULL for no elements.
  std::string array(const std::string& name, const std::string& comment, DType dtype,
                    std::vector<std::byte> data);
  template <typename Element>
  std::string array(const std::string& name, const std::string& comment, DType dtype,
                    const std::vector<Element>& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    return array(name, comment, dtype, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  /// Forgets arrays that the C does not name: operators may have asked for what they then fold into other arrays.
  void drop_unread(std::string_view program);
  /// The name of the array of a constant tensor; `name` if it has none yet.
  std::string constant(TensorId tensor, const std::string& name = {});
  /// The name of a place; equal places have one name.
  std::string place(const RowPlace& place, TensorId tensor);
  /// The number of rows is open: a place has the ring of its tensor even where that has fewer rows, and tensors have
  /// places of their own.
  void set_open() {
    is_open_ = true;
    places_.keep_apart();
  }
  [[nodiscard]] Places& open_places() { return places_; }
  /// A kernel's file, and what it calls.
  void need(std::string_view kernel);
  /// The functions call the mathematical library.
  void need_math() { needs_math_ = true; }
  [[nodiscard]] bool needs_math() const { return needs_math_; }
  void use(CKernels kernels) { c_kernels_ = kernels; }
  [[nodiscard]] CKernels c_kernels() const { return c_kernels_; }
  /// A C expression: bytes of scratch memory that a kernel wants beyond those that are planned.
  void add_wish(std::string expression) { wishes_.push_back(std::move(expression)); }
  [[nodiscard]] const std::vector<std::string>& wishes() const { return wishes_; }
  /// Operators that compute rows again, and the C type that counts their steps.
  void set_repeats(const std::map<std::size_t, Repeats>& repeats, const std::string& counter);
  /// Null if the tensor's rows are computed once, or are in several memories: then their stays say where each is.
  [[nodiscard]] const Repeats* repeats_of(TensorId tensor) const;
  /// Rows of a step: rows of moving tensors are in blocks of as many, if they can be.
  void set_granule(std::int64_t granule) { granule_ = granule; }
  /// Positions of the steps that the C takes, in their order.
  void set_times(const std::vector<Position>& times) { times_ = times; }
  /// Null if one place says where operators find a tensor at the present position.
  [[nodiscard]] const MovingRows* moving(TensorId tensor) const;
  /// Whether the plan stages a constant as a whole, and this array is the one that is copied for it: the first that is
  /// asked about.
  [[nodiscard]] bool stage(TensorId tensor, const std::string& array);
  /// The array that is copied; none: nothing reads what is staged.
  [[nodiscard]] std::optional<std::string> staged(TensorId tensor) const;
  [[nodiscard]] DType dtype_of(const std::string& array) const {
    return std::ranges::find(arrays_, array, &ConstantArray::name)->dtype;
  }
  /// The name of the stowage_moving of a tensor that moves.
  std::string name_of_moving(TensorId tensor);
  /// Its row `index` along an axis, or all of it, when `now` (a C expression) steps have run.
  RowNow row_now(TensorId tensor, std::optional<std::size_t> axis, std::string_view memory,
                 std::string_view now, std::string_view index);
  /// The name of the stowage_again of a tensor whose rows are computed again, along the axis of these rows.
  std::string again(TensorId tensor);
  [[nodiscard]] const std::string& counter() const { return counter_; }
  /// The number of an operator in the file, and where its block begins: "7", "7b24".
  [[nodiscard]] std::string label(std::size_t op) const;
  /// The blocks in which the plan stores a tensor; none if it stores it as a whole, or by rows.
  [[nodiscard]] std::vector<TensorId> blocks_of(TensorId tensor) const;
  /// Where these blocks are: the name of an array of places, by rows along an axis.
  std::string places_of(const std::vector<TensorId>& blocks, std::size_t axis);
  /// The name of an array of places with these names.
  std::string array_of_places(const std::vector<std::string>& names, const std::string& label) {
    return places_.array(names, label);
  }
  /// Declares a function that the user writes.
  void declare_extern(const std::string& declaration) { externs_ += declaration; }
  [[nodiscard]] const std::string& externs() const { return externs_; }

  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const run::Program& program() const { return program_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<ConstantArray>& arrays() const { return arrays_; }
  [[nodiscard]] const std::set<std::string>& kernels() const { return kernels_; }
  /// Definitions of all places.
  [[nodiscard]] std::string places() const;
  /// From here on, that name of a layer is an element of an array.
  void refer(const std::string& name, const std::string& element) { references_.emplace(name, element); }
  /// The text with elements of arrays instead of the names of places and layers that are there.
  [[nodiscard]] std::string with_references(const std::string& text) const;
  /// Bytes of these definitions.
  [[nodiscard]] Bytes bytes_of_places() const {
    return places_.bytes() + bytes_of_again_ + definitions_of_moving().second;
  }

  /// From here on, tensors are where they are at that position: some plans move them. None: at several positions.
  void move_to(std::optional<Position> at) { at_ = at; }
  /// Where an input or output of the network is when the caller hands it over.
  [[nodiscard]] Storage storage_of_outlet(TensorId tensor, bool is_input);
  /// Where a planned or outside tensor is. Throws kernels::Unsupported.
  [[nodiscard]] Storage storage(TensorId tensor) const;
  [[nodiscard]] bool is_constant(TensorId tensor) const {
    const Tensor& own = network_.graph().tensors[tensor];
    return data_of(tensor).data() != nullptr || (own.bytes == 0 && stowage::is_constant(own.kind));
  }
  /// The bytes of a constant, also of one that our runner has no use for.
  [[nodiscard]] std::span<const std::byte> data_of(TensorId tensor) const;
  /// Inputs, outputs and states that are outside of the arena; each is a memory behind those of the plan.
  [[nodiscard]] const std::vector<TensorId>& outside() const { return outside_; }

 private:
  [[nodiscard]] bool is_in_several_memories(TensorId tensor) const;
  /// Where a tensor is that is in one place, or in none.
  [[nodiscard]] Storage place_of_storage(TensorId tensor) const;
  /// The tables of tensors that move, and their bytes.
  [[nodiscard]] std::pair<std::string, Bytes> definitions_of_moving() const;

  const Network& network_;
  const run::Program& program_;
  const Plan& plan_;
  std::string name_;
  const run::BlockNetwork* blocks_;
  const EqualArrays* others_;
  std::vector<ConstantArray> arrays_{};
  std::set<std::string> kernels_{};
  bool needs_math_ = false;
  CKernels c_kernels_ = CKernels::portable;
  std::vector<std::string> wishes_{};
  std::map<TensorId, std::string> constants_{};
  Places places_{};
  std::map<std::string, std::string> references_{};
  std::string definitions_of_again_{};  ///< Of rows that are computed again.
  Bytes bytes_of_again_ = 0;
  std::vector<TensorId> outside_{};
  std::map<TensorId, Repeats> repeats_{};
  std::map<TensorId, std::string> again_{};
  std::string counter_{};
  std::string externs_{};
  std::optional<Position> at_{};
  std::int64_t granule_ = 1;
  bool is_open_ = false;
  std::vector<Position> times_{};
  mutable std::map<TensorId, MovingRows> moving_{};     ///< Those that were asked for.
  std::map<TensorId, std::string> staged_{};            ///< Arrays of constants.
  std::map<TensorId, std::string> places_of_moving_{};  ///< Names of arrays of places.
};

/// A constant that a function uses.
struct LayerConstant {
  std::string type{};
  std::string name{};
  std::string fields{};
};

/// A C function that computes an operator, or one of its row blocks.
struct Function {
  std::string name{};
  std::string callees{};  ///< Definitions of the functions that only it calls, with their comments.
  std::vector<LayerConstant> layers{};
  std::string tables{};     ///< Definitions of tables with names of layers and places.
  std::string part{};       ///< The argument for its block: ", 2"; empty if it has no parameter.
  bool reads_done = false;  ///< It gets the numbers of steps that have run.
  bool reads_now = false;   ///< It gets the number of all of them.
  bool reads_open = false;  ///< It gets the numbers of rows that are open.
  std::string text{};       ///< Empty: it is the function of another block.
};

/// Its constants, its tables and itself.
[[nodiscard]] std::string definition_of(const Function& function);

/// "conv_2d_7"
[[nodiscard]] std::string function_name(const Operator& op, std::string_view label);

/// How the steps of a plan run an operator.
struct StepKind {
  std::size_t op = 0;
  std::optional<std::size_t> axis{};  ///< It runs by rows along this axis.
  std::optional<Sums> sums{};         ///< Then its rows are those of the first input.
  std::optional<Sums> carry{};        ///< What it carries from row to row.
  bool adds_parts = false;            ///< Its steps add some rows of its input to rows of its output.
  bool is_first_pass = false;  ///< Its rows only add to sums, with which a second pass makes the output.
  std::int64_t granule = 1;    ///< Rows of a step.
  bool is_one_step = false;    ///< One step computes all rows.
  Position position = 0;       ///< Of its first step.
  std::optional<Copy> copy{};  ///< It is no operator, but moves a tensor to another memory.
  std::size_t subgraph = 0;
  std::string within{};  ///< For an operator of a body: "5_2_" if operator 5 runs that, subgraph 2.
  std::vector<std::vector<StepKind>> bodies{};  ///< The steps of each of its bodies.
};

[[nodiscard]] inline const Operator& op_of(const Graph& graph, const StepKind& kind) {
  return graph.subgraphs[kind.subgraph].operators[kind.op];
}

/// "7", "7b24", "5_2_7": see Sources::label and StepKind::within.
[[nodiscard]] inline std::string number_of(const Sources& sources, const StepKind& kind) {
  return kind.within.empty() ? sources.label(kind.op) : kind.within + std::to_string(kind.op);
}

/// "RELU: 1x8 to 1x8", as a comment of C.
[[nodiscard]] std::string comment_of(const Graph& graph, const StepKind& kind);

/// An operand as an operator's kernel sees it: a tensor, or a row of it.
struct Operand {
  std::string at{};  ///< A C expression: a pointer to its first element.
  DType dtype = DType::unknown;
  Shape shape{};

  [[nodiscard]] std::int64_t count() const { return kernels::count_of(shape); }
};

/// A tensor, or a row of it, whose elements have these distances.
struct Strided {
  std::string at{};
  Shape strides{};
};

/// A channel of an image: elements of a plane follow each other, others are `step` elements apart.
struct Channel {
  std::string at{};
  std::int64_t row = 0;  ///< Elements from one row to the next.
  std::int64_t step = 1;
};

/// Writes the function of one operator. All queries throw kernels::Unsupported.
class Writer {
 public:
  Writer(Sources& sources, const StepKind& kind);

  [[nodiscard]] const Operator& op() const { return *op_; }
  [[nodiscard]] const StepKind& kind() const { return kind_; }
  /// The operator with the whole shapes, and as it computes one row: see `row_axis`.
  [[nodiscard]] const kernels::Signature& signature() const { return signature_; }
  [[nodiscard]] const kernels::Signature& seen() const;
  [[nodiscard]] Sources& sources() { return sources_; }
  [[nodiscard]] const Sources& sources() const { return sources_; }
  /// How it reads rows; null if it runs as a whole, or carries something from row to row.
  [[nodiscard]] const RowAxis* axis() const { return axis_; }
  /// How it carries something from row to row; null if it does not.
  [[nodiscard]] const CarriedAxis* carried() const { return carried_; }
  /// Declares a pointer to what the plan keeps for its sums, or carries from row to row.
  void declare_kept(const Sums& kept, std::string_view type, std::string_view name);

  /// Operands of `seen()`: row y if the operator runs by rows.
  [[nodiscard]] Operand input(std::size_t i);
  [[nodiscard]] Operand output(std::size_t i = 0);
  /// Memory that it needs while it runs: Operator::scratch.
  [[nodiscard]] Operand scratch(std::size_t i) {
    return operand(op_->scratch.at(i), std::nullopt, "0", false);
  }
  /// The first part of that with so many bytes, as a C expression of its bytes. Refuses one that is not aligned so.
  [[nodiscard]] std::optional<std::string> planned_scratch(Bytes wanted, Bytes alignment) const;
  /// The same, NULL of 0 bytes; refuses a plan that has none.
  [[nodiscard]] std::string needed_scratch(Bytes wanted, Bytes alignment) const;
  /// An input that the operator changes: state.
  [[nodiscard]] Operand state(std::size_t i);
  /// Row `index` (a C expression) along an axis.
  [[nodiscard]] Operand input_row(std::size_t i, std::size_t axis, std::string_view index);
  [[nodiscard]] Operand output_row(std::size_t axis, std::string_view index);
  /// Fills `rows` with the rows of an input under a window.
  void window(std::size_t i, std::size_t axis, std::string_view first, const kernels::Window& window,
              std::string_view rows = "rows");
  [[nodiscard]] Storage storage_of_input(std::size_t i) const;
  /// Operands of `seen()` with the distances of their elements, which may be those of a whole tensor.
  [[nodiscard]] Strided strided_input(std::size_t i, std::string_view index = "y");
  [[nodiscard]] Strided strided_output();
  /// A channel (a C expression) of the first input or output.
  [[nodiscard]] Channel input_channel(std::string_view index) {
    return channel(op_->inputs.at(0).value(), index, true);
  }
  [[nodiscard]] Channel output_channel(std::string_view index) {
    return channel(op_->outputs.at(0).value(), index, false);
  }
  /// Row `index` of an image [1, channels, height, width]: elements of a channel follow each other, those of the next
  /// are `row` elements behind them.
  [[nodiscard]] Channel image_row_of_input(std::string_view index, std::size_t i = 0) {
    return image_row(op_->inputs.at(i).value(), index, true);
  }
  [[nodiscard]] Channel image_row_of_output(std::string_view index) {
    return image_row(op_->outputs.at(0).value(), index, false);
  }
  /// The operator's own number, or that of its block.
  [[nodiscard]] std::string number() const { return number_of(sources_, kind_); }

  /// Notes that a constant input is this array, which is a member of the next layer. Returns the array.
  std::string stores(std::size_t input, std::string_view member, std::string array);
  /// The name of a constant of a layer's type; of a copy of it if what it points to may be staged in another memory.
  std::string layer(std::string_view type, std::string_view fields);
  void need(std::string_view kernel) { sources_.need(kernel); }
  void need_math() { sources_.need_math(); }
  /// A declaration at the begin of the function, where it is once.
  void declare(std::string_view declaration);
  /// A line of the body, which computes row y if there are rows.
  void line(std::string_view text);
  /// For an operator that makes each element of elements at the same place. A row of a whole image is apart, a run of
  /// each channel: then the body computes one of them, and operands are those of one. Else nothing changes.
  void take_planes();
  /// The C expression behind an array with an element for each channel: "" or " + plane".
  [[nodiscard]] std::string of_plane() const { return plane_ ? " + plane" : ""; }
  /// The body computes one of so many rows, also where the plan runs the operator as a whole.
  void loop_over(std::int64_t rows) { rows_ = rows; }
  /// The name of the place of an input's rows.
  [[nodiscard]] std::string input_place(std::size_t i, std::size_t axis);

  /// Whether it runs as a whole, or computes rows that are all alike.
  [[nodiscard]] bool is_alike() const { return is_alike_; }
  [[nodiscard]] Function take();

 private:
  [[nodiscard]] Channel channel(TensorId tensor, std::string_view index, bool is_read);
  [[nodiscard]] Channel image_row(TensorId tensor, std::string_view index, bool is_read);
  /// The stowage_again of a tensor, and how many of its steps have run.
  std::string versions(TensorId tensor, std::size_t axis);
  /// A row, or all, of a tensor that moves.
  RowNow row_now(TensorId tensor, std::optional<std::size_t> axis, std::string_view index);
  [[nodiscard]] Operand operand(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                                bool is_read);
  /// The same, before planes are taken.
  [[nodiscard]] Operand row_or_whole(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                                     bool is_read);
  [[nodiscard]] Strided strided(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                                bool is_read);
  [[nodiscard]] bool is_in_one_piece(TensorId tensor) const;
  /// Whether rows of a tensor along an axis are apart in memory, although it is in one piece.
  [[nodiscard]] bool has_rows_apart(TensorId tensor, std::size_t axis) const;

  Sources& sources_;
  StepKind kind_;
  const Operator* op_;
  kernels::Signature signature_;
  kernels::Signature seen_;
  std::string no_row_;  ///< Why it cannot be seen as it computes one row.
  const RowAxis* axis_ = nullptr;
  const CarriedAxis* carried_ = nullptr;
  bool is_alike_ = true;
  Function function_{};
  /// A constant input in a layer.
  struct Stored {
    std::size_t input = 0;
    std::string member{};
    std::string array{};
  };
  std::vector<Stored> stored_{};  ///< Of the next layer.
  std::string declarations_{};
  std::string body_{};
  std::optional<std::int64_t> rows_{};
  std::optional<std::size_t>
      plane_{};  ///< The dimension of the channels, counted from the last one, which is 1.
  std::int64_t planes_ = 1;
};

/// Writes the function of steps that move a tensor, or its rows.
[[nodiscard]] Function move_of(Sources& sources, const StepKind& kind);

/// Writes the operator's function; an extern one only calls what the user writes. Throws kernels::Unsupported
/// with a reason in words.
[[nodiscard]] Function function_of(Sources& sources, const StepKind& kind, bool is_extern);

/// Writes the body of an operator's function.
using Emit = void (*)(Writer& writer);

/// Calls a function that the user writes, and declares it.
void emit_extern(Writer& writer);

/// What an operator does where the plan runs it by rows.
enum class RowHandling : std::uint8_t {
  alike,     ///< It is written for tensors of one row; impossible unless `has_rows_alike`.
  elements,  ///< The same, and each element is made of elements at the same place.
  own        ///< Its writer knows.
};

struct EmitEntry {
  std::string_view type{};
  Emit emit = nullptr;
  RowHandling rows = RowHandling::alike;
  bool needs_first_output = true;  ///< Else it may be left out if there is another.
};

using EmitPart = std::vector<EmitEntry>;

// The operators, by the file that defines them.
[[nodiscard]] EmitPart window_operators();
[[nodiscard]] EmitPart pool_operators();
[[nodiscard]] EmitPart element_operators();
[[nodiscard]] EmitPart element_functions();
[[nodiscard]] EmitPart cast_operators();
[[nodiscard]] EmitPart movement_operators();
[[nodiscard]] EmitPart asked_movement_operators();
[[nodiscard]] EmitPart computed_movement_operators();
[[nodiscard]] EmitPart fourier_operators();
[[nodiscard]] EmitPart detection_operators();
[[nodiscard]] EmitPart ml_operators();
[[nodiscard]] EmitPart volume_operators();
[[nodiscard]] EmitPart gathering_operators();
[[nodiscard]] EmitPart padding_operators();
[[nodiscard]] EmitPart reduction_operators();
[[nodiscard]] EmitPart folding_operators();
[[nodiscard]] EmitPart product_operators();
[[nodiscard]] EmitPart einsum_operators();
[[nodiscard]] EmitPart layer_norm_operators();
[[nodiscard]] EmitPart carrying_operators();
[[nodiscard]] EmitPart resizing_operators();
[[nodiscard]] EmitPart onnx_operators();
[[nodiscard]] EmitPart onnx_resizing_operators();
[[nodiscard]] EmitPart image_window_operators();
[[nodiscard]] EmitPart transposed_operators();
[[nodiscard]] EmitPart variable_operators();
[[nodiscard]] EmitPart quantized_operators();
[[nodiscard]] EmitPart quantized_joins();
[[nodiscard]] EmitPart recurrent_operators();
[[nodiscard]] EmitPart dynamic_operators();

}  // namespace stowage::generate
