// Reads what running a TFLite model needs in addition to its graph. Walks options with flatbuffers'
// reflection, so that every field in the schema becomes an attribute of that name; default values are not in
// the file.
//
// Cost: the size of the file, each part as often as it is referenced, which the reading budget limits.

#include <flatbuffers/minireflect.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "import/tflite.h"
#include "import/tflite_attributes.h"
#include "import/tflite_constants.h"
#include "import/tflite_tables.h"

namespace stowage::import {
namespace {

constexpr Bytes largest_zero_state = Bytes{1} << 30;  // of all variables without data in the file

template <typename... Values>
[[noreturn]] void reject_tensor(fmt::format_string<Values...> problem, Values&&... values) {
  throw Error("", fmt::format(problem, std::forward<Values>(values)...));
}

/// Collects the fields of a table as attributes.
class AttributeReader final : public flatbuffers::IterationVisitor {
 public:
  AttributeReader(Attributes& attributes, ReadingBudget& budget) : attributes_(attributes), budget_(budget) {}

  void Field(std::size_t, std::size_t, flatbuffers::ElementaryType, bool, const flatbuffers::TypeTable*,
             const char* name, const std::uint8_t*) override {
    name_ = name;
  }
  void Bool(bool value) override { integer(value ? 1 : 0); }
  void Char(std::int8_t value, const char*) override { integer(value); }
  void UChar(std::uint8_t value, const char*) override { integer(value); }
  void Short(std::int16_t value, const char*) override { integer(value); }
  void UShort(std::uint16_t value, const char*) override { integer(value); }
  void Int(std::int32_t value, const char*) override { integer(value); }
  void UInt(std::uint32_t value, const char*) override { integer(value); }
  void Long(std::int64_t value) override { integer(value); }
  void Float(float value) override {
    if (is_vector_) {
      reals_.push_back(value);
    } else {
      attributes_.set(name_, value);
    }
  }
  void String(const flatbuffers::String* value) override {
    budget_.spend(value->size());
    attributes_.set(name_, value->str());
  }
  void StartVector() override {
    is_vector_ = true;
    integers_.clear();
    reals_.clear();
  }
  void EndVector() override {
    is_vector_ = false;
    if (reals_.empty()) {
      attributes_.set(name_, integers_);
    } else {
      attributes_.set(name_, reals_);
    }
  }

 private:
  void integer(std::int64_t value) {
    if (is_vector_) {
      budget_.spend(sizeof(std::int32_t));
      integers_.push_back(value);
    } else {
      attributes_.set(name_, value);
    }
  }

  Attributes& attributes_;
  ReadingBudget& budget_;
  std::string name_{};
  bool is_vector_ = false;
  std::vector<std::int64_t> integers_{};
  std::vector<float> reals_{};
};

Attributes attributes_of(const tflite::Operator& op, ReadingBudget& budget) {
  Attributes attributes;
  const flatbuffers::TypeTable& options = *tflite::BuiltinOptionsTypeTable();
  const auto type = static_cast<std::size_t>(op.builtin_options_type());
  if (op.builtin_options() == nullptr || type >= options.num_elems) return attributes;
  const int table = options.type_codes[type].sequence_ref;
  if (table < 0) return attributes;
  AttributeReader reader(attributes, budget);
  flatbuffers::IterateObject(static_cast<const std::uint8_t*>(op.builtin_options()),
                             options.type_refs[table](), &reader);
  return attributes;
}

/// The options of MediaPipe's Convolution2DTransposeBias: a struct that begins with padding and strides.
void read_transposed(const tflite::Operator& op, Attributes& attributes) {
  constexpr std::int32_t same = 1, valid = 2;
  std::array<std::int32_t, 3> numbers{};  // padding, width, height
  if (count(op.custom_options()) < sizeof numbers) return;
  std::memcpy(numbers.data(), op.custom_options()->data(), sizeof numbers);
  if (numbers[0] != same && numbers[0] != valid) return;
  attributes.set("padding", std::int64_t{numbers[0] == same ? 0 : 1});
  attributes.set("stride_w", std::int64_t{numbers[1]});
  attributes.set("stride_h", std::int64_t{numbers[2]});
}

/// The options of TFLite_Detection_PostProcess.
void read_detections(const tflite::Operator& op, Attributes& attributes, ReadingBudget& budget) {
  constexpr std::int64_t usual_detections = 100;  // of a class
  budget.spend(count(op.custom_options()));
  const auto options = custom_options_of(op);
  if (!options) return;
  for (const char* const name : {"max_detections", "max_classes_per_detection", "detections_per_class",
                                 "num_classes", "use_regular_nms"})
    attributes.set(name, (*options)[name].AsInt64());
  if ((*options)["detections_per_class"].IsNull()) attributes.set("detections_per_class", usual_detections);
  for (const char* const name :
       {"nms_score_threshold", "nms_iou_threshold", "y_scale", "x_scale", "h_scale", "w_scale"})
    attributes.set(name, (*options)[name].AsFloat());
}

/// The numbers that an integer type can hold; none for types that are not quantized.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(DType dtype) {
  const auto limits = []<typename Integer>(Integer) {
    return std::pair<std::int64_t, std::int64_t>{std::numeric_limits<Integer>::min(),
                                                 std::numeric_limits<Integer>::max()};
  };
  switch (dtype) {
    case DType::int4:
      return std::pair<std::int64_t, std::int64_t>{-8, 7};
    case DType::int8:
      return limits(std::int8_t{});
    case DType::uint8:
      return limits(std::uint8_t{});
    case DType::int16:
      return limits(std::int16_t{});
    case DType::uint16:
      return limits(std::uint16_t{});
    case DType::int32:
      return limits(std::int32_t{});
    case DType::int64:
      return limits(std::int64_t{});
    default:
      return std::nullopt;
  }
}

/// A tensor has a quantization only if it has scales and zero points; one zero point may serve all scales.
std::optional<Quantization> quantization_of(const tflite::Tensor& source, const Tensor& tensor,
                                            ReadingBudget& budget) {
  const tflite::QuantizationParameters* const it = source.quantization();
  const auto range = range_of(tensor.dtype);
  if (it == nullptr || !range || count(it->scale()) == 0 || count(it->zero_point()) == 0) return std::nullopt;
  const std::size_t pairs = count(it->scale());
  budget.spend(pairs * (sizeof(float) + sizeof(std::int64_t)));
  if (count(it->zero_point()) != pairs && count(it->zero_point()) != 1)
    reject_tensor("has {} scales and {} zero points, expected as many", pairs, count(it->zero_point()));
  Quantization result;
  for (const float scale : *it->scale()) {
    if (!std::isfinite(scale) || scale < 0)
      reject_tensor("has scale {}, expected a finite one of 0 or more", scale);
    result.scales.push_back(scale);
  }
  for (const std::int64_t zero_point : *it->zero_point()) {
    if (zero_point < range->first || zero_point > range->second)
      reject_tensor("has zero point {}, expected one from {} to {}", zero_point, range->first, range->second);
    result.zero_points.push_back(zero_point);
  }
  if (result.zero_points.size() < pairs) result.zero_points.resize(pairs, result.zero_points.front());
  if (pairs == 1 || !tensor.shape) return result;
  const auto rank = static_cast<std::int64_t>(tensor.shape->size());
  // Converters give a bias the dimension of its weights.
  const std::int64_t axis = rank == 1 ? 0 : it->quantized_dimension();
  if (axis < 0 || axis >= rank)
    reject_tensor("has scales for dimension {}, expected one of its {}", axis, rank);
  result.axis = static_cast<std::size_t>(axis);
  const std::int64_t extent = (*tensor.shape)[result.axis];
  if (static_cast<std::int64_t>(pairs) != extent)
    reject_tensor("has {} scales for dimension {} of {}, expected one for each", pairs, axis, extent);
  return result;
}

/// Reads the details of a graph's tensors and operators.
class DetailReader {
 public:
  DetailReader(const TfliteFile& file, Network& network)
      : file_(file), network_(network), graph_(network.graph()), budget_(file.bytes().size()) {}

