// First every operator type must have a kernel; all missing ones are listed together, before anything
// runs. Then subgraphs are processed in order: folded operators run at once, in separate memory, so that
// later kernels are prepared with known constants.

#include "run/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/kernels.h"
#include "run/inputs.h"
#include "run/interpreter.h"
#include "run/refusals.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

constexpr std::size_t least_alignment = 16;  // of constants: the width of kernel loads

bool has_elements(const Argument& argument) { return kernels::count_of(argument.shape) > 0; }

class Preparation {
 public:
  Preparation(const Network& network, const RunOptions& options, std::span<const std::string> unknown,
              const Graph* like)
      : network_(network),
        graph_(network.graph()),
        options_(options),
        unknown_(unknown),
        like_(like),
        orders_(topological_orders(graph_)) {
    program_.graph = &graph_;
    program_.details = &network.details;
    program_.constants.resize(graph_.tensors.size());
    program_.computed.resize(graph_.tensors.size());
    for (const Subgraph& subgraph : graph_.subgraphs)
      program_.kernels.emplace_back(subgraph.operators.size());
    program_.tensors_of.resize(graph_.subgraphs.size());
    const auto owners = owners_of(graph_);
    for (TensorId t = 0; t < owners.size(); ++t) {
      if (owners[t]) program_.tensors_of[*owners[t]].push_back(t);
    }
  }

  Program take() {
    take_weights();
    is_done_.resize(graph_.subgraphs.size(), false);
    prepare_subgraph(0);
    if (refusals_.is_empty()) return std::move(program_);
    throw Error("", refusals_.words("that cannot be run", "stowage generate "));
  }

 private:
  /// Folded operators write their own constants.
  void take_weights() {
    std::vector<bool> is_computed(graph_.tensors.size(), false);
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const Operator& op : subgraph.operators) {
        for (const auto& output : op.outputs) {
          if (output) is_computed[*output] = true;
        }
      }
    }
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      const std::span<const std::byte> data = network_.input.constants.of(t);
      if (tensor.kind != TensorKind::weight || data.empty() || is_computed[t]) continue;
      use(t, data);
      if (!options_.random_weights || !tensor.shape || !is_constant_filled(tensor, data)) continue;
      make_room(t);
      randomize(t);
    }
  }

  /// Constants in files have the alignment of the file; those that kernels could not read are copied.
  void use(TensorId t, std::span<const std::byte> data) {
    program_.constants[t] = data;
    if (reinterpret_cast<std::uintptr_t>(data.data()) % least_alignment == 0) return;
    make_room(t);
    std::memcpy(program_.computed[t].data(), data.data(), data.size());
  }

  /// Allocates a constant that the file does not have.
  void make_room(TensorId t) {
    const auto size = static_cast<std::size_t>(graph_.tensors[t].bytes);
    program_.computed[t] = AlignedBytes(size);
    program_.constants[t] = {program_.computed[t].data(), size};
  }

  void randomize(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    fill_random_weight({program_.computed[t].data(), static_cast<std::size_t>(tensor.bytes)}, *tensor.shape,
                       tensor.name, *options_.random_weights);
  }

  void prepare_subgraph(std::size_t s) {
    if (is_done_[s]) return;
    is_done_[s] = true;
    for (const std::size_t o : orders_[s]) {
      const Operator& op = graph_.subgraphs[s].operators[o];
      if (op.folded && (op.outputs.empty() || take_value(op))) continue;
      for (const std::size_t body : op.bodies) prepare_subgraph(body);
      if (prepare_operator(s, o) && op.folded) fold(s, o);
    }
  }

  /// A Constant, and a folded result that does not depend on the values of inputs, is in the file's constants.
  bool take_value(const Operator& op) {
    const bool reads_values = !op.inputs.empty() && std::ranges::all_of(op.inputs, [&](const auto& input) {
      return !input || is_constant(graph_.tensors[*input].kind);
    });
    return !reads_values && take_known(op);
  }

  /// The file tells its only result.
  bool is_known(const Operator& op) const {
    if (!op.folded || op.outputs.size() != 1 || !op.outputs[0]) return false;
    const std::span<const std::byte> value = network_.input.constants.of(*op.outputs[0]);
    return !value.empty() && static_cast<Bytes>(value.size()) == graph_.tensors[*op.outputs[0]].bytes;
  }

  bool take_known(const Operator& op) {
    if (!is_known(op)) return false;
    use(*op.outputs[0], network_.input.constants.of(*op.outputs[0]));
    return true;
  }

  /// False if it has none to fold. A result that the file tells needs no kernel.
  bool prepare_operator(std::size_t s, std::size_t o) {
    const Operator& op = graph_.subgraphs[s].operators[o];
    if (!op.folded && std::ranges::find(unknown_, op.type) != unknown_.end()) return false;
    const std::string reason =
        is_control_flow(op) ? obstacle_to_control_flow(graph_, op, network_.details.at(s).at(o).attributes)
                            : make_kernel(s, o);
    if (reason.empty()) return true;
    if (!take_known(op)) refusals_.add(graph_, s, o, reason);
    return false;
  }

  /// Returns the obstacle; empty on success, or if only another operator failed.
  std::string make_kernel(std::size_t s, std::size_t o) {
    const Operator& op = graph_.subgraphs[s].operators[o];
    if (only_copies(graph_, op)) return "";
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *operands) {
        if (tensor && !graph_.tensors[*tensor].shape)
          return fmt::format("the shape of {} depends on data", describe(graph_, *tensor));
      }
    }
    const Signature signature = signature_of(network_, program_, s, o);
    const bool is_complete = std::ranges::none_of(signature.inputs, [](const auto& argument) {
      return argument && argument->is_constant && argument->constant.empty() && has_elements(*argument);
    });
    if (!op.folded) {
      for (const auto& output : op.outputs) {
        if (output && graph_.tensors[*output].kind == TensorKind::weight)
          return fmt::format("it writes to {}, which is constant", describe(graph_, *output));
      }
    }
    try {
      Kernel& kernel = program_.kernels[s][o];
      kernel = kernels::prepare(signature, options_.kernels);
      program_.scratch = std::max(program_.scratch, kernel.scratch);
      program_.held += kernel.held;
    } catch (const kernels::Unsupported& unsupported) {
      if (!is_complete && !refusals_.is_empty()) return "";
      if (!is_known(op)) refusals_.allow_function(graph_, op);
      return unsupported.reason;
    } catch (const Error& error) {
      throw Error(describe(graph_, s, o), error.what());
    }
    return "";
  }

  /// Runs an operator ahead of time; its outputs are constants from now on.
  void fold(std::size_t s, std::size_t o) {
    if (!refusals_.is_empty()) return;  // it might need one of those
    const Operator& op = graph_.subgraphs[s].operators[o];
    Call call{.subgraph = s, .op = o};
    for (const std::size_t body : op.bodies) call.bodies.push_back(calls_of(graph_, orders_, body));
    Home home(graph_);
    RunResult ignored;
    const RunOptions options;
    Interpreter interpreter({.program = program_, .home = home, .options = options, .result = ignored});
    interpreter.run(call);
    for (const auto& output : op.outputs) {
      if (!output) continue;
      const std::vector<std::byte> value = interpreter.read(*output);
      make_room(*output);
      std::copy(value.begin(), value.end(), program_.computed[*output].data());
      const bool is_weight = like_ == nullptr || like_->subgraphs[s].operators[o].folded;
      if (op.type == "ConstantOfShape" && options_.random_weights && is_weight &&
          is_constant_filled(graph_.tensors[*output], value))
        randomize(*output);
    }
  }

  const Network& network_;
  const Graph& graph_;
  const RunOptions& options_;
  std::span<const std::string> unknown_;
  const Graph* like_;
  std::vector<std::vector<std::size_t>> orders_;
  std::vector<bool> is_done_{};
  Program program_{};
  Refusals refusals_{};
};

}  // namespace

