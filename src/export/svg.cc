// Every piece of a buffer is a rectangle in the plane of time and address, drawn as such if it is large
// enough to be seen. The others are entered in a grid of small cells, where runs of one colour become one
// rectangle. The picture looks the same, and its area limits its size, not the number of buffers.
//
//     address ^ ....................  capacity (if there is one)
//             | ====================  peak
//             | ---+------+---------  max load: what no placing can go below
//             |    | b    |  c
//             | a  +------+---+
//             +-----------------> position
//
// Colours are the risk classes of strategy `rectangle` (pack/patents/rectangle_reorder.h): pieces above the max load
// are red, their neighbours in time pale red, pieces that reach the max load orange, the neighbours of all
// these blue, all others grey.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "export/order_profile.h"
#include "export/readable.h"
#include "pack/patents/rectangle_reorder.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::escaped;
using exporting::in_units;
using exporting::shortened;
using exporting::step_of_marks;

constexpr double margin_left = 90;
constexpr double margin_right = 130;
constexpr double margin_top = 46;
constexpr double margin_bottom = 44;
constexpr double plot_width = 1100;
constexpr double plot_height = 560;
constexpr double panel_height = margin_top + plot_height + margin_bottom;
constexpr double total_width = margin_left + plot_width + margin_right;
constexpr double cell = 2;  ///< Pixels of the grid for small pieces.
constexpr double smallest_side = 3;
constexpr double letter_width = 6.2;
constexpr double letter_height = 12;
constexpr double padding = 4;

struct Style {
  std::string_view fill;
  std::string_view stroke;
  std::string_view meaning;
};

/// By Risk; the last for pieces above the max load.
constexpr std::array<Style, 5> styles{{{"#d5d9de", "#8a929c", "none"},
                                       {"#a9c6ea", "#4f7fb8", "low: beside those"},
                                       {"#f6c88a", "#c07a17", "medium: reaches max load, or beside such"},
                                       {"#f3b7b1", "#b5332a", "high: beside one that is above max load"},
                                       {"#dc5f54", "#8f241c", "above max load"}}};

struct Rectangle {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// Small pieces, by cell; the highest risk decides the colour.
class Grid {
 public:
  Grid()
      : columns_(static_cast<std::size_t>(plot_width / cell)),
        rows_(static_cast<std::size_t>(plot_height / cell)),
        cells_(columns_ * rows_, 0) {}

  void fill(const Rectangle& it, std::size_t style) {
    const auto value = static_cast<std::uint8_t>(style + 1);
    const auto [first_column, last_column] = range(it.x, it.width, columns_);
    const auto [first_row, last_row] = range(it.y, it.height, rows_);
    for (std::size_t row = first_row; row <= last_row; ++row) {
      for (std::size_t column = first_column; column <= last_column; ++column) {
        std::uint8_t& here = cells_[row * columns_ + column];
        here = std::max(here, value);
      }
    }
  }

  void draw(std::ostream& out) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t begin = 0; begin < columns_;) {
        const std::uint8_t value = cells_[row * columns_ + begin];
        std::size_t end = begin + 1;
        while (end < columns_ && cells_[row * columns_ + end] == value) ++end;
        if (value > 0) {
          fmt::print(out, "<rect class=\"r{} plain\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     value - 1, static_cast<double>(begin) * cell, static_cast<double>(row) * cell,
                     static_cast<double>(end - begin) * cell, cell);
        }
        begin = end;
      }
    }
  }

 private:
  static std::pair<std::size_t, std::size_t> range(double begin, double length, std::size_t count) {
    const auto index = [&](double at) {
      return std::min(static_cast<std::size_t>(std::max(at / cell, 0.0)), count - 1);
    };
    const std::size_t first = index(begin);
    return {first, std::max(first, index(begin + length - cell / 2))};
  }

  std::size_t columns_;
  std::size_t rows_;
  std::vector<std::uint8_t> cells_;  ///< 0: empty; else style + 1.
};

