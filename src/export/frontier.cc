// The sizes that fit as a picture: a bar for each first size, as long as the largest second size in doublings.

#include "stowage/frontier.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "export/readable.h"

namespace stowage {
namespace {

constexpr double left_margin = 110;
constexpr double top_margin = 48;
constexpr double bar_height = 22;
constexpr double bar_gap = 6;
constexpr double doubling = 34;  // of the second size, to the right
constexpr double right_margin = 220;

double doublings(std::int64_t size) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1))) + 1;
}

}  // namespace

void write_frontier_svg(std::span<const FrontierRow> rows, std::string_view first, std::string_view second,
                        std::ostream& out) {
  double longest = 1;
  for (const FrontierRow& row : rows) longest = std::max(longest, doublings(row.fit.largest.value_or(1)));
  const double width = left_margin + longest * doubling + right_margin;
  const double height = top_margin + static_cast<double>(rows.size()) * (bar_height + bar_gap) + bar_gap;
  fmt::print(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"12\" y=\"22\" font-size=\"14\">Largest {2} that fits, by {3}</text>\n",
      width, height, exporting::escaped(second), exporting::escaped(first));
  double y = top_margin;
  for (const FrontierRow& row : rows) {
    const double text_y = y + bar_height * 0.7;
    fmt::print(out, "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}={}</text>\n", left_margin - 8, text_y,
               exporting::escaped(first), row.first);
    const double length = row.fit.largest ? doublings(*row.fit.largest) * doubling : 0;
    if (row.fit.largest)
      fmt::print(out, "<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"#4a7ebb\"/>\n",
                 left_margin, y, length, bar_height);
    const std::string words = row.fit.largest
                                  ? fmt::format("{}={}, {} bytes", second, *row.fit.largest, row.fit.peak)
                              : row.rejected.empty() ? "nothing fits"
                                                     : "rejected";
    fmt::print(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left_margin + length + 8, text_y,
               exporting::escaped(words));
    y += bar_height + bar_gap;
  }
  out << "</svg>\n";
}

}  // namespace stowage
