// Attention. For each query: scores = query * keys * scale, bent by a cap, plus a mask; their softmax weighs
// the values. Only the scores of one query are stored. Powers are computed in float64, which is at least the
// precision that an operator may ask for. A query that sees no key gives zeros.
// Source: ONNX's Operators.md, Attention of sets 23, 24 and 25.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/heads.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

constexpr double unseen = -std::numeric_limits<double>::infinity();

/// Keys or values: those of a cache, and behind them new ones.
struct Cached {
  Heads old{};
  Heads added{};

  [[nodiscard]] std::int64_t rows() const { return old.rows + added.rows; }
  [[nodiscard]] Shape shape() const { return {added.batches, added.heads, rows(), added.size}; }
};

template <typename Element>
struct CachedRows {
  const Cached& where;
  const Element* old;
  const Element* added;

  [[nodiscard]] const Element* at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return row < where.old.rows ? old + where.old.at(batch, head, row)
                                : added + where.added.at(batch, head, row - where.old.rows);
  }
};

/// What a mask adds to the score of each query and key. Keys behind its columns are not seen.
struct Mask {
  double (*added)(const std::byte* mask, std::int64_t at) = nullptr;  ///< None: there is no mask.
  Shape strides{0, 0, 0};                                             ///< Of batches, heads and queries.
  std::int64_t columns = std::numeric_limits<std::int64_t>::max();
};

template <typename Element>
double added_by(const std::byte* mask, std::int64_t at) {
  const auto value = value_of(reinterpret_cast<const Element*>(mask)[at]);
  if constexpr (std::is_same_v<Element, Truth>) {
    return value ? 0 : unseen;
  } else {
    return static_cast<double>(value);
  }
}

/// What the fourth output is.
enum class Shown : std::uint8_t { products = 0, capped = 1, masked = 2, weights = 3 };

struct Range {
  std::int64_t begin;
  std::int64_t end;
};

struct Attending {
  Heads queries{};
  Cached keys{};
  Cached values{};
  Heads output{};
  Mask mask{};
  double scale = 1;
  double cap = 0;  ///< 0: none.
  bool is_causal = false;
  bool has_cache = false;
  std::int64_t left = -1;  ///< How many keys before and behind its own place a query sees; -1: all.
  std::int64_t right = -1;
  Shown shown = Shown::products;

  [[nodiscard]] std::int64_t key_head(std::int64_t head) const {
    return head / (queries.heads / keys.added.heads);
  }

  /// The keys that a query sees. `length`: of the keys of its batch, if that is given.
  [[nodiscard]] Range seen_by(std::int64_t query, std::optional<std::int64_t> length) const {
    std::int64_t place = query;
    if (has_cache) place += keys.old.rows;
    if (length) place += *length - queries.rows;
    Range seen{0, std::min(length.value_or(keys.rows()), mask.columns)};
    if (is_causal) seen.end = std::min(seen.end, place + 1);
    if (left >= 0) seen.begin = std::max(seen.begin, place - left);
    if (right >= 0) seen.end = std::min(seen.end, place + right + 1);
    seen.end = std::clamp<std::int64_t>(seen.end, 0, keys.rows());
    seen.begin = std::min(seen.begin, seen.end);
    return seen;
  }
};

/// One row of one head.
struct Query {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t row;
};

template <typename Element>
class Attend {
 public:
  Attend(const Attending& own, const Pointers& pointers)
      : own_(own),
        pointers_(pointers),
        keys_{own.keys, pointers.input<Element>(4), pointers.input<Element>(1)},
        values_{own.values, pointers.input<Element>(5), pointers.input<Element>(2)},
        scores_(reinterpret_cast<Real*>(pointers.scratch)),
        sums_(scores_ + own.keys.rows()) {}

  void run() {
    const auto* const lengths = pointers_.input<std::int64_t>(6);
    for (std::int64_t b = 0; b < own_.queries.batches; ++b) {
      std::optional<std::int64_t> length;
      if (lengths != nullptr) length = length_in(lengths[b], own_.keys.rows(), "Attention");
      for (std::int64_t h = 0; h < own_.queries.heads; ++h) {
        for (std::int64_t row = 0; row < own_.queries.rows; ++row)
          answer({b, h, row}, own_.seen_by(row, length));
      }
    }
    write_cache(own_.keys, keys_, pointers_.output<Element>(1));
    write_cache(own_.values, values_, pointers_.output<Element>(2));
  }

 private:
  using Real = Value<Element>;

  void answer(const Query& query, const Range& seen) {
    multiply(query, pointers_.outputs.size() > 3 && pointers_.outputs[3] != nullptr
                        ? Range{0, own_.keys.rows()}
                        : seen);
    show(query, Shown::products);
    if (own_.cap > 0) bend();
    show(query, Shown::capped);
    hide(query, seen);
    show(query, Shown::masked);
    weigh(seen);
    show(query, Shown::weights);
    blend(query, seen);
  }

