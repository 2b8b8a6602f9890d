#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "layers.h"
#include "net_maker.h"
#include "net_shapes.h"

namespace stowage::campaign {
namespace {

class NetDraft {
 public:
  explicit NetDraft(Random& random) : random_(random), maker_(random) {}

  std::string draw() {
    const std::int64_t inputs = random_.chance(80) ? 1 : 2;
    for (std::int64_t i = 0; i < inputs; ++i) {
      const Map map{"", random_.between(1, 4), random_.between(3, 16), random_.between(2, 8)};
      maps_.push_back(
          {maker_.input({1, map.channels, map.height, map.width}), map.channels, map.height, map.width});
      is_read_.push_back(false);
    }
    for (std::int64_t i = random_.between(2, 9); i > 0; --i) draw_layer();
    bool has_output = false;
    for (std::size_t i = static_cast<std::size_t>(inputs); i < maps_.size(); ++i)
      if (!is_read_[i] || random_.chance(5)) {
        maker_.output(maps_[i].name);
        has_output = true;
      }
    if (!has_output) maker_.output(maps_.back().name);
    return maker_.bytes();
  }

 private:
  std::size_t choose() { return random_.chance(70) ? maps_.size() - 1 : random_.index(maps_.size()); }
  const Map& take(std::size_t index) {
    is_read_[index] = true;
    return maps_[index];
  }
  void give(Map map) {
    maps_.push_back(std::move(map));
    is_read_.push_back(false);
  }

  void draw_layer() {
    using Draw = void (NetDraft::*)();
    static const std::vector<Draw> kinds{
        &NetDraft::convolve,  &NetDraft::convolve,  &NetDraft::convolve, &NetDraft::convolve,
        &NetDraft::depthwise, &NetDraft::depthwise, &NetDraft::activate, &NetDraft::activate,
        &NetDraft::activate,  &NetDraft::combine,   &NetDraft::combine,  &NetDraft::scale,
        &NetDraft::concat,    &NetDraft::split,     &NetDraft::pool,     &NetDraft::pool,
        &NetDraft::squeeze,   &NetDraft::pad,       &NetDraft::resize,   &NetDraft::grow,
        &NetDraft::shuffle,   &NetDraft::softmax,   &NetDraft::slice,    &NetDraft::multiply,
        &NetDraft::normalize, &NetDraft::turn,      &NetDraft::blocks};
    (this->*random_.pick(kinds))();
  }

  Windows draw_windows() {
    Windows windows;
    windows.taps = random_.pick(std::vector<std::int64_t>{1, 2, 3, 3, 3, 5});
    windows.stride = random_.pick(std::vector<std::int64_t>{1, 1, 1, 2, 3});
    windows.dilation = random_.chance(20) ? 2 : 1;
    windows.front = random_.between(0, std::min<std::int64_t>(windows.taps - 1, 2));
    windows.behind = random_.between(0, std::min<std::int64_t>(windows.taps - 1, 2));
    return windows;
  }

  void place_windows(NetMaker::Node node, const Windows& down, const Windows& across, bool has_dilation) {
    node.with("kernel_shape", std::vector<std::int64_t>{down.taps, across.taps})
        .with("strides", std::vector<std::int64_t>{down.stride, across.stride})
        .with("pads", std::vector<std::int64_t>{down.front, across.front, down.behind, across.behind});
    if (has_dilation) node.with("dilations", std::vector<std::int64_t>{down.dilation, across.dilation});
  }

  void convolve() { convolution(false); }
  void depthwise() { convolution(true); }

  void convolution(bool by_channel) {
    const Map from = take(choose());
    const Windows down = draw_windows();
    const Windows across = draw_windows();
    const std::int64_t channels = by_channel ? from.channels : random_.between(1, 5);
    NetMaker::Names inputs{
        from.name, maker_.weights({channels, by_channel ? 1 : from.channels, down.taps, across.taps})};
    if (random_.chance(60)) inputs.push_back(maker_.weights({channels}));
    Map made{maker_.fresh(), channels, down.count(from.height), across.count(from.width)};
    if (random_.chance(20)) {  // As many rows as strides go into it.
      made.height = (from.height + down.stride - 1) / down.stride;
      made.width = (from.width + across.stride - 1) / across.stride;
      maker_.add("Conv", inputs, {made.name})
          .with("auto_pad", std::string(random_.chance(50) ? "SAME_UPPER" : "SAME_LOWER"))
          .with("kernel_shape", std::vector<std::int64_t>{down.taps, across.taps})
          .with("strides", std::vector<std::int64_t>{down.stride, across.stride})
          .with("group", by_channel ? from.channels : std::int64_t{1});
      return give(made);
    }
    if (made.height < 1 || made.width < 1) return activate();
    auto node =
        maker_.add("Conv", inputs, {made.name}).with("group", by_channel ? from.channels : std::int64_t{1});
    place_windows(node, down, across, true);
    give(made);
  }

