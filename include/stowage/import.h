/// Example: a buffer list from memory.
///
///     const std::string list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
///     const stowage::Input input = stowage::parse_input(list, "list.csv");
///     const auto& problem = std::get<stowage::Problem>(input.content);
///     return problem.buffers.size() == 2 ? 0 : 1;
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage {

/// The output that becomes the named input of the next run. A star in both stands for the same part of many names.
struct StateNames {
  std::string output{};
  std::string input{};
};

/// Scratch memory that the kernel of an operator needs while it runs.
struct ScratchRequest {
  std::size_t subgraph = 0;
  std::size_t op = 0;  ///< Index of the operator in its subgraph of the file.
  Bytes bytes = 0;
};

/// A size that a model file leaves open, as the user gives it.
struct GivenSize {
  GivenSize(std::int64_t size) : most(size) {}  // NOLINT(google-explicit-constructor): most sizes are numbers
  GivenSize(std::int64_t smallest, std::int64_t largest, std::int64_t distance = 1)
      : most(largest), least(smallest), step(distance) {}

  std::int64_t most = 0;
  /// The plan must hold for every size from `least` to `most`. None: if the caller decides the size, it is
  /// exactly `most`; if the network computes it, it is at most `most`.
  std::optional<std::int64_t> least{};
  std::int64_t step = 1;  ///< Of the sizes from `least` to `most`, those at whole steps from `least`.

  bool operator==(const GivenSize&) const = default;
};

using GivenShape = std::vector<GivenSize>;

/// The elements of an input, in row-major order.
using GivenValue = std::vector<Number>;

/// The shape with the largest of the given sizes.
[[nodiscard]] Shape largest(const GivenShape& shape);

/// Values that a model file leaves open. A name that the model does not have is a UsageError.
struct ImportOptions {
  std::map<std::string, GivenSize> dims{};     ///< Values of symbolic dimensions.
  std::map<std::string, GivenShape> shapes{};  ///< Shapes of tensors, by tensor name.
  std::map<std::string, Bytes> bounds{};       ///< Upper bounds in bytes, for sizes that depend on data.
  /// Elements of small inputs that decide sizes, by name. They hold in every run; what follows from them is folded.
  std::map<std::string, GivenValue> values{};
  std::vector<StateNames> states{};
  std::vector<ScratchRequest> scratch{};
  /// Take a TFLite file as it is, as TensorFlow Lite Micro does: open sizes have the shapes in the file, and every
  /// operator runs, even if its inputs are constant.
  bool file_shapes = false;
  /// Read the model at each size of the ranges, of which there may be 65536 at most. Else it is read at some of them, which
  /// is evidence that it is alike at the others.
  bool every_size = false;
  /// Also find the bytes of weights and instructions. They are read only when they are used.
  bool constants = false;
  /// Names of inputs that each run gives. An input of an ONNX file that has a value there is a constant unless it is
  /// named here, in `shapes` or in `values`. Other names do not count.
  std::set<std::string> inputs{};
};

/// How a folded operator computes a constant. Equal operations with equal inputs give equal results.
struct Recipe {
  /// The operator with version and attributes, the types and shapes of its inputs, and the index of the
  /// output.
  std::string operation{};
  std::vector<std::optional<TensorId>> inputs{};  ///< None: omitted.

  bool operator==(const Recipe&) const = default;
};

/// What is known about constants, by tensor: their bytes (in mapped files or in separate memory), or how they
/// are computed. Copies of this object share the bytes.
class Constants {
 public:
  /// The bytes of the tensor; empty if they are not known.
  [[nodiscard]] std::span<const std::byte> of(TensorId tensor) const;
  /// The element that fills the whole tensor; empty for other tensors.
  [[nodiscard]] std::span<const std::byte> element_of(TensorId tensor) const;
  /// How the tensor is computed; null if that is unknown or the tensor is not computed. Recipes have no
  /// cycles.
  [[nodiscard]] const Recipe* recipe_of(TensorId tensor) const;

  /// The bytes are not copied: keep their owner alive with `hold`.
  void set(TensorId tensor, std::span<const std::byte> bytes);
  void set(TensorId tensor, std::vector<std::byte> bytes);
  void set_element(TensorId tensor, std::vector<std::byte> element);
  void set_recipe(TensorId tensor, Recipe recipe);
  /// Gives the tensor everything that is known about tensor `as` so far.
  void set_same(TensorId tensor, TensorId as);
  /// Keeps the owner of bytes alive as long as this object and its copies.
  void hold(std::shared_ptr<const void> owner);

 private:
  /// At most one of them is set.
  struct Known {
    std::span<const std::byte> bytes{};
    std::span<const std::byte> element{};
    std::shared_ptr<const Recipe> recipe{};
  };

  [[nodiscard]] const Known* find(TensorId tensor) const;
  Known& at(TensorId tensor);
  std::span<const std::byte> keep(std::vector<std::byte> bytes);

  std::vector<Known> known_;
  std::vector<std::shared_ptr<const void>> owners_;
};

/// The contents of a file: a network, or a list of buffers without a network.
struct Input {
  ModelInfo info{};
  std::variant<Graph, Problem> content{};
  Constants constants{};  ///< Of a network, if ImportOptions::constants is set.
  /// What was assumed of sizes that the file leaves open or contradicts itself about, in words; empty: nothing.
  std::string note{};
};

/// Reads ONNX, TFLite, graph JSON, buffer CSV or a memory-operation sequence. The content decides the format,
/// then the file extension. Loads only weights that shapes depend on. Throws Error if the file is wrong, and
/// UsageError if an option does not fit it.
[[nodiscard]] Input read_input(const std::filesystem::path& file, const ImportOptions& options = {});

/// The same for a file in memory, which is copied if constants are wanted. `name` is its name in messages and
/// gives its extension; without one, the content alone decides the format. Constants in other files are searched
/// for in the folder of `name`.
[[nodiscard]] Input parse_input(std::string_view content, const std::string& name,
                                const ImportOptions& options = {});

/// Reads a scratch list: CSV with the columns `operator,bytes` and optionally `subgraph`. Throws Error.
[[nodiscard]] std::vector<ScratchRequest> parse_scratch(std::string_view csv);

}  // namespace stowage