  void multiply(const Query& query, const Range& keys) {
    const Element* const from =
        pointers_.input<Element>(0) + own_.queries.at(query.batch, query.head, query.row);
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      const Element* const key = keys_.at(query.batch, own_.key_head(query.head), j);
      Real total = 0;
      for (std::int64_t k = 0; k < own_.queries.size; ++k) total += value_of(from[k]) * value_of(key[k]);
      scores_[j] = total * static_cast<Real>(own_.scale);
    }
    std::fill(scores_, scores_ + keys.begin, Real{0});
    std::fill(scores_ + keys.end, scores_ + own_.keys.rows(), Real{0});
  }

  void bend() {
    const auto cap = static_cast<Real>(own_.cap);
    for (std::int64_t j = 0; j < own_.keys.rows(); ++j) scores_[j] = std::tanh(scores_[j] / cap) * cap;
  }

  /// A key that is not seen has no score, whatever its product is.
  void hide(const Query& query, const Range& seen) {
    const auto none = static_cast<Real>(unseen);
    std::fill(scores_, scores_ + seen.begin, none);
    std::fill(scores_ + seen.end, scores_ + own_.keys.rows(), none);
    if (own_.mask.added == nullptr) return;
    const Shape& strides = own_.mask.strides;
    const std::int64_t row = query.batch * strides[0] + query.head * strides[1] + query.row * strides[2];
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      const double more = own_.mask.added(pointers_.inputs[3], row + j);
      scores_[j] = more == unseen ? none : static_cast<Real>(static_cast<double>(scores_[j]) + more);
    }
  }

  /// Makes weights of scores.
  void weigh(const Range& seen) {
    double most = unseen;
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      const auto score = static_cast<double>(scores_[j]);
      if (score > most || std::isnan(score)) most = score;
    }
    double total = 0;
    for (std::int64_t j = seen.begin; j < seen.end && most != unseen; ++j)
      total += std::exp(static_cast<double>(scores_[j]) - most);
    for (std::int64_t j = 0; j < own_.keys.rows(); ++j) {
      const bool counts = j >= seen.begin && j < seen.end && most != unseen;
      const double power = counts ? std::exp(static_cast<double>(scores_[j]) - most) / total : 0;
      scores_[j] = static_cast<Real>(power);
    }
  }

  void blend(const Query& query, const Range& seen) {
    std::fill_n(sums_, own_.output.size, Real{0});
    for (std::int64_t j = seen.begin; j < seen.end; ++j) {
      if (scores_[j] == 0) continue;  // not seen: whatever the value is
      const Element* const value = values_.at(query.batch, own_.key_head(query.head), j);
      for (std::int64_t k = 0; k < own_.output.size; ++k) sums_[k] += scores_[j] * value_of(value[k]);
    }
    Element* const to = pointers_.output<Element>(0) + own_.output.at(query.batch, query.head, query.row);
    std::transform(sums_, sums_ + own_.output.size, to, element_of<Element, Real>);
  }

  void show(const Query& query, Shown what) {
    auto* const shown = pointers_.output<Element>(3);
    if (shown == nullptr || what != own_.shown) return;
    const std::int64_t row = (query.batch * own_.queries.heads + query.head) * own_.queries.rows + query.row;
    std::transform(scores_, scores_ + own_.keys.rows(), shown + row * own_.keys.rows(),
                   element_of<Element, Real>);
  }

  static void write_cache(const Cached& own, const CachedRows<Element>& from, Element* to) {
    if (to == nullptr) return;
    for (std::int64_t b = 0; b < own.added.batches; ++b) {
      for (std::int64_t h = 0; h < own.added.heads; ++h) {
        for (std::int64_t row = 0; row < own.rows(); ++row)
          to = std::copy_n(from.at(b, h, row), own.added.size, to);
      }
    }
  }

  const Attending& own_;
  const Pointers& pointers_;
  CachedRows<Element> keys_;
  CachedRows<Element> values_;
  Real* scores_;  ///< As many as keys.
  Real* sums_;    ///< As many as elements of a row of the output.
};

Cached cached_of(const Signature& signature, std::size_t input, std::size_t cache, std::string_view what) {
  const Argument& added = input_of(signature, input);
  Cached result{.added = heads_of(added, signature.attributes.integer("kv_num_heads", 0), what)};
  if (!signature.has_input(cache)) return result;
  const Argument& old = *signature.inputs[cache];
  expect_dtype(old, added.dtype, "the cache");
  expect_rank(old, 4, "the cache");
  result.old = heads_of(old, 0, "the cache");
  expect_shape(old, {result.added.batches, result.added.heads, result.old.rows, result.added.size},
               "the cache");
  return result;
}