Argument argument_of(const Network& network, const Program& program, TensorId tensor) {
  const Tensor& own = network.graph().tensors[tensor];
  const auto& quantization = network.quantizations.at(tensor);
  return {.dtype = own.dtype,
          .shape = *own.shape,
          .quantization = quantization ? &*quantization : nullptr,
          .constant = program.constants[tensor],
          .is_constant = own.kind == TensorKind::weight};
}

Signature signature_of(const Network& network, const Program& program, std::size_t subgraph, std::size_t op) {
  const Operator& own = network.graph().subgraphs[subgraph].operators[op];
  const OperatorDetails& details = network.details.at(subgraph).at(op);
  Signature signature{.type = own.type, .version = details.version, .attributes = details.attributes};
  const auto argument = [&](const std::optional<TensorId>& tensor) {
    return tensor ? std::optional(argument_of(network, program, *tensor)) : std::nullopt;
  };
  for (const auto& input : own.inputs) signature.inputs.push_back(argument(input));
  for (const auto& output : own.outputs) signature.outputs.push_back(argument(output));
  return signature;
}

Program make_program(const Network& network, const RunOptions& options, std::span<const std::string> unknown,
                     const Graph* like) {
  return Preparation(network, options, unknown, like).take();
}

std::vector<Call> calls_of(const Graph& graph, const std::vector<std::vector<std::size_t>>& orders,
                           std::size_t subgraph) {
  std::vector<Call> calls;
  for (const std::size_t o : orders[subgraph]) {
    const Operator& op = graph.subgraphs[subgraph].operators[o];
    if (op.folded) continue;
    Call& call = calls.emplace_back(Call{.subgraph = subgraph, .op = o});
    for (const std::size_t body : op.bodies) call.bodies.push_back(calls_of(graph, orders, body));
  }
  return calls;
}

bool is_control_flow(const Operator& op) { return !op.bodies.empty(); }

bool only_copies(const Graph& graph, const Operator& op) {
  if (op.copies.empty() || is_control_flow(op)) return false;
  Bytes copied = 0;
  Bytes written = 0;
  for (const ByteCopy& copy : op.copies) copied += copy.size;
  for (const auto& output : op.outputs) written += output ? graph.tensors[*output].bytes : 0;
  return copied == written;
}

}  // namespace stowage::run
