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
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage {

/// The output that becomes the named input of the next run.
struct StateNames {
  std::string output{};
  std::string input{};
};

/// Memory that the kernel of an operator wants while it runs.
struct ScratchRequest {
  std::size_t subgraph = 0;
  std::size_t op = 0;  ///< Index of the operator in the file.
  Bytes bytes = 0;
};

/// What a model file leaves open. A name that the model does not have is a UsageError.
struct ImportOptions {
  std::map<std::string, std::int64_t> dims{};  ///< Values of symbolic dimensions.
  std::map<std::string, Shape> shapes{};       ///< Shapes of tensors, by tensor name.
  std::map<std::string, Bytes> bounds{};       ///< Largest sizes of tensors whose size depends on data.
  std::vector<StateNames> states{};
  std::vector<ScratchRequest> scratch{};
  /// Also look where the bytes of weights and instructions are; they are read when they are wanted.
  bool constants = false;
};

/// How a folded operator computes a constant. Of the same operation and equal inputs the same comes out.
struct Recipe {
  /// The operator with its version and all that it is told, the types and shapes of its inputs, and which
  /// output it is.
  std::string operation{};
  std::vector<std::optional<TensorId>> inputs{};  ///< None: left out.

  bool operator==(const Recipe&) const = default;
};

/// What is known of constants, by tensor: their bytes, in mapped files or in memory of their own, or what
/// makes them. Copies share the bytes.
class Constants {
 public:
  /// Empty where the tensor's bytes are not there, or none.
  [[nodiscard]] std::span<const std::byte> of(TensorId tensor) const;
  /// The element that is all there is in the tensor, again and again; empty for others.
  [[nodiscard]] std::span<const std::byte> element_of(TensorId tensor) const;
  /// How the tensor is computed; null where that is not known, or nobody does. The tensors that a recipe
  /// reads have no recipe that reads this one.
  [[nodiscard]] const Recipe* recipe_of(TensorId tensor) const;

  /// Bytes that lie in something that is held.
  void set(TensorId tensor, std::span<const std::byte> bytes);
  void set(TensorId tensor, std::vector<std::byte> bytes);
  void set_element(TensorId tensor, std::vector<std::byte> element);
  void set_recipe(TensorId tensor, Recipe recipe);
  /// Makes the tensor's bytes those of another one, whatever is known of that.
  void set_same(TensorId tensor, TensorId as);
  /// Keeps what the bytes lie in as long as this and its copies live.
  void hold(std::shared_ptr<const void> owner);

 private:
  /// At most one of them is there.
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

/// A file, read: a network, or a list of buffers that nothing more is known of.
struct Input {
  ModelInfo info{};
  std::variant<Graph, Problem> content{};
  Constants constants{};  ///< Of a network, if the import was asked for them.
};

/// Reads ONNX, TFLite, graph JSON, buffer CSV or a memory-operation sequence; contents decide,
/// then the file's extension. Weights are not loaded beyond what shapes depend on. Throws Error
/// for anything wrong with the file, UsageError where an option does not fit it.
[[nodiscard]] Input read_input(const std::filesystem::path& file, const ImportOptions& options = {});

/// The same from memory; `name` is what messages call it and where its extension is taken from. Constants
/// that are in other files are looked for beside it.
[[nodiscard]] Input parse_input(std::string_view content, const std::string& name,
                                const ImportOptions& options = {});

/// Reads a scratch list: CSV with columns `operator,bytes` and optionally `subgraph`.
[[nodiscard]] std::vector<ScratchRequest> parse_scratch(std::string_view csv);

}  // namespace stowage
