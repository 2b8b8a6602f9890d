// Rewrites a TFLite file without what a microcontroller never reads: names, descriptions, signatures, metadata
// for other programs, old ranges of values, and data that nothing refers to. Everything is read into objects
// and written anew, so bytes that no table reaches are gone as well. Buffers keep their indices, since metadata
// may name them.
//
// Cost: the size of the file.

#include <fmt/format.h>

#include <array>
#include <memory>
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

/// A whole file as objects.
tflite::ModelT unpacked(std::string_view bytes) {
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
  return model;
}

std::string packed(const tflite::ModelT& model, std::size_t about) {
  flatbuffers::FlatBufferBuilder builder(about);
  tflite::FinishModelBuffer(builder, tflite::CreateModel(builder, &model));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

/// The tables of compressed weights. Their form is checked when the model's kernels are looked at.
tflite::CompressionT compression_of(const tflite::ModelT& model) {
  tflite::CompressionT compression;
  for (const auto& entry : model.metadata) {
    if (entry->name != "COMPRESSION_METADATA" || entry->buffer >= model.buffers.size()) continue;
    const auto& data = model.buffers[entry->buffer]->data;
    if (!data.empty()) flatbuffers::GetRoot<tflite::Compression>(data.data())->UnPackTo(&compression);
  }
  return compression;
}

/// Indices of buffers that tensors, metadata and tables of compressed weights name.
std::set<std::size_t> buffers_in_use(const tflite::ModelT& model) {
  std::set<std::size_t> used{0};
  for (const auto& subgraph : model.subgraphs) {
    for (const auto& tensor : subgraph->tensors) used.insert(tensor->buffer);
  }
  for (const auto& entry : model.metadata) used.insert(entry->buffer);
  for (const auto& subgraph : compression_of(model).subgraphs) {
    for (const auto& tensor : subgraph->tensors) used.insert(tensor->value_buffer);
  }
  return used;
}

/// Indices of the tensors of a subgraph that anything in the file names.
std::set<std::int32_t> tensors_in_use(const tflite::ModelT& model, const tflite::CompressionT& compression,
                                      std::size_t s) {
  const tflite::SubGraphT& subgraph = *model.subgraphs[s];
  std::set<std::int32_t> used(subgraph.inputs.begin(), subgraph.inputs.end());
  used.insert(subgraph.outputs.begin(), subgraph.outputs.end());
  for (const auto& op : subgraph.operators) {
    for (const auto* const operands : {&op->inputs, &op->outputs, &op->intermediates})
      used.insert(operands->begin(), operands->end());
  }
  if (s < compression.subgraphs.size()) {
    for (const auto& tensor : compression.subgraphs[s]->tensors) used.insert(tensor->tensor);
  }
  return used;
}

/// An empty tensor: the numbers of all others stay.
std::unique_ptr<tflite::TensorT> without_bytes(const tflite::TensorT& tensor) {
  auto empty = std::make_unique<tflite::TensorT>();
  empty->name = tensor.name;
  empty->type = tensor.type;
  empty->shape = {0};
  return empty;
}

}  // namespace

std::string without_unread_parts(std::string_view bytes) {
  tflite::ModelT model = unpacked(bytes);
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
  return packed(model, bytes.size());
}

std::string without_unused_tensors(std::string_view bytes) {
  tflite::ModelT model = unpacked(bytes);
  const tflite::CompressionT compression = compression_of(model);
  bool has_unused = false;
  for (std::size_t s = 0; s < model.subgraphs.size(); ++s) {
    const std::set<std::int32_t> used = tensors_in_use(model, compression, s);
    auto& tensors = model.subgraphs[s]->tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (used.contains(static_cast<std::int32_t>(t))) continue;
      tensors[t] = without_bytes(*tensors[t]);
      has_unused = true;
    }
  }
  return has_unused ? packed(model, bytes.size()) : std::string(bytes);
}

}  // namespace stowage
