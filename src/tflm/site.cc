// Facts of a file's operators for the tables of kernels. The file is verified as a flatbuffer, but numbers in
// it may have any value, so operands and sizes are checked here.

#include "tflm/site.h"

#include <flatbuffers/flexbuffers.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "stowage/error.h"
#include "tflm/kernels.h"

namespace stowage::tflm {
namespace {

using import::at;
using import::count;
using tflite::BuiltinOperator;

constexpr std::string_view compression_name = "COMPRESSION_METADATA";

std::vector<std::int32_t> operands_of(const flatbuffers::Vector<std::int32_t>* indices,
                                      const tflite::SubGraph& subgraph) {
  std::vector<std::int32_t> operands;
  for (flatbuffers::uoffset_t i = 0; i < count(indices); ++i) {
    const std::int32_t index = indices->Get(i);
    if (index < -1 || (index >= 0 && static_cast<std::size_t>(index) >= count(subgraph.tensors())))
      throw Error("", fmt::format("has tensor {}, but its subgraph has {} tensors", index,
                                  count(subgraph.tensors())));
    operands.push_back(index);
  }
  return operands;
}

const tflite::Compression* compression_in(const tflite::Model& model) {
  for (std::size_t i = 0; i < count(model.metadata()); ++i) {
    const tflite::Metadata& entry = at(model.metadata(), i);
    if (entry.name() == nullptr || entry.name()->string_view() != compression_name) continue;
    if (entry.buffer() == 0 || entry.buffer() >= count(model.buffers())) continue;  // as the runtime does
    const auto* const data = at(model.buffers(), entry.buffer()).data();
    if (count(data) == 0) continue;
    flatbuffers::Verifier verifier(data->data(), data->size());
    if (!verifier.VerifyBuffer<tflite::Compression>(nullptr))
      throw Error(fmt::format("metadata {} ({})", i, compression_name), "is not a flatbuffer");
    return flatbuffers::GetRoot<tflite::Compression>(data->data());
  }
  return nullptr;
}

}  // namespace

std::vector<std::vector<bool>> compressed_tensors(const tflite::Model& model) {
  std::vector<std::vector<bool>> result(count(model.subgraphs()));
  const tflite::Compression* const compression = compression_in(model);
  if (compression == nullptr) return result;
  const std::string place = fmt::format("metadata {}", compression_name);
  if (count(compression->subgraphs()) > result.size())
    throw Error(place, fmt::format("is for {} subgraphs, but there are {}", count(compression->subgraphs()),
                                   result.size()));
  for (std::size_t s = 0; s < count(compression->subgraphs()); ++s) {
    const tflite::CompressedSubgraph& listed = at(compression->subgraphs(), s);
    const std::size_t tensors = count(at(model.subgraphs(), s).tensors());
    for (std::size_t i = 0; i < count(listed.tensors()); ++i) {
      const std::int32_t tensor = at(listed.tensors(), i).tensor();
      if (tensor < 0 || static_cast<std::size_t>(tensor) >= tensors)
        throw Error(place, fmt::format("has tensor {}, but subgraph {} has {} tensors", tensor, s, tensors));
      result[s].resize(tensors);
      result[s][static_cast<std::size_t>(tensor)] = true;
    }
  }
  return result;
}

Site::Site(const tflite::Model& model, std::size_t subgraph, std::size_t op, const TflmRuntime& runtime,
           const std::vector<std::vector<bool>>& compressed)
    : model_(&model),
      subgraph_(&at(model.subgraphs(), subgraph)),
      op_(&at(subgraph_->operators(), op)),
      runtime_(runtime),
      compressed_(&compressed.at(subgraph)) {
  if (op_->opcode_index() >= count(model.operator_codes()))
    throw Error("", fmt::format("has operator code {}, but there are {} operator codes", op_->opcode_index(),
                                count(model.operator_codes())));
  const tflite::OperatorCode& code = at(model.operator_codes(), op_->opcode_index());
  const BuiltinOperator builtin =
      std::max(static_cast<BuiltinOperator>(code.deprecated_builtin_code()), code.builtin_code());
  is_custom_ = builtin == BuiltinOperator::CUSTOM;
  if (!is_custom_) {
    type_ = tflite::EnumNameBuiltinOperator(builtin);
  } else if (code.custom_code() != nullptr) {
    type_ = code.custom_code()->str();
    const auto& builtins = tflite::EnumValuesBuiltinOperator();
    if (std::ranges::any_of(builtins,
                            [&](const auto it) { return tflite::EnumNameBuiltinOperator(it) == type_; }))
      type_ = "custom." + type_;
  }
  inputs_ = operands_of(op_->inputs(), *subgraph_);
  outputs_ = operands_of(op_->outputs(), *subgraph_);
}

const tflite::Tensor* Site::input(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i] < 0) return nullptr;
  return &at(subgraph_->tensors(), static_cast<std::size_t>(inputs_[i]));
}