  void activate() {
    static const std::vector<std::string> types{"Relu",      "Sigmoid", "Tanh",     "LeakyRelu",
                                                "HardSwish", "Elu",     "Identity", "Abs",
                                                "Neg",       "Exp",     "Softplus", "Floor"};
    const Map from = take(choose());
    const Map made{maker_.fresh(), from.channels, from.height, from.width};
    maker_.add(random_.pick(types), {from.name}, {made.name});
    give(made);
  }

  void combine() {
    const Map first = take(choose());
    std::vector<std::size_t> mates;
    for (std::size_t i = 0; i < maps_.size(); ++i)
      if (maps_[i].is_like(first)) mates.push_back(i);
    const Map second = take(random_.pick(mates));
    const Map made{maker_.fresh(), first.channels, first.height, first.width};
    maker_.add(random_.pick(std::vector<std::string>{"Add", "Mul", "Sub", "Max", "Sum"}),
               {first.name, second.name}, {made.name});
    give(made);
  }

  /// With a constant, a scalar among them, or with a map of one pixel.
  void scale() {
    const Map first = take(choose());
    const Map made{maker_.fresh(), first.channels, first.height, first.width};
    std::string other;
    for (std::size_t i = 0; i < maps_.size(); ++i)
      if (maps_[i].height == 1 && maps_[i].width == 1 && maps_[i].channels == first.channels)
        other = take(i).name;
    if (other.empty()) {
      const std::vector<Shape> shapes{
          {}, {1}, {first.width}, {first.channels, 1, 1}, {1, 1, first.height, 1}};
      other = maker_.weights(random_.pick(shapes));
    }
    const bool is_turned = random_.chance(40);
    maker_.add(random_.pick(std::vector<std::string>{"Add", "Mul", "Sub"}),
               {is_turned ? other : first.name, is_turned ? first.name : other}, {made.name});
    give(made);
  }

  void concat() {
    const Map first = take(choose());
    const std::int64_t axis = random_.between(1, 3);
    std::vector<std::size_t> mates;
    for (std::size_t i = 0; i < maps_.size(); ++i)
      if ((axis == 1 || maps_[i].channels == first.channels) &&
          (axis == 2 || maps_[i].height == first.height) && (axis == 3 || maps_[i].width == first.width))
        mates.push_back(i);
    const Map second = take(random_.pick(mates));
    Map made{maker_.fresh(), first.channels, first.height, first.width};
    (axis == 1   ? made.channels
     : axis == 2 ? made.height
                 : made.width) += axis == 1   ? second.channels
                                  : axis == 2 ? second.height
                                              : second.width;
    if (made.channels > 8 || made.height > 24 || made.width > 16) return activate();
    maker_.add("Concat", {first.name, second.name}, {made.name}).with("axis", axis);
    give(made);
  }

  void split() {
    const Map from = take(choose());
    const std::int64_t axis = random_.between(1, 3);
    const std::int64_t extent = axis == 1 ? from.channels : axis == 2 ? from.height : from.width;
    if (extent < 2) return activate();
    const std::int64_t cut = random_.between(1, extent - 1);
    Map one{maker_.fresh(), from.channels, from.height, from.width};
    Map other{maker_.fresh(), from.channels, from.height, from.width};
    (axis == 1 ? one.channels : axis == 2 ? one.height : one.width) = cut;
    (axis == 1 ? other.channels : axis == 2 ? other.height : other.width) = extent - cut;
    maker_.add("Split", {from.name, maker_.integers({cut, extent - cut})}, {one.name, other.name})
        .with("axis", axis);
    give(one);
    give(other);
  }

  void pool() {
    const Map from = take(choose());
    Windows down = draw_windows();
    Windows across = draw_windows();
    down.dilation = across.dilation = 1;
    for (Windows* windows : {&down, &across}) {
      windows->front = std::min(windows->front, windows->taps / 2);
      windows->behind = std::min(windows->behind, windows->taps / 2);
      if (windows->taps == 1) windows->front = windows->behind = 0;
    }
    const Map made{maker_.fresh(), from.channels, down.count(from.height), across.count(from.width)};
    if (made.height < 1 || made.width < 1) return activate();
    const bool is_average = random_.chance(50);
    auto node = maker_.add(is_average ? "AveragePool" : "MaxPool", {from.name}, {made.name});
    if (is_average && random_.chance(50)) node.with("count_include_pad", std::int64_t{1});
    place_windows(node, down, across, false);
    give(made);
  }