/// The panel of one memory.
class Panel {
 public:
  /// `buffers` are those of the plan, on one axis.
  Panel(const Plan& plan, const std::vector<Buffer>& buffers, std::size_t memory)
      : plan_(plan), on_axis_(buffers), memory_(plan.memories[memory]) {
    std::vector<Buffer> inside;
    std::vector<Bytes> offsets;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (plan.places[b].memory != memory) continue;
      buffers_.push_back(b);
      inside.push_back(buffers[b]);
      offsets.push_back(plan.places[b].offset);
    }
    for (const Buffer& buffer : buffers) {
      for (const Piece& piece : buffer.pieces) end_ = std::max(end_, piece.life.upper);
    }
    // Branches have no common clock: the bound contains their common need.
    load_ = plan.clocks.size() > 1 ? memory_.lower_bound : max_load(inside);
    const std::vector<pack::Risk> risks = pack::classify(inside, offsets, load_);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const bool is_above = risks[i] == pack::Risk::high && offsets[i] + inside[i].size > load_;
      styles_.push_back(is_above ? styles.size() - 1 : static_cast<std::size_t>(risks[i]));
    }
    top_ = std::max({memory_.peak, load_, Bytes{1}});
    // A capacity far above everything would make the rest invisible.
    const Bytes capacity = memory_.memory.capacity.value_or(0);
    if (capacity <= 2 * top_) top_ = std::max(top_, capacity);
  }

  void draw(double y, std::ostream& out) const {
    fmt::print(out, "<g transform=\"translate({},{})\">\n", margin_left, y + margin_top);
    fmt::print(
        out,
        "<text x=\"0\" y=\"-26\" class=\"title\">{}: peak {} bytes, max load {} bytes, {} buffers</text>\n",
        escaped(memory_.memory.name), memory_.peak, load_, buffers_.size());
    fmt::print(out, "<rect x=\"0\" y=\"0\" width=\"{}\" height=\"{}\" class=\"plot\"/>\n", plot_width,
               plot_height);
    draw_marks(out);
    draw_pieces(out);
    draw_levels(out);
    out << "</g>\n";
  }

 private:
  [[nodiscard]] double x_of(Position at) const {
    return plot_width * static_cast<double>(at) / static_cast<double>(end_);
  }
  [[nodiscard]] double y_of(Bytes address) const {
    return plot_height * (1 - static_cast<double>(address) / static_cast<double>(top_));
  }

  void draw_marks(std::ostream& out) const {
    constexpr std::int64_t most_times = 20;
    constexpr std::int64_t most_addresses = 12;
    const std::int64_t times = step_of_marks(end_, most_times, 10);
    for (Position at = 0; at <= end_; at += times) {
      fmt::print(
          out,
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" class=\"mark\"/><text x=\"{0:.1f}\" "
          "y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
          x_of(at), plot_height, plot_height + 5, plot_height + 18, at);
    }
    const std::int64_t addresses = step_of_marks(top_, most_addresses, 1024);
    for (Bytes at = 0; at <= top_; at += addresses) {
      fmt::print(out,
                 "<line x1=\"-5\" x2=\"0\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" class=\"mark\"/><text x=\"-8\" "
                 "y=\"{1:.1f}\" "
                 "text-anchor=\"end\">{2}</text>\n",
                 y_of(at), y_of(at) + 4, in_units(at));
    }
    fmt::print(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">position</text>\n", plot_width,
               plot_height + 34);
  }

  void draw_pieces(std::ostream& out) const {
    Grid grid;
    std::vector<std::pair<std::size_t, const Piece*>> large;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      for (const Piece& piece : on_axis_[buffers_[i]].pieces) {
        if (!piece.is_ever_alive()) continue;
        const Rectangle it = rectangle_of(i, piece);
        if (it.width < smallest_side || it.height < smallest_side) {
          grid.fill(it, styles_[i]);
        } else {
          large.emplace_back(i, &piece);
        }
      }
    }
    grid.draw(out);
    for (const auto& [i, piece] : large) draw_piece(i, *piece, out);
  }

  [[nodiscard]] Rectangle rectangle_of(std::size_t i, const Piece& piece) const {
    const Bytes begin = plan_.places[buffers_[i]].offset + piece.offset;
    const double x = x_of(piece.life.lower);
    const double y = y_of(begin + piece.size);
    return {x, y, x_of(piece.life.upper) - x, y_of(begin) - y};
  }

  void draw_piece(std::size_t i, const Piece& piece, std::ostream& out) const {
    const Buffer& buffer = on_axis_[buffers_[i]];
    const Bytes begin = plan_.places[buffers_[i]].offset + piece.offset;
    const Rectangle it = rectangle_of(i, piece);
    fmt::print(out,
               "<rect class=\"r{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}: "
               "{} bytes at "
               "{}, alive [{}, {})</title></rect>\n",
               styles_[i], it.x, it.y, it.width, it.height, escaped(buffer.id), piece.size, begin,
               piece.life.lower, piece.life.upper);
    const double room = it.width - 2 * padding;
    constexpr double fewest_letters = 3;
    if (it.height < letter_height ||
        room < std::min(fewest_letters, static_cast<double>(buffer.id.size())) * letter_width)
      return;
    fmt::print(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"label\">{}</text>\n", it.x + padding,
               it.y + std::min(it.height / 2 + 4, letter_height + 4),
               escaped(shortened(buffer.id, static_cast<std::size_t>(room / letter_width))));
  }

  struct Level {
    Bytes at = 0;
    std::string_view style;
    std::string_view name;
  };

  /// Draws horizontal lines, highest first, with their names at the right, none over another.
  void draw_levels(std::ostream& out) const {
    std::vector<Level> levels{{memory_.peak, "peak", "peak"}, {load_, "load", "max load"}};
    const auto& capacity = memory_.memory.capacity;
    if (capacity && *capacity <= top_) levels.insert(levels.begin(), {*capacity, "capacity", "capacity"});
    std::stable_sort(levels.begin(), levels.end(),
                     [](const Level& a, const Level& b) { return a.at > b.at; });
    double text_y = -margin_top;
    for (const Level& level : levels) {
      const double y = y_of(level.at);
      text_y = std::max(text_y + letter_height + 1, y - padding);
      fmt::print(out,
                 "<line x1=\"0\" x2=\"{}\" y1=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/><text x=\"{}\" "
                 "y=\"{:.1f}\" class=\"{}-name\">{} {}</text>\n",
                 plot_width, y, y, level.style, plot_width + 6, text_y, level.style, level.name,
                 in_units(level.at));
    }
  }

  const Plan& plan_;
  const std::vector<Buffer>& on_axis_;
  const PlannedMemory& memory_;
  std::vector<std::size_t> buffers_;  ///< The buffers in this memory.
  std::vector<std::size_t> styles_;   ///< Their styles.
  Bytes load_ = 0;
  Bytes top_ = 1;
  Position end_ = 1;
};

