#include "stowage/sweep.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/print.h"
#include "export/json.h"
#include "export/readable.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;

std::string title_of(const SweepEntry& entry) {
  return entry.moves == Moves::allowed ? entry.strategy + ", moves" : entry.strategy;
}

std::string cell_of(const SweepEntry& entry) {
  if (!entry.obstacle.empty()) return "-";
  return (entry.outcome == Outcome::fits ? fmt::format("{}", entry.slow_traffic) : "no fit") +
         (entry.interrupted ? "*" : "");
}

/// Strategies that apply to the input at some size.
std::vector<std::size_t> shown_columns(std::span<const SweepRow> rows) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < rows.front().entries.size(); ++i) {
    const auto serves = [&](const SweepRow& row) { return row.entries[i].obstacle.empty(); };
    if (std::any_of(rows.begin(), rows.end(), serves)) columns.push_back(i);
  }
  return columns;
}

Json entry_json(const SweepEntry& entry) {
  Json json{{"strategy", entry.strategy}, {"moves", entry.moves == Moves::allowed}};
  if (!entry.obstacle.empty()) {
    json["obstacle"] = entry.obstacle;
    return json;
  }
  json["fits"] = entry.outcome == Outcome::fits;
  json["slow_traffic"] = entry.slow_traffic;
  json["cost"] = entry.cost;
  json["interrupted"] = entry.interrupted;
  return json;
}

}  // namespace

void write_sweep(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                 std::ostream& out) {
  for (const ModelInfo& model : models) base::print(out, "{} ({})\n", model.source, name_of(model.format));
  base::print(out, "Bytes read from and written to the memories slower than {}, by its size.\n\n",
              memory.name);
  const std::vector<std::size_t> columns = shown_columns(rows);
  base::print(out, "{:>12} {:>14}", memory.name, "unavoidable");
  for (const std::size_t i : columns) base::print(out, " {:>14}", title_of(rows.front().entries[i]));
  out << '\n';
  for (const SweepRow& row : rows) {
    base::print(out, "{:>12} {:>14}", row.size, row.unavoidable);
    for (const std::size_t i : columns) base::print(out, " {:>14}", cell_of(row.entries[i]));
    out << '\n';
  }
  const bool is_cut = std::ranges::any_of(
      rows, [](const SweepRow& row) { return std::ranges::any_of(row.entries, &SweepEntry::interrupted); });
  if (is_cut) fmt::print(out, "\n* The search was cut short.\n");
}

void write_sweep_json(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                      std::ostream& out) {
  exporting::Document document(out, "stowage-sweep");
  document.models(models);
  document.value("memory", memory.name);
  document.rows("sizes", rows, [](const SweepRow& row) {
    Json json{{"size", row.size}, {"unavoidable", row.unavoidable}, {"plans", Json::array()}};
    for (const SweepEntry& entry : row.entries) json["plans"].push_back(entry_json(entry));
    return json;
  });
  document.finish();
}

// Size of the fast memory to the right, doubling by doubling; traffic of the slow ones upwards. Unavoidable
// traffic is an area at the bottom. `auto` (which uses `levels`), its moves and first-level-first are lines
// of their own, all other strategies are grey; results that do not fit are left out.

