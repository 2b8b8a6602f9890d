#include <algorithm>
#include <utility>

#include "layers.h"
#include "sketch.h"

namespace stowage::campaign {
namespace {

/// A tensor of rows: channels by rows by width, or rows by width.
enum class Layout : std::uint8_t { rows_first, batch_first, channels_first };

/// Draws operators over rows, and says of each which rows it reads.
class RowsDraft {
 public:
  RowsDraft(Random& random, std::int64_t operators, std::int64_t most_rows)
      : random_(random), sketch_("rows"), operators_(operators), most_rows_(most_rows) {
    layout_ =
        random_.pick(std::vector<Layout>{Layout::rows_first, Layout::batch_first, Layout::channels_first});
    axis_ = layout_ == Layout::rows_first ? 0 : 1;
    dtype_ = random_.pick(std::vector<DType>{DType::int8, DType::int8, DType::float32, DType::int16});
  }

  Graph draw() {
    const std::int64_t inputs = random_.chance(75) ? 1 : 2;
    for (std::int64_t i = 0; i < inputs; ++i)
      pool_.push_back(
          sketch_.input(dtype_, shape(draw_channels(), random_.between(1, most_rows_), draw_width())));
    for (std::int64_t i = random_.between(1, operators_); i > 0; --i) draw_operator();
    std::vector<Operator>& operators = sketch_.operators();
    for (std::size_t o = 1; o < operators.size(); ++o)
      if (random_.chance(3)) operators[o].after.push_back(random_.index(o));
    sketch_.choose_outputs(random_, pool_);
    if (random_.chance(30)) shuffle_operators(sketch_.graph(), random_);
    return std::move(sketch_.graph());
  }

 private:
  using Read = RowRead;

  std::int64_t draw_channels() { return layout_ == Layout::channels_first ? random_.between(1, 3) : 1; }
  std::int64_t draw_width() { return random_.pick(std::vector<std::int64_t>{1, 2, 3, 4, 6, 8}); }

  [[nodiscard]] Shape shape(std::int64_t channels, std::int64_t rows, std::int64_t width) const {
    if (layout_ == Layout::rows_first) return {rows, width};
    return {channels, rows, width};
  }
  [[nodiscard]] std::int64_t channels(TensorId t) const { return axis_ == 0 ? 1 : sketch_.shape(t)[0]; }
  [[nodiscard]] std::int64_t rows(TensorId t) const { return sketch_.shape(t)[axis_]; }
  [[nodiscard]] std::int64_t width(TensorId t) const { return sketch_.shape(t)[axis_ + 1]; }
  [[nodiscard]] Bytes element() const { return *bits_of(dtype_) / 8; }

  TensorId draw_tensor() {
    if (random_.chance(65)) return pool_.back();
    return random_.pick(pool_);
  }

  TensorId result(std::int64_t of_channels, std::int64_t of_rows, std::int64_t of_width) {
    const TensorId made = sketch_.tensor("t", dtype_, shape(of_channels, of_rows, of_width));
    pool_.push_back(made);
    return made;
  }

  Operator& add(const std::string& type, std::vector<std::optional<TensorId>> inputs,
                std::vector<std::optional<TensorId>> outputs, std::vector<Read> reads) {
    Operator& op = sketch_.add(type, std::move(inputs), std::move(outputs));
    op.row_axes = {{.axis = axis_, .reads = std::move(reads)}};
    return op;
  }

  [[nodiscard]] Read reads(std::size_t input, RowMap map = {}) const {
    return {.input = input, .axis = axis_, .rows = map};
  }
  [[nodiscard]] Read keeps(std::size_t input, Bytes at, RowMap map = {}) const {
    return {.input = input, .axis = axis_, .rows = map, .kept_at = at};
  }

  void draw_operator() {
    using Draw = void (RowsDraft::*)();
    static const std::vector<Draw> kinds{
        &RowsDraft::convolve,      &RowsDraft::convolve, &RowsDraft::convolve,    &RowsDraft::convolve,
        &RowsDraft::convolve,      &RowsDraft::unary,    &RowsDraft::unary,       &RowsDraft::binary,
        &RowsDraft::binary,        &RowsDraft::binary,   &RowsDraft::resize,      &RowsDraft::pad_rows,
        &RowsDraft::pad_side,      &RowsDraft::concat,   &RowsDraft::concat_side, &RowsDraft::slice,
        &RowsDraft::view,          &RowsDraft::sum_up,   &RowsDraft::multiply,    &RowsDraft::whole,
        &RowsDraft::several,       &RowsDraft::odd_map,  &RowsDraft::transpose,   &RowsDraft::bottleneck,
        &RowsDraft::pad_with_rows, &RowsDraft::tile,     &RowsDraft::back_slice,  &RowsDraft::gather_blocks};
    (this->*random_.pick(kinds))();
  }