void write_style(std::ostream& out) {
  out << "<style>text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:14px;font-weight:600}"
         ".label{fill:#222}.plot{fill:#fff;stroke:#bbb}.mark{stroke:#999}"
         ".load{stroke:#1b7f3b;stroke-width:1.5;stroke-dasharray:6 4}.load-name{fill:#1b7f3b}"
         ".peak{stroke:#b5332a;stroke-width:1.5}.peak-name{fill:#b5332a}"
         ".capacity{stroke:#555;stroke-width:1.5;stroke-dasharray:2 3}.capacity-name{fill:#555}";
  for (std::size_t risk = 0; risk < styles.size(); ++risk)
    fmt::print(out, ".r{}{{fill:{};stroke:{};stroke-width:.6}}", risk, styles[risk].fill,
               styles[risk].stroke);
  out << ".plain{stroke:none}</style>\n";
}

void write_legend(double y, std::ostream& out) {
  double x = margin_left;
  fmt::print(out, "<text x=\"{}\" y=\"{}\">risk</text>\n", x, y + 11);
  x += 34;
  for (std::size_t risk = styles.size(); risk-- > 0;) {
    fmt::print(out,
               "<rect class=\"r{}\" x=\"{}\" y=\"{}\" width=\"14\" height=\"14\"/><text x=\"{}\" "
               "y=\"{}\">{}</text>\n",
               risk, x, y, x + 19, y + 11, styles[risk].meaning);
    x += 44 + letter_width * static_cast<double>(styles[risk].meaning.size());
  }
}

}  // namespace

void write_svg(const Plan& plan, std::ostream& out) {
  const std::optional<OrderProfile>& profile = plan.order_profile;
  constexpr double legend_height = 30;
  const double panels = panel_height * static_cast<double>(plan.memories.size());
  const double height = panels + legend_height + (profile ? exporting::order_profile_height : 0);
  fmt::print(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fafafa\"/>\n",
      total_width, height);
  write_style(out);
  const std::vector<Buffer> buffers = exporting::on_one_axis(plan);
  for (std::size_t m = 0; m < plan.memories.size(); ++m)
    Panel(plan, buffers, m).draw(static_cast<double>(m) * panel_height, out);
  write_legend(panels + 6, out);
  if (profile) {
    exporting::write_order_profile_style(out);
    exporting::draw_order_profile(*profile, {margin_left, panels + legend_height, plot_width}, out);
  }
  out << "</svg>\n";
}

}  // namespace stowage
