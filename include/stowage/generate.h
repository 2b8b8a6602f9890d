/// Example: C files that run a network inside its plan.
///
///     try {
///       const stowage::Network network = stowage::read_network("missing.tflite");
///       const stowage::PlanResult planned = stowage::make_plan(network.input);
///       const stowage::Package package = stowage::generate_package(network, planned.plan, {.name = "detector"});
///       return package.files.empty() ? 1 : 0;
///     } catch (const stowage::Error& error) {
///       return std::string(error.what()).find("missing.tflite") != std::string::npos ? 0 : 1;
///     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/buckets.h"
#include "stowage/network.h"
#include "stowage/open_rows.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/units.h"

namespace stowage {

/// Whose kernels the C calls: its own, or also the user's CMSIS-NN, built for processors with nothing more, with
/// the DSP extension (or nothing more), or with the vector extension MVE.
enum class CKernels : std::uint8_t { portable, cmsis_nn_scalar, cmsis_nn_dsp, cmsis_nn_mve };

struct GenerateOptions {
  /// Prefix of all names and files: a C identifier in lower case.
  std::string name = "model";
  /// How many random inputs the test program runs. Their outputs are those of our runner. With 0 the runner is not
  /// asked: the program runs one input and compares nothing.
  std::size_t cases = 1;
  /// Seed of the first case's inputs.
  std::uint64_t seed = 0;
  /// Values of inputs in all cases, by tensor name, or by MODEL.TENSOR if several models have it; others are random.
  std::map<std::string, Array> inputs{};
  /// Types of operators whose functions the user of the package writes; the header declares them.
  std::vector<std::string> externs{};
  /// Operators need `add_scratch_of_kernels`; one without it gets a portable kernel, or none if that needs it, too.
  CKernels kernels = CKernels::portable;
  /// The command line that makes the package, for its headers. Empty: unknown.
  std::string command{};
  std::vector<std::uint64_t> hashes{};  ///< XXH64 of the models' files, in their order. May be empty.
};

/// A text file; the path is relative to the folder of the package.
struct GeneratedFile {
  std::string path{};
  std::string content{};
};

/// How a program uses a model of a package, as README.md shows it.
struct PackageUse {
  std::string outlets{};     ///< Rows of a Markdown table: inputs and outputs with their types and shapes.
  std::string memories{};    ///< C that declares the memories of the plan.
  std::string calls{};       ///< C of functions that run the network once: `infer_NAME`.
  std::string parameters{};  ///< Of the function `NAME_run`; empty if rows come and go.
};

/// C files, and what they need on a device. Code and stack depend on the compiler.
struct Package {
  std::vector<GeneratedFile> files{};
  std::vector<PackageUse> uses{};  ///< One for each model.
  Bytes arena = 0;                 ///< All memories together, as planned.
  Bytes state = 0;    ///< Of a run that is under way, if inputs come by rows; and what is kept between runs.
  Bytes weights = 0;  ///< Constants: weights, biases, scales, tables of results.
  Bytes control = 0;  ///< Tables that say what runs when, and where rows are.
  Bytes layers = 0;   ///< What kernels are told of layers: sizes, scales, where weights are.
  std::size_t steps = 0;
  std::int64_t multiplies = 0;
};

/// Writes the network as C99 that runs the plan: the steps in their order, at their places (docs/generate.md).
/// The plan must be one that `check_plan` accepts for the network. Throws Error that lists all operators for
/// which there is no generated kernel, or that names what else the plan asks for in vain; UsageError if the
/// name is not a C identifier.
[[nodiscard]] Package generate_package(const Network& network, const Plan& plan,
                                       const GenerateOptions& options);

/// The network at a size.
using ReadNetworkAt = std::function<Network(std::int64_t size)>;

/// Writes a network whose rows are open: the functions of the C get the size. The plan and its rows are those of
/// `find_open_rows`, for networks as `read` gives them. The test runs several sizes, each with as many inputs as the
/// options say. Throws as for one size, and Error where the C of an operator depends on the size in another way than by
/// numbers of rows.
[[nodiscard]] Package generate_package(const Plan& plan, const OpenRows& rows, const ReadNetworkAt& read,
                                       const GenerateOptions& options);

/// The network at the sizes of a bucket.
using ReadNetworkOfBucket = std::function<Network(const BucketSizes& sizes)>;

/// Writes a network at several sizes: functions for each, weights with equal elements once, a function that chooses by
/// sizes, and one that runs the chosen one. The plans are those of `make_buckets`, of one network. Throws as for one size,
/// and Error for variables that are kept from run to run.
[[nodiscard]] Package generate_package(const Buckets& buckets, const ReadNetworkOfBucket& read,
                                       const GenerateOptions& options);

/// The same for several networks of one plan, that run one after the other or at the same time, in its order of models.
/// Names of functions and files are those of the options with that of the model behind.
[[nodiscard]] Package generate_package(std::span<const Network> networks, const Plan& plan,
                                       const GenerateOptions& options);

/// Gives operators the scratch memory that these kernels need while they run: more if a plan may run them by rows.
/// Operators that cannot do without, like RFFT2D, also get that of portable kernels. Those of `externs` get none.
void add_scratch_of_kernels(Network& network, CKernels kernels, bool by_rows,
                            const std::vector<std::string>& externs = {});

/// In plans that are made afterwards, operators that carry something from row to row run as a whole, except where C is
/// generated for that: InstanceNormalization and GroupNormalization of images, RNN, GRU and LSTM forward, and
/// UNIDIRECTIONAL_SEQUENCE_LSTM. Operators of these `externs` neither carry anything nor sum up rows.
void run_carriers_whole(Network& network, const std::vector<std::string>& externs = {});

/// A plan that is made for C, and the C.
struct PlannedPackage {
  PlanResult planned{};
  Package package{};      ///< Without files if the plan has faults, or lacks rows that are asked for.
  std::string no_rows{};  ///< Io::rows only: why inputs and outputs do not come and go by rows in the plan.
};

/// Called when a plan cannot be C: why not, and how the next plan is made ("without blocks").
using NoteOfPlanning = std::function<void(std::string_view why, std::string_view how)>;

/// Plans networks and writes them as C. Operators get the scratch of their kernels, and run as a whole where C needs
/// that. Blocks, and rows along axes that the search has chosen, may lie where no kernel reads them: then the networks
/// are planned again, without blocks and then without such axes. A single network with StreamLayout::automatic is also
/// planned with rings, in a quarter of the time: they need no lists of where rows are. The package has the layout that
/// takes fewer bytes of RAM and flash, and its README says what the other one takes. Throws as `make_plan` and
/// `generate_package` do.
[[nodiscard]] PlannedPackage plan_package(std::vector<Network> networks, const PlanOptions& options,
                                          const GenerateOptions& wanted, const NoteOfPlanning& note = {});

/// The rows that suit the kernels. CMSIS-NN computes lines of images with all of their channels: no columns, and no
/// channels alone.
[[nodiscard]] StreamOptions streaming_for(CKernels kernels);

/// The name of a model as a C identifier in lower case.
[[nodiscard]] std::string c_name_of(std::string_view model);

}  // namespace stowage
