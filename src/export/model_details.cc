#include <fmt/format.h>
#define XXH_INLINE_ALL  // no library
#include <xxhash.h>

#include <string_view>

#include "import/tflite.h"
#include "import/tflite_tables.h"
#include "stowage/export.h"

namespace stowage {

using import::at;
using import::count;

ModelDetails model_details(std::string_view bytes) {
  ModelDetails details{.hash = XXH64(bytes.data(), bytes.size(), 0),
                       .bytes = static_cast<Bytes>(bytes.size())};
  if (!import::looks_like_tflite(bytes)) return details;
  const import::TfliteFile file({.bytes = bytes});
  import::ReadingBudget budget(bytes.size());
  for (std::size_t s = 0; s < count(file.model().subgraphs()); ++s) {
    const tflite::SubGraph& subgraph = at(file.model().subgraphs(), s);
    budget.spend((1 + count(subgraph.tensors())) * import::smallest_table);
    for (std::size_t t = 0; t < count(subgraph.tensors()); ++t) {
      const tflite::Tensor& tensor = at(subgraph.tensors(), t);
      const std::string_view data = import::stored_data(file.model(), file.bytes(), tensor);
      details.data_at.emplace_back();
      if (!data.empty()) details.data_at.back() = data.data() - file.bytes().data();
      const auto* const quantization = tensor.quantization();
      const bool is_one = quantization != nullptr && count(quantization->scale()) == 1;
      details.scales.push_back(is_one ? quantization->scale()->Get(0) : 0.0F);
      details.zero_points.push_back(
          is_one && count(quantization->zero_point()) > 0 ? quantization->zero_point()->Get(0) : 0);
    }
  }
  return details;
}

}  // namespace stowage
