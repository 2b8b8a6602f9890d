#include "run/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "base/nearest.h"
#include "base/text.h"
#include "check/form.h"
#include "check/states.h"
#include "model/elements.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// An input or state of a model, and its names.
struct Provided {
  std::size_t model = 0;
  TensorId tensor = 0;
  std::string name{};
  std::string qualified{};  ///< MODEL.TENSOR
};

std::vector<Provided> provided_by_caller(std::span<const Network* const> networks) {
  std::vector<Provided> provided;
  for (std::size_t m = 0; m < networks.size(); ++m) {
    const Graph& graph = networks[m]->graph();
    std::set<TensorId> seen;
    const auto add = [&](TensorId t) {
      const Tensor& tensor = graph.tensors[t];
      if (tensor.kind != TensorKind::weight && seen.insert(t).second)
        provided.push_back({m, t, tensor.name, networks[m]->input.info.name + "." + tensor.name});
    };
    for (const TensorId input : graph.subgraphs[0].inputs) add(input);
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].kind == TensorKind::state) add(t);
    }
  }
  return provided;
}

/// The tensors with that name, all of one model. Throws UsageError if no model or several models have it.
std::vector<Provided> named(const std::string& name, const std::vector<Provided>& all, bool is_alone) {
  std::vector<Provided> found;
  std::set<std::size_t> models;
  std::set<std::string> names;
  for (const Provided& it : all) {
    names.insert(is_alone ? it.name : it.qualified);
    if (it.name != name && it.qualified != name) continue;
    found.push_back(it);
    models.insert(it.model);
  }
  if (found.empty()) {
    const std::vector<std::string> words(names.begin(), names.end());
    throw UsageError(fmt::format("--input {}: {} no such input, expected one of {}{}", base::quoted(name),
                                 is_alone ? "the network has" : "the networks have", fmt::join(names, ", "),
                                 base::did_you_mean(name, words)));
  }
  if (models.size() > 1) {
    names.clear();
    for (const Provided& it : found) names.insert(it.qualified);
    throw UsageError(fmt::format("--input {}: several models have it, expected one of {}", base::quoted(name),
                                 fmt::join(names, ", ")));
  }
  return found;
}

std::vector<std::byte> bytes_of_value(const Tensor& tensor) {
  return model::bytes_of_elements(tensor.dtype, tensor.value).value_or(std::vector<std::byte>());
}

void expect_value(const Tensor& tensor, const std::string& name, const Array& array) {
  if (tensor.value.empty() || array.data == bytes_of_value(tensor)) return;
  throw UsageError(fmt::format("--input {}: has other elements than {}, which --value gives it",
                               base::quoted(name), model::show_elements(tensor.value)));
}

void expect_fit(const Tensor& tensor, const std::string& name, const Array& array) {
  if (array.dtype == tensor.dtype && (!tensor.shape || array.shape == *tensor.shape) &&
      static_cast<Bytes>(array.data.size()) == tensor.bytes)
    return;
  throw UsageError(fmt::format("--input {}: is {}[{}], expected {}[{}]", base::quoted(name),
                               name_of(array.dtype), fmt::join(array.shape, ","), name_of(tensor.dtype),
                               fmt::join(tensor.shape.value_or(Shape{}), ",")));
}

/// The tensors that other models feed, or whose state they leave or give.
std::set<std::pair<std::size_t, TensorId>> fed_tensors(std::span<const Network* const> networks,
                                                       const Plan& plan) {
  std::vector<std::size_t> bases;
  std::size_t base = 0;
  for (const Network* const network : networks) {
    bases.push_back(base);
    base += network->graph().tensors.size();
  }
  std::set<std::size_t> inputs;
  for (const Feed& feed : plan.feeds) inputs.insert(feed.input);
  if (!plan.states.empty() && check::check_form(plan).empty()) {
    for (const auto& [input, source] : check::sources_of_states(plan)) inputs.insert(input);
  }
  std::set<std::pair<std::size_t, TensorId>> fed;
  for (const std::size_t input : inputs) {
    if (input >= base) continue;  // running such a plan gives a fault
    const auto after = std::ranges::upper_bound(bases, input);
    const auto model = static_cast<std::size_t>(after - bases.begin()) - 1;
    fed.emplace(model, input - bases[model]);
  }
  return fed;
}

}  // namespace

void expect_names(std::span<const Network* const> networks, std::span<const std::string> names) {
  const std::vector<Provided> all = provided_by_caller(networks);
  for (const std::string& name : names) (void)named(name, all, networks.size() == 1);
}

GivenInputs given_inputs(std::span<const Network* const> networks, const Plan& plan,
                         const RunOptions& options) {
  GivenInputs given;
  if (options.inputs.empty()) return given;
  const std::vector<Provided> all = provided_by_caller(networks);
  const auto fed = fed_tensors(networks, plan);
  for (const auto& [name, array] : options.inputs) {
    for (const Provided& it : named(name, all, networks.size() == 1)) {
      if (fed.contains({it.model, it.tensor}))
        throw UsageError(fmt::format("--input {}: another model feeds it, or has the state that it reads",
                                     base::quoted(name)));
      expect_fit(networks[it.model]->graph().tensors[it.tensor], name, array);
      expect_value(networks[it.model]->graph().tensors[it.tensor], name, array);
      if (!given.emplace(std::pair(it.model, it.tensor), &array).second)
        throw UsageError(fmt::format("--input is given twice for {}", base::quoted(it.qualified)));
    }
  }
  return given;
}