Mask mask_of(const Argument& argument, const Attending& own) {
  if (argument.shape.empty()) refuse("the mask is a scalar");
  Mask mask{.columns = argument.shape.back()};
  if (mask.columns > own.keys.rows()) refuse("the mask {} has more columns than keys", show(argument.shape));
  const Shape rows(argument.shape.begin(), argument.shape.end() - 1);
  mask.strides = broadcast_strides(rows, {own.queries.batches, own.queries.heads, own.queries.rows});
  for (std::int64_t& stride : mask.strides) stride *= mask.columns;
  static_cast<void>(for_type(argument.dtype, every_type, [&]<typename Element>() {
    mask.added = added_by<Element>;
    return Kernel{};
  }));
  return mask;
}

/// Queries and keys of a batch, and heads that are as many as those of the queries, or a part of them.
void expect_alike(const Attending& own) {
  const Heads& keys = own.keys.added;
  const Heads& values = own.values.added;
  if (keys.batches != own.queries.batches || values.batches != own.queries.batches)
    refuse("batches of queries, keys and values differ");
  if (keys.size != own.queries.size) refuse("queries of {} and keys of {}", own.queries.size, keys.size);
  if (own.keys.rows() != own.values.rows() || keys.heads != values.heads)
    refuse("there are not as many keys as values");
  if (keys.heads < 1 || own.queries.heads % keys.heads != 0)
    refuse("{} heads of keys do not divide {} of queries", keys.heads, own.queries.heads);
}

/// A window that is larger than all distances is none.
std::int64_t side_of_window(const Signature& signature, std::string_view name, const Attending& own) {
  const std::int64_t given = signature.attributes.integer(name, -1);
  if (given < -1) refuse("{} is {}, expected -1 or more", name, given);
  return std::min(given, own.queries.rows + own.keys.rows());
}

Attending attending_of(const Signature& signature) {
  const auto& attributes = signature.attributes;
  const Argument& queries = input_of(signature, 0);
  Attending own{.queries = heads_of(queries, attributes.integer("q_num_heads", 0), "queries"),
                .keys = cached_of(signature, 1, 4, "keys"),
                .values = cached_of(signature, 2, 5, "values"),
                .cap = static_cast<double>(attributes.real("softcap", 0)),
                .is_causal = attributes.integer("is_causal", 0) != 0,
                .has_cache = signature.has_input(4)};
  if (own.has_cache != signature.has_input(5)) refuse("a cache of keys without one of values");
  expect_alike(own);
  const double usual = 1 / std::sqrt(static_cast<double>(own.queries.size));
  own.scale = attributes.has("scale") ? static_cast<double>(attributes.real("scale", 1)) : usual;
  if (signature.has_input(3)) own.mask = mask_of(*signature.inputs[3], own);
  own.left = side_of_window(signature, "left_window_size", own);
  own.right = side_of_window(signature, "right_window_size", own);
  const std::int64_t shown = attributes.integer("qk_matmul_output_mode", 0);
  if (shown < 0 || shown > 3) refuse("qk_matmul_output_mode is {}, expected 0 to 3", shown);
  own.shown = static_cast<Shown>(shown);
  return own;
}

/// Refuses outputs of other types and shapes.
void expect_outputs(const Signature& signature, const Attending& own) {
  const DType dtype = input_of(signature, 0).dtype;
  const auto expect = [&](std::size_t i, const Shape& shape) {
    if (!signature.has_output(i)) return;
    expect_dtype(*signature.outputs[i], dtype, "an output");
    expect_shape(*signature.outputs[i], shape, "an output");
  };
  const Heads& q = own.queries;
  const std::int64_t size = own.values.added.size;
  const bool has_heads = input_of(signature, 0).shape.size() == 4;
  expect(0, has_heads ? Shape{q.batches, q.heads, q.rows, size} : Shape{q.batches, q.rows, q.heads * size});
  expect(1, own.keys.shape());
  expect(2, own.values.shape());
  expect(3, {q.batches, q.heads, q.rows, own.keys.rows()});
}

Kernel attention(const Signature& signature) {
  const Argument& queries = input_of(signature, 0);
  for (const std::size_t i : {1U, 2U}) expect_dtype(input_of(signature, i), queries.dtype, "keys or values");
  Attending own = attending_of(signature);
  if (signature.has_input(6)) {
    if (own.has_cache) refuse("lengths of keys beside a cache");
    expect_dtype(*signature.inputs[6], DType::int64, "lengths of keys");
    expect_shape(*signature.inputs[6], {own.queries.batches}, "lengths of keys");
  }
  expect_outputs(signature, own);
  own.output = heads_of(output_of(signature), own.queries.heads, "the output");
  return for_type(queries.dtype, floats, [&]<typename Element>() -> Kernel {
    const std::int64_t numbers = own.keys.rows() + own.output.size;
    return {.run = [own](const Pointers& pointers) { Attend<Element>(own, pointers).run(); },
            .scratch = numbers * extent(sizeof(Value<Element>))};
  });
}

}  // namespace

TablePart attention_kernels() { return {{"Attention", attention}}; }

}  // namespace stowage::kernels::onnx_ops