  void convolve() {
    const TensorId from = draw_tensor();
    const std::int64_t taps = random_.pick(std::vector<std::int64_t>{1, 2, 3, 3, 3, 5});
    const std::int64_t stride = random_.pick(std::vector<std::int64_t>{1, 1, 1, 2, 3});
    const std::int64_t dilation = random_.chance(20) ? 2 : 1;
    const std::int64_t front = random_.between(0, taps - 1);
    const std::int64_t behind = random_.between(0, taps - 1);
    const std::int64_t reach = rows(from) + front + behind - dilation * (taps - 1) - 1;
    if (reach < 0) return unary();
    std::vector<std::optional<TensorId>> inputs{from};
    const bool is_weighted = random_.chance(50);
    if (is_weighted) inputs.emplace_back(sketch_.weight(dtype_, {taps, 2}));
    const TensorId made = result(draw_channels(), reach / stride + 1, draw_width());
    Operator& op = add("Conv", std::move(inputs), {made},
                       {reads(0, {.scale = stride, .offset = -front, .taps = taps, .dilation = dilation})});
    op.row_axes[0].is_windows = true;
    op.row_axes[0].adds_rows = dtype_ == DType::float32 && random_.chance(70);
    op.multiplies = random_.chance(80) ? rows(made) * taps * random_.between(1, 6) : 0;
  }

  void unary() {
    const TensorId from = draw_tensor();
    const TensorId made = result(channels(from), rows(from), width(from));
    add(random_.pick(unary_types()), {from}, {made}, {reads(0)});
  }

  void binary() {
    const TensorId first = draw_tensor();
    std::vector<TensorId> mates;
    for (const TensorId other : pool_)
      if (sketch_.shape(other) == sketch_.shape(first)) mates.push_back(other);
    const TensorId second = random_.pick(mates);
    const TensorId made = result(channels(first), rows(first), width(first));
    if (random_.chance(15)) {  // The other side is read whole, as if it were spread over the rows.
      Operator& op = add("Mul", {first, sketch_.weight(dtype_, {1})}, {made}, {reads(0)});
      op.name += "_scale";
      return;
    }
    add(random_.pick(binary_types()), {first, second}, {made}, {reads(0), reads(1)});
  }

  void resize() {
    const TensorId from = draw_tensor();
    static const std::vector<std::pair<std::int64_t, std::int64_t>> factors{{2, 1}, {3, 1}, {3, 2},
                                                                            {1, 2}, {2, 3}, {4, 3}};
    const auto [up, down] = random_.pick(factors);
    const std::int64_t extent = std::min<std::int64_t>(rows(from) * up / down, 2 * most_rows_);
    if (extent < 1) return unary();
    const TensorId made = result(channels(from), extent, width(from));
    add("Resize", {from}, {made},
        {reads(0, {.scale = down,
                   .divisor = up,
                   .offset = random_.between(-1, 1),
                   .taps = random_.between(1, 2)})});
  }

  void pad_rows() {
    const TensorId from = draw_tensor();
    const std::int64_t front = random_.between(0, 2);
    const TensorId made = result(channels(from), rows(from) + front + random_.between(0, 2), width(from));
    add("Pad", {from}, {made}, {keeps(0, 0, {.offset = -front})});
  }

  void pad_side() {
    const TensorId from = draw_tensor();
    if (layout_ == Layout::channels_first) return pad_rows();
    const std::int64_t left = random_.between(0, 2);
    const TensorId made = result(1, rows(from), width(from) + left + random_.between(0, 2));
    add("Pad", {from}, {made}, {keeps(0, left * element())});
  }

  void concat() {
    const TensorId first = draw_tensor();
    std::vector<TensorId> mates;
    for (const TensorId other : pool_)
      if (channels(other) == channels(first) && width(other) == width(first)) mates.push_back(other);
    const TensorId second = random_.pick(mates);
    if (rows(first) + rows(second) > 3 * most_rows_) return unary();
    const TensorId made = result(channels(first), rows(first) + rows(second), width(first));
    Operator& op =
        add("Concat", {first, second}, {made}, {keeps(0, 0), keeps(1, 0, {.offset = -rows(first)})});
    if (channels(first) == 1)
      op.copies = {{.input = 0, .output = 0, .from = 0, .to = 0, .size = sketch_.at(first).bytes},
                   {.input = 1,
                    .output = 0,
                    .from = 0,
                    .to = sketch_.at(first).bytes,
                    .size = sketch_.at(second).bytes}};
  }

