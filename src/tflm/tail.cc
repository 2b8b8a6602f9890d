// The whole arena of TensorFlow Lite Micro. The tail is a stack that grows down: every piece is rounded down
// to its alignment. This repeats the runtime's calls in their order, with the sizes of its structs:
//
//     once            the allocator, the planner, resource variables
//     each model      tables of tensors and operators, options, data of kernels, scratch handles, variables,
//                     descriptions of inputs and outputs
//
//     | head, or temporary memory ->                                              <- tail |
//
// Until the head is planned, its place has temporary memory: the list of scratch requests, descriptions that
// an operator's kernel looks at, and the planner's own arrays. For small models that is what the arena must
// have room for. An interpreter that shares an arena starts behind the tails of those before it, and the head
// is as large as the largest. Source: TensorFlow Lite Micro, micro_allocator.cc, micro_interpreter.cc,
// micro_interpreter_graph.cc, micro_resource_variable.cc, greedy_memory_planner.cc.
//
// Cost: operands and tensors.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/checked.h"
#include "stowage/error.h"
#include "stowage/tflm.h"
#include "tflm/kernels.h"
#include "tflm/site.h"

namespace stowage::tflm {
namespace {

using import::at;
using import::count;
using import::TfliteFile;

/// Sizes of the runtime's structs.
struct Structs {
  Bytes pointer;
  Bytes arena_allocator;
  Bytes planner;
  Bytes allocator;
  Bytes options_allocator;
  Bytes subgraph;
  Bytes eval_tensor;
  Bytes node;
  Bytes tensor;
  Bytes quantization;
  Bytes handle;
  Bytes request;
  Bytes allocation_info;
  Bytes compressed_tensor;
  Bytes compressed_table;
  Bytes variables;
  Bytes variable;
};

Structs structs_of(const TflmRuntime& runtime) {
  Structs it = runtime.pointer_bytes == 8
                   ? Structs{8, 72, 72, 72, 16, 16, 24, 64, 64, 24, 8, 16, 32, 16, 16, 16, 40}
                   : Structs{4, 36, 44, 36, 8, 8, 12, 32, 40, 12, 4, 12, 24, 8, 8, 12, 20};
  const bool is_wide = runtime.pointer_bytes == 8;
  if (runtime.decompresses) it.subgraph += runtime.pointer_bytes;
  if (runtime.records) {
    it.arena_allocator = is_wide ? 104 : 52;
    const Bytes more = is_wide ? 24 : 12;
    it.allocator = (is_wide ? 248 : 124) + (runtime.decompresses ? more : 0);
  }
  return it;
}

constexpr Bytes int_bytes = 4;
constexpr Bytes planned_bytes = 40;  // of the planner's arrays, for each tensor and scratch request
constexpr Bytes most_requests_of_operator = 12;

class Arena {
 public:
  explicit Arena(const TflmRuntime& runtime) : runtime_(runtime), structs_(structs_of(runtime)) {
    charge("allocators");
    take(structs_.arena_allocator, structs_.pointer);
    take(structs_.planner, structs_.pointer);
    take(structs_.allocator, structs_.pointer);
  }

  TflmArena run(const std::vector<ArenaModel>& models) {
    std::size_t handles = 0;
    for (const ArenaModel& model : models) handles += variables_in(TfliteFile({.bytes = model.file}).model());
    if (handles > 0) {
      charge("resource variables");
      take(structs_.variables);
      take(structs_.variable * static_cast<Bytes>(handles));
    }
    for (const ArenaModel& model : models) {
      const Bytes before = tail_;
      add(model);
      result_.own_tails.push_back(tail_ - before);
    }
    charge("alignment");
    result_.tail = tail_;
    result_.size = base::align_up(needed_, tflm_alignment);
    for (const auto& [what, bytes] : parts_) result_.parts.push_back({what, bytes});
    return std::move(result_);
  }

 private:
  /// What follows is of this part.
  void charge(std::string_view part) {
    const auto found = std::ranges::find(parts_, part, [](const auto& it) { return it.first; });
    charged_ = static_cast<std::size_t>(found - parts_.begin());
    if (found == parts_.end()) parts_.emplace_back(part, 0);
  }

  void take(Bytes bytes, Bytes alignment = tflm_alignment) {
    const Bytes before = tail_;
    tail_ = base::align_up(tail_ + std::min(bytes, largest_value - tail_), alignment);
    parts_[charged_].second += tail_ - before;
    need(front_);
  }

  /// Notes that this much of the front is used beside the tail.
  void need(Bytes front) { needed_ = std::max(needed_, front + tail_); }

