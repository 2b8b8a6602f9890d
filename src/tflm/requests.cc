// The scratch that a file's operators ask for: what the tables of stock kernels say, with what a user's list
// adds. A list replaces all requests of each operator that it names.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "import/tflite.h"
#include "stowage/error.h"
#include "stowage/tflm.h"
#include "tflm/kernels.h"
#include "tflm/site.h"

namespace stowage {

using import::at;
using import::count;

bool is_tflite(std::string_view file) { return import::looks_like_tflite(file); }

TflmRuntime runtime_for(std::string_view bytes, TflmRuntime runtime) {
  const import::TfliteFile file({.bytes = bytes});
  const auto compressed = tflm::compressed_tensors(file.model());
  if (std::ranges::all_of(compressed, [](const auto& flags) { return flags.empty(); })) return runtime;
  if (runtime.kernels != TflmKernels::reference)
    throw UsageError("--kernels: the model has compressed weights, which only the reference kernels take");
  runtime.decompresses = true;
  return runtime;
}

KernelRequests kernel_requests(std::string_view bytes, const TflmRuntime& runtime) {
  const import::TfliteFile file({.bytes = bytes});
  const tflite::Model& model = file.model();
  const auto compressed = tflm::compressed_tensors(model);
  KernelRequests requests;
  import::ReadingBudget budget(bytes.size());
  for (std::size_t s = 0; s < count(model.subgraphs()); ++s) {
    const std::size_t operators = count(at(model.subgraphs(), s).operators());
    const std::size_t tensors = count(at(model.subgraphs(), s).tensors());
    budget.spend((1 + operators + tensors) * import::smallest_table);
    for (std::size_t t = 0; s > 0 && t < tensors; ++t) {
      if (at(at(model.subgraphs(), s).tensors(), t).is_variable()) requests.without_offset.push_back(t);
    }
    for (std::size_t o = 0; o < operators; ++o) {
      const auto scratch = import::located(
          [&] {
            return tflm::scratch_of({model, s, o, runtime, compressed});
          },
          [&] { return fmt::format("operator {} of subgraph {}", o, s); });
      if (!scratch) requests.unknown.push_back({s, o});
      for (const Bytes size : scratch.value_or(std::vector<Bytes>{}))
        requests.scratch.push_back({s, o, size});
    }
  }
  return requests;
}

std::vector<ScratchRequest> completed(const KernelRequests& requests, const std::vector<ScratchRequest>& list,
                                      const Graph& graph) {
  const auto place = [](const auto& it) { return std::pair(it.subgraph, it.op); };
  std::set<std::pair<std::size_t, std::size_t>> listed;
  for (const ScratchRequest& request : list) listed.insert(place(request));
  for (const OperatorAt& it : requests.unknown) {
    if (listed.contains(place(it))) continue;
    throw UsageError(fmt::format(
        "--scratch: {} is not a stock operator, so nobody knows what it asks for, expected a line for it (of "
        "0 bytes if it asks for nothing)",
        describe(graph, it.subgraph, it.op)));
  }
  std::vector<ScratchRequest> all;
  for (const ScratchRequest& request : requests.scratch) {
    if (!listed.contains(place(request))) all.push_back(request);
  }
  all.insert(all.end(), list.begin(), list.end());
  std::ranges::stable_sort(all, {}, place);
  return all;
}

}  // namespace stowage