namespace {

using exporting::escaped;

// The margins of the chart, and its size.
constexpr double chart_left = 90;
constexpr double chart_right = 190;
constexpr double chart_top = 46;
constexpr double chart_bottom = 56;
constexpr double chart_width = 820;
constexpr double chart_height = 420;

struct Line {
  std::string_view style;
  std::string_view name;
};

Line line_of(const SweepEntry& entry) {
  if (entry.moves == Moves::allowed) return {"moves", "auto, with moves"};
  if (entry.strategy == "auto" || entry.strategy == "levels") return {"auto", "auto"};
  if (entry.strategy == "free-list") return {"first", "free-list"};
  return {"other", "other strategies"};
}

/// "1 MiB" and "96 KiB": in the largest unit that gives an integer.
std::string in_whole_units(Bytes bytes) {
  constexpr Bytes kibi = 1024;
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % kibi == 0 && unit + 1 < units.size()) {
    bytes /= kibi;
    ++unit;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

class Plot {
 public:
  explicit Plot(std::span<const SweepRow> rows) : rows_(rows) {
    for (const SweepRow& row : rows) {
      for (const SweepEntry& entry : row.entries)
        if (is_shown(entry)) top_ = std::max(top_, entry.slow_traffic);
    }
  }

  void draw(const Memory& memory, std::ostream& out) const {
    fmt::print(
        out,
        "<g transform=\"translate({},{})\"><text class=\"title\" x=\"0\" y=\"-22\">Traffic of slow memory "
        "by the size of {}</text><rect class=\"plot\" width=\"{}\" height=\"{}\"/>\n",
        chart_left, chart_top, escaped(memory.name), chart_width, chart_height);
    draw_marks(out);
    draw_unavoidable(out);
    for (std::size_t i = rows_.front().entries.size(); i-- > 0;) draw_line(i, out);
    draw_legend(out);
    out << "</g>\n";
  }

 private:
  static bool is_shown(const SweepEntry& entry) {
    return entry.obstacle.empty() && entry.outcome == Outcome::fits;
  }

  [[nodiscard]] double x_of(Bytes size) const {
    const double first = std::log2(static_cast<double>(std::max<Bytes>(rows_.front().size, 1)));
    const double last = std::log2(static_cast<double>(std::max<Bytes>(rows_.back().size, 1)));
    const double here = std::log2(static_cast<double>(std::max<Bytes>(size, 1)));
    return last > first ? (here - first) / (last - first) * chart_width : chart_width / 2;
  }

  [[nodiscard]] double y_of(Bytes traffic) const {
    return chart_height - static_cast<double>(traffic) / static_cast<double>(top_) * chart_height;
  }

  void draw_marks(std::ostream& out) const {
    constexpr std::int64_t marks = 8;
    constexpr std::int64_t binary = 1024;
    const std::int64_t step = exporting::step_of_marks(top_, marks, binary);
    for (std::int64_t at = 0; at <= top_; at += step) {
      fmt::print(
          out,
          "<line class=\"mark\" x1=\"0\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text x=\"-8\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          chart_width, y_of(at), y_of(at), y_of(at) + 4, in_whole_units(at));
    }
    constexpr std::size_t most_rows = 26;  // with a mark at each whole doubling
    const std::size_t stride = rows_.size() > most_rows ? 8 : 2;
    for (std::size_t i = 0; i < rows_.size(); i += stride) {
      const double x = x_of(rows_[i].size);
      fmt::print(
          out,
          "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text x=\"{0:.1f}\" "
          "y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
          x, chart_height, chart_height + 5, chart_height + 20, in_whole_units(rows_[i].size));
    }
    fmt::print(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">size of the memory</text>\n",
               chart_width / 2, chart_height + 42);
  }

  void draw_unavoidable(std::ostream& out) const {
    fmt::print(out, R"(<polygon class="unavoidable" points="{:.1f},{})", x_of(rows_.front().size),
               chart_height);
    for (const SweepRow& row : rows_)
      fmt::print(out, " {:.1f},{:.1f}", x_of(row.size), y_of(row.unavoidable));
    fmt::print(out, " {:.1f},{}\"/>\n", x_of(rows_.back().size), chart_height);
  }

  void draw_line(std::size_t i, std::ostream& out) const {
    const Line line = line_of(rows_.front().entries[i]);
    std::string points;
    for (const SweepRow& row : rows_) {
      const SweepEntry& entry = row.entries[i];
      if (is_shown(entry)) points += fmt::format("{:.1f},{:.1f} ", x_of(row.size), y_of(entry.slow_traffic));
    }
    fmt::print(out, "<polyline class=\"{}\" points=\"{}\"><title>{}</title></polyline>\n", line.style, points,
               escaped(rows_.front().entries[i].strategy));
  }

  /// The lines of the plot, each once.
  [[nodiscard]] std::vector<Line> lines() const {
    std::vector<Line> lines;
    for (std::size_t i = 0; i < rows_.front().entries.size(); ++i) {
      const Line line = line_of(rows_.front().entries[i]);
      const auto has_name = [&](const Line& other) { return other.name == line.name; };
      const auto is_drawn = [&](const SweepRow& row) { return is_shown(row.entries[i]); };
      if (std::none_of(lines.begin(), lines.end(), has_name) &&
          std::any_of(rows_.begin(), rows_.end(), is_drawn))
        lines.push_back(line);
    }
    return lines;
  }

  void draw_legend(std::ostream& out) const {
    constexpr double line_height = 22;
    constexpr double sample = 24;
    const double x = chart_width + 16;
    double y = 8;
    for (const Line& line : lines()) {
      fmt::print(out, "<polyline class=\"{}\" points=\"{},{} {},{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                 line.style, x, y, x + sample, y, x + sample + 8, y + 4, line.name);
      y += line_height;
    }
    fmt::print(out,
               "<rect class=\"unavoidable\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\"/><text x=\"{}\" "
               "y=\"{}\">unavoidable</text>\n",
               x, y - 6, sample, x + sample + 8, y + 4);
  }

  std::span<const SweepRow> rows_;
  Bytes top_ = 1;
};

}  // namespace

void write_sweep_svg(std::span<const SweepRow> rows, const Memory& memory, std::ostream& out) {
  fmt::print(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fafafa\"/>\n"
      "<style>text{{font:11px system-ui,sans-serif;fill:#333}}.title{{font-size:14px;font-weight:600}}"
      ".plot{{fill:#fff;stroke:#bbb}}.mark{{stroke:#ddd}}polyline{{fill:none}}"
      ".auto{{stroke:#2f6db3;stroke-width:2}}.moves{{stroke:#1b7f3b;stroke-width:7;stroke-opacity:.35}}"
      ".first{{stroke:#c07a17;stroke-width:2;stroke-dasharray:6 4}}.other{{stroke:#b9bfc7;stroke-width:1}}"
      ".unavoidable{{fill:#e3c9c6;fill-opacity:.7}}</style>\n",
      chart_left + chart_width + chart_right, chart_top + chart_height + chart_bottom);
  Plot(rows).draw(memory, out);
  out << "</svg>\n";
}

}  // namespace stowage