  static std::size_t variables_in(const tflite::Model& model) {
    std::set<std::string> names;
    for (std::size_t s = 0; s < count(model.subgraphs()); ++s) {
      const tflite::SubGraph& subgraph = at(model.subgraphs(), s);
      for (std::size_t o = 0; o < count(subgraph.operators()); ++o) {
        const auto* const options = at(subgraph.operators(), o).builtin_options_as_VarHandleOptions();
        if (options != nullptr && options->shared_name() != nullptr)
          names.insert(options->shared_name()->str());
      }
    }
    return names.size();
  }

  void add(const ArenaModel& added) {
    const TfliteFile file({.bytes = added.file});
    const tflite::Model& model = file.model();
    front_ = 0;
    charge("tables");
    take(structs_.options_allocator, structs_.pointer);
    front_ = most_requests_of_operator * structs_.request;
    take(structs_.subgraph * static_cast<Bytes>(count(model.subgraphs())), structs_.pointer);
    add_compressed(model);
    add_tables(model);
    add_kernels(model);
    charge("tables");
    if (added.requests > 0) take(structs_.handle * static_cast<Bytes>(added.requests), structs_.pointer);
    plan(model, added);
    head_ = std::max(head_, added.head);
    result_.head = head_;
    front_ = head_;
    need(front_);
    charge("inputs and outputs");
    add_ends(at(model.subgraphs(), 0), at(model.subgraphs(), 0).inputs());
    add_ends(at(model.subgraphs(), 0), at(model.subgraphs(), 0).outputs());
  }

  void add_compressed(const tflite::Model& model) {
    if (!runtime_.decompresses) return;
    const auto compressed = compressed_tensors(model);
    charge("compressed weights");
    for (const auto& flags : compressed) {
      bool is_first = true;
      for (std::size_t i = 0; i < flags.size(); ++i) {
        if (!flags[i]) continue;
        take(structs_.compressed_tensor, structs_.pointer);
        take(structs_.compressed_table, structs_.pointer);
        if (is_first) take(structs_.pointer * static_cast<Bytes>(flags.size()), structs_.pointer);
        is_first = false;
      }
    }
  }

  void add_tables(const tflite::Model& model) {
    charge("tensors");
    for (std::size_t s = 0; s < count(model.subgraphs()); ++s)
      take(structs_.eval_tensor * static_cast<Bytes>(count(at(model.subgraphs(), s).tensors())),
           structs_.pointer);
    charge("operators");
    for (std::size_t s = 0; s < count(model.subgraphs()); ++s)
      take(structs_.node * static_cast<Bytes>(count(at(model.subgraphs(), s).operators())), structs_.pointer);
  }

  void add_kernels(const tflite::Model& model) {
    const auto compressed = compressed_tensors(model);
    std::vector<std::vector<KernelData>> all(count(model.subgraphs()));
    std::vector<std::vector<std::size_t>> requests(all.size());
    const auto for_each = [&](const auto& visit) {
      for (std::size_t s = 0; s < all.size(); ++s) {
        for (std::size_t o = 0; o < count(at(model.subgraphs(), s).operators()); ++o) visit(s, o);
      }
    };
    for_each([&](std::size_t s, std::size_t o) {
      const Site site(model, s, o, runtime_, compressed);
      const auto data = kernel_data_of(site);
      if (!data) result_.unknown.push_back({s, o});
      all[s].push_back(data.value_or(KernelData{}));
      requests[s].push_back(scratch_of(site).value_or(std::vector<Bytes>{}).size());
    });
    charge("operators");
    for_each([&](std::size_t s, std::size_t o) {
      if (const auto& options = all[s][o].options) take(options->bytes, options->alignment);
    });
    charge("kernels");
    for_each([&](std::size_t s, std::size_t o) {
      for (const Bytes bytes : all[s][o].init) take(bytes);
    });
    for_each([&](std::size_t s, std::size_t o) {
      charge("kernels");
      for (const Bytes bytes : all[s][o].prepare) take(bytes);
      add_resource(model, s, o);
      look_at(all[s][o].looks_at);
      front_ += structs_.request * static_cast<Bytes>(requests[s][o]);
    });
  }

  /// A resource variable's bytes, when it is first assigned.
  void add_resource(const tflite::Model& model, std::size_t s, std::size_t o) {
    const auto compressed = std::vector<std::vector<bool>>(count(model.subgraphs()));
    const Site site(model, s, o, runtime_, compressed);
    if (site.type() == "VAR_HANDLE") {
      const auto* const options = site.op().builtin_options_as_VarHandleOptions();
      if (options != nullptr && options->shared_name() != nullptr && site.output(0) != nullptr)
        handles_[site.output(0)] = options->shared_name()->str();
      return;
    }
    if (site.type() != "ASSIGN_VARIABLE" || site.input(0) == nullptr) return;
    const auto handle = handles_.find(site.input(0));
    if (handle != handles_.end() && !assigned_.insert(handle->second).second) return;
    charge("resource variables");
    take(runtime_bytes_of(site.input(1)));
  }

