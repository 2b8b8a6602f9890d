/// Example: options for a memory of 1 KiB, in the order of the file.
///
///     stowage::PlanOptions options;
///     options.memories = {{.name = "SRAM", .capacity = 1024}};
///     options.order = stowage::Order::keep;
///     return options.io == stowage::Io::arena && options.memories[0].capacity == 1024 ? 0 : 1;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stowage/problem.h"

namespace stowage {

/// Who provides the memory of inputs and outputs of the network.
enum class Io : std::uint8_t {
  arena,     ///< The plan: they are buffers like all others.
  external,  ///< The caller: they cost nothing here.
  rows       ///< Only with streaming: inputs arrive row by row; each output row leaves once it is computed.
};

/// Which tensors may share bytes because one repeats or replaces the other.
enum class Alias : std::uint8_t {
  none,       ///< No two tensors that are live at the same time.
  automatic,  ///< As many as possible without raising the peak.
  all         ///< All that are allowed: removes most copies, but the peak may rise.
};

/// Whether tensors may be copied between memories during a run.
enum class Moves : std::uint8_t { none, allowed };

/// The runtime whose kernels run the plan. It decides which aliases are supported.
enum class Target : std::uint8_t {
  any,  ///< Kernels that know the places of their tensors: all aliases.
  tflm  ///< Stock kernels of TensorFlow Lite Micro: only reshapes (docs/tflm.md).
};

/// The order of operators.
enum class Order : std::uint8_t {
  keep,   ///< The file's order, or the nearest one that respects all dependences.
  search  ///< The order with the lowest peak found; the file's order if no other order is better.
};

/// An output of a model that is an input of another one, each as MODEL.TENSOR.
struct FeedNames {
  std::string output{};
  std::string input{};
};

/// Where the rows of a streamed tensor are stored.
enum class StreamLayout : std::uint8_t {
  automatic,  ///< Whatever gives the lowest peak.
  /// The order is an affine schedule, so that loops can run it, and rows lie in rings that loops can address.
  ring,
  granules  ///< Each row block lies by itself, wherever there is room.
};

/// The axes of tensors that rows are along.
enum class StreamAxes : std::uint8_t {
  searched,  ///< Whichever give the lowest peak found.
  natural    ///< The height of images and the rows of matrices, and what follows from them.
};

/// Whether operators and tensors are split into blocks along a second axis: heads, channels.
enum class StreamBlocks : std::uint8_t {
  searched,  ///< Where that gives the lowest peak found.
  none
};

/// How a network runs row by row instead of operator by operator.
struct StreamOptions {
  /// The operators that run row by row, each by name, by number in the file ("7"), by a range of numbers
  /// ("3-9"), or by type ("CONV_2D"). All others run as a whole. Empty: all that can.
  std::vector<std::string> operators{};
  /// Rows that one step computes (a row block), at least 1. Default: as few as there is time to plan with.
  std::optional<std::int64_t> granule{};
  /// Multiplies that may run, as a multiple of those of the network, at least 1. Default 1.
  double recompute = 1;
  /// With it, plans are made for several limits of multiplies, from this one to `recompute`. The result is the
  /// plan with the lowest peak, and `Streaming::curve` has them all. At least 1, at most `recompute`.
  std::optional<double> recompute_from{};
  StreamLayout layout = StreamLayout::automatic;
  StreamAxes axes = StreamAxes::searched;
  StreamBlocks blocks = StreamBlocks::searched;
};

/// Where an earlier plan has put a buffer.
struct NearPlace {
  std::string memory{};  ///< Its name.
  std::string buffer{};  ///< Its id.
  Bytes offset = 0;
};

/// Where a tensor of a model shall be.
struct TensorPlace {
  std::string tensor{};  ///< With several models, MODEL.TENSOR.
  std::string memory{};  ///< Its name.
  std::optional<Bytes> offset{};
};

/// Equal parts of a memory, one after the other. Each serves one access at a time.
struct Banks {
  std::int64_t count = 1;
  Bytes size = 0;
};

struct PlanOptions {
  SolveOptions solve{};
  /// The memories to plan in, fastest first; at least one. Default: one unlimited memory.
  std::vector<Memory> memories{{.name = "arena"}};
  /// Alignment in bytes of every buffer for which the list gives none. Default: 64 for ONNX and graph JSON,
  /// 16 for TFLite, 1 for lists.
  std::optional<Bytes> alignment{};
  Io io = Io::arena;
  Order order = Order::search;
  Alias alias = Alias::automatic;
  /// With several memories: whether tensors move between them during a run.
  Moves moves = Moves::none;
  Target target = Target::any;
  /// Run networks row by row. Operators with bodies run as wholes, and so do these.
  std::optional<StreamOptions> stream{};
  /// Which models run one after the other and which at the same time: "A; B | C", docs/several-models.md.
  /// Empty: one after the other, as given.
  std::string run{};
  std::vector<FeedNames> feeds{};
  /// State that several models share: the output becomes this input of another model, whenever that runs next. All
  /// tensors that these and the ties of the networks join are one buffer.
  std::vector<FeedNames> states{};
  /// Outputs, each as MODEL.TENSOR, that the caller takes when their model has run. Later models may use
  /// their bytes; a fed output is kept for its readers. All other outputs stay until all models have run.
  std::vector<std::string> released{};
  /// Places to keep where they fit the capacity or, without one, raise no peak: of buffers with the same id in a
  /// memory of the same name. The search gets half of the time limit. Empty: none.
  std::vector<NearPlace> near{};
  /// Tensors with a memory, and perhaps an offset, of their own. Such a tensor shares no bytes but with state. Offsets
  /// are for models that run whole operators, not in branches.
  std::vector<TensorPlace> places{};
  /// Operands of one operator shall lie in different banks of the fastest memory, whose capacity is that of all banks;
  /// its peak does not count then. For models. Buffers that `near` keeps in place do not move.
  std::optional<Banks> banks{};
};

}  // namespace stowage