  void squeeze() {
    const Map from = take(choose());
    const Map made{maker_.fresh(), from.channels, 1, 1};
    if (random_.chance(60))
      maker_.add(random_.chance(70) ? "GlobalAveragePool" : "GlobalMaxPool", {from.name}, {made.name});
    else
      maker_.add("ReduceMean", {from.name}, {made.name}).with("axes", std::vector<std::int64_t>{2, 3});
    give(made);
  }

  void pad() {
    const Map from = take(choose());
    const std::int64_t top = random_.between(0, 2);
    const std::int64_t bottom = random_.between(0, 2);
    const std::int64_t left = random_.between(0, 1);
    const std::int64_t right = random_.between(0, 1);
    static const std::vector<std::string> modes{"constant", "constant", "edge", "reflect"};
    const std::string& mode = random_.pick(modes);
    if (mode == "reflect" && (from.height < 3 || from.width < 2)) return activate();
    const Map made{maker_.fresh(), from.channels, from.height + top + bottom, from.width + left + right};
    maker_.add("Pad", {from.name, maker_.integers({0, 0, top, left, 0, 0, bottom, right})}, {made.name})
        .with("mode", mode);
    give(made);
  }

  void resize() {
    const Map from = take(choose());
    const float factor = random_.pick(std::vector<float>{2, 2, 0.5F, 1.5F, 0.75F, 3});
    const Map made{maker_.fresh(), from.channels,
                   static_cast<std::int64_t>(static_cast<float>(from.height) * factor),
                   static_cast<std::int64_t>(static_cast<float>(from.width) * factor)};
    if (made.height < 1 || made.width < 1 || made.height > 24 || made.width > 16) return activate();
    const bool is_nearest = random_.chance(60);
    auto node = maker_.add("Resize", {from.name, "", maker_.reals({1, 1, factor, factor})}, {made.name});
    node.with("mode", std::string(is_nearest ? "nearest" : "linear"));
    node.with("coordinate_transformation_mode",
              random_.pick(std::vector<std::string>{"half_pixel", "asymmetric", "align_corners",
                                                    "pytorch_half_pixel"}));
    if (is_nearest)
      node.with("nearest_mode", random_.pick(std::vector<std::string>{"floor", "ceil", "round_prefer_floor",
                                                                      "round_prefer_ceil"}));
    give(made);
  }

  /// A transposed convolution.
  void grow() {
    const Map from = take(choose());
    const std::int64_t stride = random_.between(1, 3);
    const std::int64_t taps = random_.between(stride, 4);
    const std::int64_t channels = random_.between(1, 3);
    const std::int64_t pad = random_.between(0, 1);
    const std::int64_t more = stride > 1 && random_.chance(30) ? 1 : 0;
    const auto extent = [&](std::int64_t old) { return (old - 1) * stride + taps - 2 * pad + more; };
    const Map made{maker_.fresh(), channels, extent(from.height), extent(from.width)};
    if (made.height < 1 || made.width < 1 || made.height > 24 || made.width > 20) return activate();
    maker_
        .add("ConvTranspose", {from.name, maker_.weights({from.channels, channels, taps, taps})}, {made.name})
        .with("strides", std::vector<std::int64_t>{stride, stride})
        .with("pads", std::vector<std::int64_t>{pad, pad, pad, pad})
        .with("output_padding", std::vector<std::int64_t>{more, more});
    give(made);
  }

  /// Channels change places: a reshape, a transpose and a reshape.
  void shuffle() {
    const Map from = take(choose());
    if (from.channels % 2 != 0) return activate();
    const std::string parted = maker_.fresh();
    const std::string turned = maker_.fresh();
    maker_.add("Reshape", {from.name, maker_.integers({1, 2, from.channels / 2, from.height, from.width})},
               {parted});
    maker_.add("Transpose", {parted}, {turned}).with("perm", std::vector<std::int64_t>{0, 2, 1, 3, 4});
    const Map made{maker_.fresh(), from.channels, from.height, from.width};
    maker_.add("Reshape", {turned, maker_.integers({1, from.channels, from.height, from.width})},
               {made.name});
    give(made);
  }

  void softmax() {
    const Map from = take(choose());
    const Map made{maker_.fresh(), from.channels, from.height, from.width};
    maker_.add("Softmax", {from.name}, {made.name}).with("axis", random_.between(1, 3));
    give(made);
  }