  /// Descriptions of these operands are in the front at the same time.
  void look_at(const std::vector<const tflite::Tensor*>& operands) {
    Bytes front = front_;
    for (const tflite::Tensor* const tensor : operands) {
      front = base::align_up(front, structs_.pointer) + structs_.tensor;
      if (const auto channels = static_cast<Bytes>(channels_of(tensor)); channels > 0)
        front = base::align_up(front, structs_.pointer) + structs_.quantization + int_bytes * (1 + channels);
    }
    need(front);
  }

  /// Room for the planner, and variables.
  void plan(const tflite::Model& model, const ArenaModel& added) {
    Bytes tensors = 0;
    Bytes planned = static_cast<Bytes>(added.requests);
    std::vector<Bytes> variables;
    for (std::size_t s = 0; s < count(model.subgraphs()); ++s) {
      const tflite::SubGraph& subgraph = at(model.subgraphs(), s);
      tensors += static_cast<Bytes>(count(subgraph.tensors()));
      for (std::size_t t = 0; t < count(subgraph.tensors()); ++t) {
        const tflite::Tensor& tensor = at(subgraph.tensors(), t);
        if (tensor.is_variable()) {
          variables.push_back(runtime_bytes_of(&tensor));
        } else if ((tensor.buffer() >= count(model.buffers()) ||
                    count(at(model.buffers(), tensor.buffer()).data()) == 0) &&
                   runtime_bytes_of(&tensor) > 0 && !handles_.contains(&tensor)) {
          ++planned;
        }
      }
    }
    const Bytes wanted = static_cast<Bytes>(added.requests) + most_requests_of_operator;
    Bytes front = structs_.request * wanted;
    front = base::align_up(front, structs_.pointer) +
            structs_.pointer * static_cast<Bytes>(count(model.subgraphs()));
    front = base::align_up(front, structs_.pointer) +
            structs_.allocation_info * (tensors + static_cast<Bytes>(added.requests));
    front_ = front;
    charge("variables");
    for (const Bytes bytes : variables) take(bytes);
    const Bytes tail = base::align_up(tail_, tflm_alignment);
    needed_ = std::max(needed_, base::align_up(front, tflm_alignment) + planned_bytes * planned + tail);
  }

  void add_ends(const tflite::SubGraph& subgraph, const flatbuffers::Vector<std::int32_t>* ends) {
    take(structs_.pointer * static_cast<Bytes>(count(ends)));
    for (flatbuffers::uoffset_t i = 0; i < count(ends); ++i) {
      const auto index = static_cast<std::size_t>(ends->Get(i));
      if (index >= count(subgraph.tensors())) throw Error("", "has an input or output that does not exist");
      take(structs_.tensor, structs_.pointer);
      const auto channels = static_cast<Bytes>(channels_of(&at(subgraph.tensors(), index)));
      if (channels == 0) continue;
      take(structs_.quantization, structs_.pointer);
      take(int_bytes * (1 + channels), int_bytes);
    }
  }

  TflmRuntime runtime_;
  Structs structs_;
  Bytes tail_ = 0;
  Bytes front_ = 0;   // bytes in use at the other end
  Bytes head_ = 0;    // the largest so far
  Bytes needed_ = 0;  // of the arena so far
  std::vector<std::pair<std::string_view, Bytes>> parts_{};
  std::size_t charged_ = 0;  // index of the part that pays
  std::map<const tflite::Tensor*, std::string> handles_{};
  std::set<std::string> assigned_{};
  TflmArena result_{};
};

}  // namespace
}  // namespace stowage::tflm

namespace stowage {

TflmArena tflm_arena(const std::vector<ArenaModel>& models, const TflmRuntime& runtime) {
  return tflm::Arena(runtime).run(models);
}

TflmPlan no_larger(std::string_view file, const Graph& graph, const TflmPlan& plan,
                   const TflmRuntime& runtime) {
  if (plan.plan.orders.empty()) return plan;
  const std::size_t requests = graph.tensors.size() - plan.plan.offsets.size();
  const std::string planned = with_offline_plan(file, plan.plan);
  const auto needs = [&](std::string_view content, Bytes head) {
    const TflmArena arena = tflm_arena({{content, head, requests}}, runtime);
    return std::pair(arena.size, arena.head + arena.tail);
  };
  if (needs(planned, plan.head) < needs(file, plan.own_head)) return plan;
  TflmPlan none{.plan = {.offsets = OfflineOffsets(plan.plan.offsets.size())},
                .head = plan.own_head,
                .own_head = plan.own_head,
                .may_ask = plan.may_ask};
  for (TensorId t = 0; t < plan.plan.offsets.size(); ++t) {
    if (plan.plan.offsets[t])
      none.left.push_back({t, "another order of operators does not make the arena smaller"});
  }
  return none;
}

}  // namespace stowage