  void concat_side() {
    const TensorId first = draw_tensor();
    std::vector<TensorId> mates;
    for (const TensorId other : pool_)
      if (rows(other) == rows(first) &&
          (axis_ == 0 || layout_ == Layout::batch_first || width(other) == width(first)))
        mates.push_back(other);
    const TensorId second = random_.pick(mates);
    const bool by_channels = layout_ == Layout::channels_first;
    if (channels(first) + channels(second) > 6 || width(first) + width(second) > 24) return unary();
    const TensorId made = by_channels ? result(channels(first) + channels(second), rows(first), width(first))
                                      : result(1, rows(first), width(first) + width(second));
    add("Concat", {first, second}, {made},
        {keeps(0, 0), keeps(1, channels(first) * width(first) * element())});
  }

  void slice() {
    const TensorId from = draw_tensor();
    const std::int64_t begin = random_.between(0, rows(from) - 1);
    const std::int64_t step = random_.chance(30) ? 2 : 1;
    const std::int64_t most = (rows(from) - begin + step - 1) / step;
    const std::int64_t extent = random_.between(1, most);
    const TensorId made = result(channels(from), extent, width(from));
    const Bytes row = channels(from) * width(from) * element();
    Operator& op =
        add("Slice", {from}, {made},
            {step == 1 ? keeps(0, 0, {.offset = begin}) : reads(0, {.scale = step, .offset = begin})});
    if (channels(from) == 1 && step == 1)
      op.copies = {{.input = 0, .output = 0, .from = begin * row, .to = 0, .size = extent * row}};
  }

  void view() {
    const TensorId from = draw_tensor();
    const TensorId made = result(channels(from), rows(from), width(from));
    Operator& op = add("Reshape", {from}, {made}, {keeps(0, 0)});
    op.copies = {{.input = 0, .output = 0, .from = 0, .to = 0, .size = sketch_.at(from).bytes}};
  }

  void sum_up() {
    const TensorId from = draw_tensor();
    const TensorId made = result(channels(from), 1, random_.chance(70) ? width(from) : draw_width());
    Operator& op = sketch_.add("ReduceMean", {from}, {made});
    op.sums_over = {axis_};
  }

  void multiply() {
    const TensorId left = draw_tensor();
    const TensorId right = random_.chance(50) ? random_.pick(pool_) : sketch_.weight(dtype_, {2, 3});
    const TensorId made = result(channels(left), rows(left), draw_width());
    add("MatMul", {left, right}, {made}, {reads(0)}).multiplies = rows(made) * random_.between(1, 5);
  }

  void whole() {
    std::vector<std::optional<TensorId>> inputs{draw_tensor()};
    if (random_.chance(30)) inputs.emplace_back(draw_tensor());
    const TensorId made = result(draw_channels(), random_.between(1, most_rows_), draw_width());
    sketch_.add("Custom", std::move(inputs), {made});
  }

  void several() {
    const TensorId from = draw_tensor();
    const TensorId one = result(draw_channels(), rows(from), draw_width());
    std::optional<TensorId> other;
    if (random_.chance(85)) other = result(draw_channels(), rows(from), draw_width());
    add("Several", {from}, {one, other}, {reads(0)});
  }

  /// Rows in the reverse order, or all from one row: the documents allow any map.
  void odd_map() {
    if (!random_.chance(30)) return convolve();
    const TensorId from = draw_tensor();
    const bool is_turned = random_.chance(60);
    const TensorId made = result(channels(from), rows(from), width(from));
    const RowMap map = is_turned ? RowMap{.scale = -1, .offset = rows(from) - 1}
                                 : RowMap{.scale = 0, .offset = random_.between(0, rows(from) - 1)};
    add(is_turned ? "ReverseSequence" : "Expand", {from}, {made}, {reads(0, map)});
  }

  /// Rows of the input near the ends are there again; each row may read every row that one of them may.
  void pad_with_rows() {
    const TensorId from = draw_tensor();
    const std::int64_t front = random_.between(0, std::min<std::int64_t>(2, rows(from) - 1));
    const std::int64_t behind = random_.between(0, std::min<std::int64_t>(2, rows(from) - 1));
    const TensorId made = result(channels(from), rows(from) + front + behind, width(from));
    const RowMap edge{.offset = -front - behind, .taps = front + behind + 1};
    const RowMap reflect{.offset = -front - 2 * behind, .taps = front + behind + 1, .dilation = 2};
    add("Pad", {from}, {made}, {reads(0, random_.chance(50) ? edge : reflect)});
  }

