// Rewrites a TFLite file without what a microcontroller never reads: names, descriptions, signatures, metadata
// for other programs, old ranges of values, and data that nothing refers to. Everything is read into objects
// and written anew, so bytes that no table reaches are gone as well. Buffers keep their indices, since metadata
// may name them.
//
// Cost: the size of the file.

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "import/tflite_tables.h"
#include "stowage/error.h"
#include "stowage/tflm.h"
#include "tflm/kernels.h"
#include "tflm/site.h"

namespace stowage {
namespace {

using import::at;
using import::count;

/// Metadata that the runtime reads.
constexpr std::array<std::string_view, 2> read_metadata{"OfflineMemoryAllocation", "COMPRESSION_METADATA"};

bool is_read(const std::string& name) {
  return std::ranges::find(read_metadata, name) != read_metadata.end();
}

/// Operators of TensorFlow Lite Micro have options that are known, or empty. Others cannot be written anew.
void expect_known(const tflite::Model& model) {
  const auto compressed = tflm::compressed_tensors(model);
  for (std::size_t s = 0; s < count(model.subgraphs()); ++s) {
    for (std::size_t o = 0; o < count(at(model.subgraphs(), s).operators()); ++o) {
      const tflm::Site site(model, s, o, tflm_32, compressed);
      if (site.is_custom() || tflm::is_stock_operator(site)) continue;
      throw UsageError(fmt::format(
          "--strip: operator {} of subgraph {} ({}) is not one of TensorFlow Lite Micro, and its options may "
          "have more than is known",
          o, s, site.type()));
    }
  }
  for (std::size_t b = 0; b < count(model.buffers()); ++b) {
    if (at(model.buffers(), b).offset() > 1)
      throw UsageError(
          fmt::format("--strip: buffer {} has its data behind the flatbuffer, expected it inside", b));
  }
}

/// Indices of buffers that tensors, metadata and tables of compressed weights name.
std::set<std::size_t> buffers_in_use(const tflite::ModelT& model) {
  std::set<std::size_t> used{0};
  for (const auto& subgraph : model.subgraphs) {
    for (const auto& tensor : subgraph->tensors) used.insert(tensor->buffer);
  }
  for (const auto& entry : model.metadata) {
    used.insert(entry->buffer);
    if (entry->name != "COMPRESSION_METADATA" || entry->buffer >= model.buffers.size()) continue;
    const auto& data = model.buffers[entry->buffer]->data;
    if (data.empty()) continue;
    tflite::CompressionT compression;
    flatbuffers::GetRoot<tflite::Compression>(data.data())->UnPackTo(&compression);
    for (const auto& subgraph : compression.subgraphs) {
      for (const auto& tensor : subgraph->tensors) used.insert(tensor->value_buffer);
    }
  }
  return used;
}

}  // namespace

std::string without_unread_parts(std::string_view bytes) {
  const import::TfliteFile file({.bytes = bytes});
  import::ReadingBudget budget(bytes.size());
  for (std::size_t s = 0; s < count(file.model().subgraphs()); ++s) {
    const tflite::SubGraph& subgraph = at(file.model().subgraphs(), s);
    budget.spend((1 + count(subgraph.tensors()) + count(subgraph.operators())) * import::smallest_table);
  }
  for (std::size_t b = 0; b < count(file.model().buffers()); ++b)
    budget.spend(import::smallest_table + count(at(file.model().buffers(), b).data()));
  expect_known(file.model());
  tflite::ModelT model;
  file.model().UnPackTo(&model);
  model.description.clear();
  model.signature_defs.clear();
  model.metadata_buffer.clear();
  std::erase_if(model.metadata, [](const auto& entry) { return !is_read(entry->name); });
  for (const auto& subgraph : model.subgraphs) {
    subgraph->name.clear();
    subgraph->debug_metadata_index = -1;
    for (const auto& tensor : subgraph->tensors) {
      tensor->name.clear();
      tensor->shape_signature.clear();
    }
  }
  const std::set<std::size_t> used = buffers_in_use(model);
  for (std::size_t b = 0; b < model.buffers.size(); ++b) {
    if (!used.contains(b)) model.buffers[b]->data.clear();
  }
  flatbuffers::FlatBufferBuilder builder(bytes.size());
  tflite::FinishModelBuffer(builder, tflite::CreateModel(builder, &model));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace stowage
