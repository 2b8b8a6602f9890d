// In words and bars:
//
//     own       ▁▂▄▅▇█▇▇▅▃▂▁  peak at position 412 (conv_41)
//     planned   ▁▂▄▅▆▆▆▅▅▃▂▁  peak at position 300 (add_12)
//
// and as a picture, both to one scale. A line goes from an operator's old position to its new one:
//
//      _  |          own order
//     | |_|  __
//     |_____|  |_____
//        \     /
//      ___\_  /      planned order
//     |     |/_|____

#include "export/order_profile.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/print.h"
#include "export/readable.h"

namespace stowage::exporting {
namespace {

constexpr std::size_t longest_name = 32;

Bytes most_of(const std::vector<Bytes>& loads) { return *std::ranges::max_element(loads); }

/// The maximum in each of at most `most_columns` parts of equal length.
std::vector<Bytes> in_columns(const std::vector<Bytes>& loads, std::size_t most_columns) {
  const std::size_t columns = std::min(loads.size(), most_columns);
  std::vector<Bytes> most(columns, 0);
  for (std::size_t at = 0; at < loads.size(); ++at) {
    Bytes& column = most[at * columns / loads.size()];
    column = std::max(column, loads[at]);
  }
  return most;
}

/// The first position of the peak, and the operator there.
std::string place_of_peak(const OrderLoads& order) {
  const std::vector<Bytes>& loads = order.loads;
  const auto at = static_cast<std::size_t>(std::ranges::max_element(loads) - loads.begin());
  return fmt::format("{} at position {} ({})", in_units(loads[at]), at,
                     shortened(order.peak_operator, longest_name));
}

std::string bars_of(const std::vector<Bytes>& loads, Bytes top) {
  constexpr std::size_t most_columns = 56;
  constexpr std::array<std::string_view, 9> bars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const Bytes load : in_columns(loads, most_columns)) {
    const double part = static_cast<double>(load) / static_cast<double>(top);
    text += bars[static_cast<std::size_t>(part * (bars.size() - 1) + 0.5)];
  }
  return text;
}

/// The operators that moved farthest.
std::string farthest_of(std::vector<MovedOperator> moved) {
  constexpr std::size_t shown = 3;
  const auto way_of = [](const MovedOperator& it) {
    return std::max(it.from, it.to) - std::min(it.from, it.to);
  };
  std::ranges::stable_sort(moved, std::greater(), way_of);
  std::string text;
  for (std::size_t i = 0; i < std::min(moved.size(), shown); ++i) {
    text += fmt::format("{}{} from {} to {}", i > 0 ? ", " : "", shortened(moved[i].name, longest_name),
                        moved[i].from, moved[i].to);
  }
  return text + (moved.size() > shown ? fmt::format(" and {} more", moved.size() - shown) : "");
}

/// The picture.
class ProfilePanel {
 public:
  ProfilePanel(const OrderProfile& profile, const Frame& frame)
      : profile_(profile),
        frame_(frame),
        top_(std::max({most_of(profile.own.loads), most_of(profile.planned.loads), Bytes{1}})) {}

  void draw(std::ostream& out) const {
    fmt::print(out, "<g transform=\"translate({},{})\">\n", frame_.left, frame_.top);
    draw_moves(out);
    draw_order("the model's own order", profile_.own, title_height, out);
    draw_order("the order of the plan", profile_.planned, second_top, out);
    draw_positions(out);
    out << "</g>\n";
  }

 private:
  static constexpr double title_height = 34;
  static constexpr double plot_height = 190;
  static constexpr double gap = 76;  ///< For the lines of moved operators and the second title.
  static constexpr double second_top = title_height + plot_height + gap;

  [[nodiscard]] double x_of(std::size_t position) const {
    return frame_.width * static_cast<double>(position) / static_cast<double>(profile_.own.loads.size());
  }
  [[nodiscard]] double y_of(Bytes bytes) const {
    return plot_height * (1 - static_cast<double>(bytes) / static_cast<double>(top_));
  }