std::vector<std::byte> value_of(const Network& network, TensorId tensor, const Array* given,
                                std::uint64_t seed) {
  if (given != nullptr) return given->data;
  const Tensor& it = network.graph().tensors[tensor];
  if (!it.value.empty()) return bytes_of_value(it);
  const std::span<const std::byte> stored = network.input.constants.of(tensor);
  if (it.kind == TensorKind::state && !stored.empty()) return {stored.begin(), stored.end()};
  std::vector<std::byte> bytes(static_cast<std::size_t>(it.bytes));
  const std::vector<StateTie>& ties = network.graph().ties;
  const bool is_tied = std::ranges::find(ties, tensor, &StateTie::input) != ties.end();
  if (it.kind != TensorKind::state || is_tied) fill_random_input(bytes, it.dtype, it.name, seed);
  return bytes;
}

// Random numbers. Every number is splitmix64 of a counter that starts at the seed mixed with FNV-1a of the
// tensor's name. Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014; the FNV
// hash by Fowler, Noll, Vo.

namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

class Numbers {
 public:
  Numbers(std::string_view name, std::uint64_t seed) : state_(hash_of(name) ^ seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 40U) * 0x1p-24; }

 private:
  std::uint64_t state_;
};

template <typename Element, typename Draw>
void fill(std::span<std::byte> bytes, Numbers& numbers, const Draw& draw) {
  for (std::size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    const Element element = draw(numbers);
    std::memcpy(bytes.data() + at, &element, sizeof(Element));
  }
}

/// A bfloat16 is the upper half of a float. A float16 is simple for values in [-1, 1) that are multiples of
/// 1/1024: sign, and exponent and fraction of an 11-bit number.
std::uint16_t half_of(double value) {
  const auto units = static_cast<int>(std::lround(std::abs(value) * 1024));
  const std::uint16_t sign = value < 0 ? 0x8000U : 0U;
  if (units == 0) return sign;
  const int exponent = static_cast<int>(std::log2(units));
  const int fraction = (units - (1 << exponent)) << (10 - exponent);
  return static_cast<std::uint16_t>(sign | ((exponent + 5) << 10) | fraction);
}

std::uint16_t bfloat_of(double value) {
  const auto real = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &real, sizeof(bits));
  return static_cast<std::uint16_t>(bits >> 16U);
}

}  // namespace

void fill_random_weight(std::span<std::byte> bytes, const Shape& shape, std::string_view name,
                        std::uint64_t seed) {
  double inputs = 1;  // summed for each element of the output
  for (std::size_t d = 1; d < shape.size(); ++d) inputs *= static_cast<double>(shape[d]);
  const bool is_vector = shape.size() < 2;
  const double reach = std::sqrt(3.0 / inputs);
  Numbers numbers(name, seed);
  fill<float>(bytes, numbers, [&](Numbers& from) {
    const double draw = from.uniform();
    return static_cast<float>(is_vector ? 0.5 + draw : (2 * draw - 1) * reach);
  });
}

bool is_constant_filled(const Tensor& tensor, std::span<const std::byte> bytes) {
  if (tensor.dtype != DType::float32 || bytes.size() <= sizeof(float)) return false;
  return std::memcmp(bytes.data(), bytes.data() + sizeof(float), bytes.size() - sizeof(float)) == 0;
}

void fill_random_input(std::span<std::byte> bytes, DType dtype, std::string_view name, std::uint64_t seed) {
  Numbers numbers(name, seed);
  const auto real = [](Numbers& from) { return 2 * from.uniform() - 1; };
  const auto index = [](Numbers& from) { return from.next() >> 62U; };
  switch (dtype) {
    case DType::float32:
      return fill<float>(bytes, numbers, [&](Numbers& from) { return static_cast<float>(real(from)); });
    case DType::float64:
      return fill<double>(bytes, numbers, real);
    case DType::float16:
      return fill<std::uint16_t>(bytes, numbers, [&](Numbers& from) { return half_of(real(from)); });
    case DType::bfloat16:
      return fill<std::uint16_t>(bytes, numbers, [&](Numbers& from) { return bfloat_of(real(from)); });
    case DType::boolean:
      return fill<std::uint8_t>(bytes, numbers,
                                [](Numbers& from) { return static_cast<std::uint8_t>(from.next() >> 63U); });
    case DType::int32:
    case DType::uint32:
      return fill<std::uint32_t>(bytes, numbers,
                                 [&](Numbers& from) { return static_cast<std::uint32_t>(index(from)); });
    case DType::int64:
    case DType::uint64:
      return fill<std::uint64_t>(bytes, numbers, index);
    default:
      return fill<std::uint8_t>(bytes, numbers,
                                [](Numbers& from) { return static_cast<std::uint8_t>(from.next() >> 56U); });
  }
}

}  // namespace stowage::run