  void read() {
    network_.quantizations.resize(graph_.tensors.size());
    TensorId id = 0;
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      const tflite::SubGraph& subgraph = at(file_.model().subgraphs(), s);
      for (std::size_t t = 0; t < count(subgraph.tensors()); ++t, ++id)
        located([&] { read_tensor(at(subgraph.tensors(), t), id); }, [&] { return describe(graph_, id); });
      auto& details = network_.details.emplace_back();
      for (std::size_t o = 0; o < count(subgraph.operators()); ++o)
        details.push_back(details_of(at(subgraph.operators(), o), graph_.subgraphs[s].operators[o]));
    }
  }

 private:
  OperatorDetails details_of(const tflite::Operator& op, const Operator& own) {
    Attributes attributes = attributes_of(op, budget_);
    if (own.type == "Convolution2DTransposeBias") read_transposed(op, attributes);
    if (own.type == "TFLite_Detection_PostProcess") read_detections(op, attributes, budget_);
    return {std::move(attributes), at(file_.model().operator_codes(), op.opcode_index()).version(),
            tflite_shapes_of_data(graph_, own)};
  }

  void read_tensor(const tflite::Tensor& source, TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    network_.quantizations[id] = quantization_of(source, tensor, budget_);
    Constants& constants = network_.input.constants;
    if (tensor.kind == TensorKind::state && constants.of(id).empty())
      constants.set(id, zeros(tensor, network_.quantizations[id]));
  }

  /// The initial value of a variable without data: bytes with the number that represents 0.
  std::vector<std::byte> zeros(const Tensor& tensor, const std::optional<Quantization>& quantization) {
    if (tensor.bytes > unset_)
      reject_tensor("is a variable of {} bytes without data, expected at most {} in all", tensor.bytes,
                    largest_zero_state);
    unset_ -= tensor.bytes;
    const bool is_shifted = tensor.dtype == DType::int8 && quantization;
    const auto zero = static_cast<std::byte>(is_shifted ? quantization->zero_points.front() : 0);
    return std::vector<std::byte>(static_cast<std::size_t>(tensor.bytes), zero);
  }

  const TfliteFile& file_;
  Network& network_;
  const Graph& graph_;
  ReadingBudget budget_;
  Bytes unset_ = largest_zero_state;
};

}  // namespace

Network read_tflite_network(const Source& source, const ImportOptions& options) {
  const TfliteFile file(held(source));
  Network network;
  ReadGraph read = read_graph(file, options);
  network.input.note = std::move(read.note);
  network.input.constants = constants_of(file, read);
  network.input.content = std::move(read.graph);
  DetailReader(file, network).read();
  return network;
}

}  // namespace stowage::import