  void draw_order(std::string_view what, const OrderLoads& order, double y, std::ostream& out) const {
    const std::vector<Bytes>& loads = order.loads;
    fmt::print(out,
               "<g transform=\"translate(0,{})\"><text y=\"-12\" class=\"title halo\">{}: {}</text>\n"
               "<rect width=\"{}\" height=\"{}\" class=\"plot\"/>\n",
               y, what, escaped(place_of_peak(order)), frame_.width, plot_height);
    const std::vector<Bytes> columns = in_columns(loads, static_cast<std::size_t>(frame_.width));
    const double width = frame_.width / static_cast<double>(columns.size());
    fmt::print(out, "<path class=\"alive\" d=\"M0,{}", plot_height);
    for (const Bytes load : columns) fmt::print(out, "V{:.1f}h{:.3f}", y_of(load), width);
    fmt::print(out, "V{}z\"/>\n", plot_height);
    draw_bytes(out);
    const double peak = y_of(most_of(loads));
    fmt::print(out,
               "<line x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\" class=\"load\"/><text x=\"{2}\" y=\"{3:.1f}\" "
               "class=\"load-name\">max load {4}</text></g>\n",
               frame_.width, peak, frame_.width + 6, peak + 4, in_units(most_of(loads)));
  }

  void draw_bytes(std::ostream& out) const {
    constexpr std::int64_t most_marks = 5;
    const std::int64_t step = step_of_marks(top_, most_marks, 1024);
    for (Bytes at = 0; at <= top_; at += step) {
      fmt::print(out,
                 "<line x1=\"-5\" x2=\"0\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" class=\"mark\"/><text x=\"-8\" "
                 "y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>\n",
                 y_of(at), y_of(at) + 4, in_units(at));
    }
  }

  void draw_positions(std::ostream& out) const {
    constexpr std::int64_t most_marks = 20;
    const auto steps = static_cast<std::int64_t>(profile_.own.loads.size());
    const double y = second_top + plot_height;
    for (Position at = 0; at <= steps; at += step_of_marks(steps, most_marks, 10)) {
      fmt::print(
          out,
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" class=\"mark\"/><text x=\"{0:.1f}\" "
          "y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
          x_of(static_cast<std::size_t>(at)), y, y + 5, y + 18, at);
    }
    fmt::print(out,
               "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">position; {} of {} operators were moved</text>\n",
               frame_.width, y + 34, profile_.moved.size(), profile_.own.loads.size());
  }

  void draw_moves(std::ostream& out) const {
    for (const MovedOperator& it : profile_.moved) {
      fmt::print(out,
                 "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" class=\"move\"><title>{}: {} to "
                 "{}</title></line>\n",
                 x_of(it.from), title_height + plot_height, x_of(it.to), second_top, escaped(it.name),
                 it.from, it.to);
    }
  }

  const OrderProfile& profile_;
  const Frame& frame_;
  Bytes top_;
};

}  // namespace

void write_order_profile(const OrderProfile& profile, std::ostream& out) {
  const Bytes top = std::max({most_of(profile.own.loads), most_of(profile.planned.loads), Bytes{1}});
  out << "\nlive bytes, from the first step to the last, if all shares that may:\n";
  const auto row = [&](std::string_view what, const OrderLoads& order) {
    base::print(out, "  {:<8} {}  {}\n", what, bars_of(order.loads, top), place_of_peak(order));
  };
  row("own", profile.own);
  row("planned", profile.planned);
  base::print(out, "  {:<8} {} of {} operators: {}\n", "moved", profile.moved.size(),
              profile.own.loads.size(), farthest_of(profile.moved));
}

void draw_order_profile(const OrderProfile& profile, const Frame& frame, std::ostream& out) {
  ProfilePanel(profile, frame).draw(out);
}

void write_order_profile_style(std::ostream& out) {
  out << "<style>.alive{fill:#a9c6ea;stroke:#4f7fb8;stroke-width:.8}"
         ".halo{paint-order:stroke;stroke:#fafafa;stroke-width:6;stroke-linejoin:round}"
         ".move{stroke:#c07a17;stroke-width:1;stroke-opacity:.5}</style>\n";
}

}  // namespace stowage::exporting