  void tile() {
    const TensorId from = draw_tensor();
    const std::int64_t times = random_.between(2, 3);
    if (rows(from) * times > 2 * most_rows_) return unary();
    const TensorId made = result(channels(from), rows(from) * times, width(from));
    add("Tile", {from}, {made},
        {reads(0, {.offset = -rows(from) * (times - 1), .taps = times, .dilation = rows(from)})});
  }

  void back_slice() {
    const TensorId from = draw_tensor();
    const std::int64_t begin = random_.between(0, rows(from) - 1);
    const std::int64_t step = random_.between(1, 3);
    const TensorId made = result(channels(from), random_.between(1, begin / step + 1), width(from));
    add("Slice", {from}, {made}, {reads(0, {.scale = -step, .offset = begin})});
  }

  /// Every so many rows of the input make one of the output.
  void gather_blocks() {
    const TensorId from = draw_tensor();
    const std::int64_t blocks = random_.between(1, 3);
    if (rows(from) % blocks != 0) return unary();
    const std::int64_t extent = rows(from) / blocks;
    const TensorId made = result(channels(from), extent, draw_width());
    add("BATCH_TO_SPACE_ND", {from}, {made}, {reads(0, {.taps = blocks, .dilation = extent})});
  }

  /// A row of the output is a column of the input.
  void transpose() {
    if (layout_ != Layout::rows_first || !random_.chance(40)) return convolve();
    const TensorId from = draw_tensor();
    const TensorId made = result(1, width(from), rows(from));
    sketch_.add("Transpose", {from}, {made}).row_axes = {
        {.axis = 0, .reads = {{.input = 0, .axis = 1, .rows = {}}}},
        {.axis = 1, .reads = {{.input = 0, .axis = 0, .rows = {}}}}};
  }

  /// A wide tensor between narrow ones: its rows are worth computing anew.
  void bottleneck() {
    const TensorId from = draw_tensor();
    if (rows(from) < 3) return convolve();
    const TensorId wide = result(channels(from), rows(from), width(from) * random_.between(3, 5));
    add("Conv", {from}, {wide}, {reads(0)}).multiplies = rows(wide);
    const TensorId made = result(draw_channels(), rows(from), draw_width());
    Operator& op = add("Conv", {wide}, {made}, {reads(0, {.offset = -1, .taps = 3})});
    op.row_axes[0].is_windows = true;
    op.row_axes[0].adds_rows = dtype_ == DType::float32;
    op.multiplies = rows(made) * random_.between(3, 30);
  }

  Random& random_;
  Sketch sketch_;
  std::int64_t operators_;
  std::int64_t most_rows_;
  Layout layout_ = Layout::rows_first;
  std::size_t axis_ = 0;
  DType dtype_ = DType::int8;
  std::vector<TensorId> pool_;
};

}  // namespace

Graph random_rows(Random& random, std::int64_t operators, std::int64_t most_rows) {
  return RowsDraft(random, operators, most_rows).draw();
}

void draw_rows(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  const bool is_tiny = random.chance(50);
  const Graph graph = random_rows(random, is_tiny ? 3 : 8, is_tiny ? 3 : 12);
  drawn.sources = {source_of("net.json", graph)};
  draw_common_options(drawn, random);
  PlanOptions& options = drawn.options;
  if (random.chance(12)) return;
  options.stream =
      StreamOptions{.granule = random.chance(60) ? 1 : random.between(2, 8),
                    .recompute = random.chance(65) ? 1 : static_cast<double>(random.between(10, 30)) / 10};
  if (options.stream->recompute > 1 && random.chance(15)) options.stream->recompute_from = 1;
  if (options.io == Io::arena && random.chance(45)) options.io = Io::rows;
  if (random.chance(20)) {
    options.memories = {{.name = "fast", .capacity = random.between(16, 300), .cost = 1},
                        {.name = "slow", .cost = random.chance(50) ? 10 : 100}};
    if (random.chance(50)) {  // steps read weights, which may be staged
      options.memories.push_back({.name = "flash", .cost = 10, .role = MemoryRole::weights});
      if (random.chance(70)) options.moves = Moves::allowed;
    }
    options.stream->recompute_from.reset();
    return;
  }
  // What brute force can look at.
  if (!is_tiny || random.chance(30)) return;
  options.alignment = 1;
  options.stream = StreamOptions();
}

}  // namespace stowage::campaign