const tflite::Tensor* Site::output(std::size_t i) const {
  if (i >= outputs_.size() || outputs_[i] < 0) return nullptr;
  return &at(subgraph_->tensors(), static_cast<std::size_t>(outputs_[i]));
}

bool Site::is_compressed(std::size_t i) const {
  return runtime_.decompresses && !compressed_->empty() && input(i) != nullptr &&
         (*compressed_)[static_cast<std::size_t>(inputs_[i])];
}

std::string_view Site::data_of(std::size_t i) const {
  const tflite::Tensor* const tensor = input(i);
  if (tensor == nullptr || tensor->buffer() >= count(model_->buffers())) return {};
  const auto* const data = at(model_->buffers(), tensor->buffer()).data();
  return {data == nullptr ? nullptr : reinterpret_cast<const char*>(data->data()), count(data)};
}

std::int64_t Site::option(const char* name) const {
  const auto* const options = op_->custom_options();
  const auto reject = [&] { throw Error("", fmt::format("has no option {}, expected a number", name)); };
  if (count(options) < 3 || !flexbuffers::VerifyBuffer(options->data(), options->size(), nullptr)) reject();
  const flexbuffers::Reference root = flexbuffers::GetRoot(options->data(), options->size());
  if (!root.IsMap() || root.AsMap()[name].IsNull()) reject();
  return root.AsMap()[name].AsInt64();
}

std::size_t rank_of(const tflite::Tensor* tensor) {
  return tensor == nullptr ? 0 : import::count(tensor->shape());
}

std::int64_t dimension(const tflite::Tensor* tensor, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(rank_of(tensor));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return 0;
  const std::int32_t extent = tensor->shape()->Get(static_cast<flatbuffers::uoffset_t>(axis));
  if (extent < 0) throw Error("", fmt::format("has a dimension of {}, expected at least 0", extent));
  return extent;
}

std::int64_t elements_of(const tflite::Tensor* tensor) {
  if (tensor == nullptr) return 0;
  std::int64_t product = 1;
  for (std::size_t i = 0; i < rank_of(tensor); ++i) {
    product = base::checked_multiply(product, dimension(tensor, static_cast<std::int64_t>(i)))
                  .value_or(largest_value + 1);
    if (product > largest_value) throw Error("", "has too many elements");
  }
  return product;
}

Bytes runtime_bytes_of(const tflite::Tensor* tensor) {
  using enum tflite::TensorType;
  if (tensor == nullptr) return 0;
  const auto width = [&]() -> Bytes {
    switch (tensor->type()) {
      case FLOAT16:
      case BFLOAT16:
      case INT16:
      case UINT16:
        return 2;
      case FLOAT32:
      case INT32:
      case UINT32:
      case RESOURCE:
        return 4;
      case INT64:
      case UINT64:
      case FLOAT64:
      case COMPLEX64:
        return 8;
      case COMPLEX128:
        return 16;
      default:
        return 1;
    }
  };
  const std::int64_t elements = elements_of(tensor);
  return base::checked_multiply(elements, width()).value_or(largest_value);
}

std::size_t channels_of(const tflite::Tensor* tensor) {
  const auto* const quantization = tensor == nullptr ? nullptr : tensor->quantization();
  if (quantization == nullptr || count(quantization->zero_point()) == 0) return 0;
  return count(quantization->scale());
}

Bytes times(Bytes a, Bytes b) {
  const auto product = base::checked_multiply(a, b);
  if (!product || *product > largest_value || *product < 0) throw Error("", "asks for too much memory");
  return *product;
}

bool is_of(const tflite::Tensor* tensor, tflite::TensorType type) {
  return tensor != nullptr && tensor->type() == type;
}

}  // namespace stowage::tflm