  void slice() {
    const Map from = take(choose());
    const std::int64_t axis = random_.between(1, 3);
    const std::int64_t extent = axis == 1 ? from.channels : axis == 2 ? from.height : from.width;
    const std::int64_t begin = random_.between(0, extent - 1);
    const std::int64_t end = random_.between(begin + 1, extent);
    const std::int64_t step = random_.chance(30) ? 2 : 1;
    Map made{maker_.fresh(), from.channels, from.height, from.width};
    (axis == 1 ? made.channels : axis == 2 ? made.height : made.width) = (end - begin + step - 1) / step;
    maker_.add("Slice",
               {from.name, maker_.integers({begin}), maker_.integers({end}), maker_.integers({axis}),
                maker_.integers({step})},
               {made.name});
    give(made);
  }

  void multiply() {
    const Map from = take(choose());
    const std::int64_t width = random_.between(1, 6);
    const Map made{maker_.fresh(), from.channels, from.height, width};
    maker_.add("MatMul", {from.name, maker_.weights({from.width, width})}, {made.name});
    give(made);
  }

  void normalize() {
    const Map from = take(choose());
    const Map made{maker_.fresh(), from.channels, from.height, from.width};
    const std::string variance =
        maker_.reals(std::vector<float>(static_cast<std::size_t>(from.channels), 0.5F));
    maker_.add("BatchNormalization",
               {from.name, maker_.weights({from.channels}), maker_.weights({from.channels}),
                maker_.weights({from.channels}), variance},
               {made.name});
    give(made);
  }

  /// Height and width change places.
  void turn() {
    const Map from = take(choose());
    if (from.width > 12) return activate();
    const Map made{maker_.fresh(), from.channels, from.width, from.height};
    maker_.add("Transpose", {from.name}, {made.name}).with("perm", std::vector<std::int64_t>{0, 1, 3, 2});
    give(made);
  }

  void blocks() {
    const Map from = take(choose());
    if (from.channels % 4 == 0 && random_.chance(50)) {
      const Map made{maker_.fresh(), from.channels / 4, from.height * 2, from.width * 2};
      maker_.add("DepthToSpace", {from.name}, {made.name}).with("blocksize", std::int64_t{2});
      return give(made);
    }
    if (from.height % 2 != 0 || from.width % 2 != 0 || from.channels > 2) return activate();
    const Map made{maker_.fresh(), from.channels * 4, from.height / 2, from.width / 2};
    maker_.add("SpaceToDepth", {from.name}, {made.name}).with("blocksize", std::int64_t{2});
    give(made);
  }

  /// Few channels, many, windows over them, few again: rows of many channels are worth computing anew.
  void bottleneck() {
    const Map from = take(choose());
    if (from.channels > 4) return activate();
    const std::int64_t wide = from.channels * random_.between(3, 6);
    const std::string grown = maker_.fresh();
    const std::string active = maker_.fresh();
    const std::string windowed = maker_.fresh();
    maker_.add("Conv", {from.name, maker_.weights({wide, from.channels, 1, 1})}, {grown});
    maker_.add("Relu", {grown}, {active});
    const std::int64_t stride = random_.between(1, 2);
    const Windows windows{.taps = 3, .stride = stride, .front = 1, .behind = 1};
    auto node = maker_.add("Conv", {active, maker_.weights({wide, 1, 3, 3})}, {windowed}).with("group", wide);
    place_windows(node, windows, windows, true);
    const Map made{maker_.fresh(), random_.between(1, 4), windows.count(from.height),
                   windows.count(from.width)};
    maker_.add("Conv", {windowed, maker_.weights({made.channels, wide, 1, 1})}, {made.name});
    give(made);
  }

  Random& random_;
  NetMaker maker_;
  std::vector<Map> maps_;
  std::vector<bool> is_read_;
};

}  // namespace

void draw_net(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  drawn.sources = {{.name = "net.onnx", .content = NetDraft(random).draw()}};
  draw_common_options(drawn, random);
  PlanOptions& options = drawn.options;
  if (random.chance(30)) return;
  options.stream =
      StreamOptions{.granule = random.chance(60) ? 1 : random.between(2, 8),
                    .recompute = random.chance(50) ? 1 : static_cast<double>(random.between(10, 30)) / 10};
  if (options.stream->recompute > 1 && random.chance(15)) options.stream->recompute_from = 1;
  if (options.io == Io::arena && random.chance(45)) options.io = Io::rows;
}

}  // namespace stowage::campaign
