// Sizes that a model leaves open: what it needs at some of them, and the largest that fits.

#include "cli/open_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/frontier.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/open_rows.h"
#include "cli/size_search.h"
#include "cli/typed.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/fit.h"
#include "stowage/network.h"

namespace stowage::cli {
namespace {

constexpr double share_of_fit = 2.0 / 3;  // of the time limit; the rest is for the plan

/// Reads the only model of a command.
Input read_model(const PlanCommand& command, const PlanOptions& options, const ImportOptions& given) {
  const NamedFile model = parse_models(command.inputs)[0];
  Input input = options.stream ? read_network(model.file, given).input : read_input(model.file, given);
  input.info.name = model.name;
  return input;
}

/// The same with a size for these names.
Input read_with(const PlanCommand& command, const PlanOptions& options, const std::vector<std::string>& names,
                const GivenSize& size) {
  ImportOptions given = parse_model_options(command.model);
  for (const std::string& name : names) given.dims.insert_or_assign(name, size);
  return read_model(command, options, given);
}

/// The size of the first axis of what has it first is taken for that of a batch: 1 at first.
bool is_batch(const OpenSize& size) { return size.places[0].axis == 0; }

/// A polynomial a*n*n + b*n + c with whole coefficients.
struct Polynomial {
  std::int64_t a = 0, b = 0, c = 0;

  [[nodiscard]] bool goes_through(const SizedPeak& it) const {
    const auto size = static_cast<__int128>(it.size);
    return (a * size + b) * size + c == it.peak;
  }

  [[nodiscard]] std::string text(const std::string& n) const {
    std::string text;
    const auto add = [&](std::int64_t factor, const std::string& of) {
      if (factor == 0) return;
      text += text.empty() ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
      text += fmt::format("{}{}", std::abs(factor), of);
    };
    add(a, fmt::format("*{0}*{0}", n));
    add(b, "*" + n);
    add(c, "");
    return text.empty() ? "0" : text;
  }
};

/// The one through three points, if it is of whole numbers.
Polynomial through(const SizedPeak& x, const SizedPeak& y, const SizedPeak& z) {
  const auto slope = [](const SizedPeak& from, const SizedPeak& to) {
    return static_cast<double>(to.peak - from.peak) / static_cast<double>(to.size - from.size);
  };
  const double a = (slope(y, z) - slope(x, y)) / static_cast<double>(z.size - x.size);
  const double b = slope(x, y) - a * static_cast<double>(x.size + y.size);
  const double c =
      static_cast<double>(x.peak) - (b + a * static_cast<double>(x.size)) * static_cast<double>(x.size);
  return {std::llround(a), std::llround(b), std::llround(c)};
}

/// "64*n + 128 from n=32 on": a polynomial through the largest of the sizes, at least four.
std::optional<std::string> formula_of(const std::vector<SizedPeak>& peaks, const std::string& n) {
  std::vector<SizedPeak> points;
  std::ranges::copy_if(peaks, std::back_inserter(points),
                       [](const SizedPeak& it) { return it.rejected.empty(); });
  constexpr std::size_t enough = 4;
  if (points.size() < enough) return std::nullopt;
  const auto last = points.end() - 1;
  const Polynomial polynomial = through(last[-2], last[-1], last[0]);
  auto first = points.end();
  while (first != points.begin() && polynomial.goes_through(first[-1])) --first;
  if (points.end() - first < static_cast<std::ptrdiff_t>(enough)) return std::nullopt;
  return fmt::format("{}{}", polynomial.text(n),
                     first == points.begin() ? "" : fmt::format(" from {}={} on", n, first->size));
}

std::string words_of(const std::vector<std::string>& names, std::int64_t size) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

void print_fit(const std::string& name, const GivenSize& range, const SizeFit& fit,
               const PlanOptions& options) {
  const std::string why = why_largest(fit, range, limit_of(options));
  if (!fit.largest) {
    base::print(std::cerr, "stowage: fit: no size of {} fits; {}; the plan is for this size\n",
                base::quoted(name), why);
    return;
  }
  if (fit.is_alone) {
    base::print(std::cerr, "stowage: fit: {}={} fits{}, {} bytes, with a plan for this size alone; {}\n",
                base::visible(name), *fit.largest, fit.by_rows ? " by rows" : "", fit.peak, why);
  } else {
    base::print(std::cerr, "stowage: fit: every size of {} from {} to {}{} fits, {} bytes; {}\n",
                base::quoted(name), *range.least, *fit.largest,
                range.step > 1 ? fmt::format(" in steps of {}", range.step) : "", fit.peak, why);
  }
  if (fit.larger.empty() && (fit.untried == 0 || fit.singles == 0)) return;
  base::print(
      std::cerr, "stowage: fit: larger sizes that fit alone: {} (of {} that were tried, up to {}{})\n",
      fit.larger.empty() ? "none" : fmt::format("{}", fmt::join(fit.larger, ", ")), fit.singles,
      fit.last_single, fit.untried > 0 ? fmt::format("; there was no time for {} others", fit.untried) : "");
}

/// Whether the model can be read with a size.
AcceptsSize accepting(const ReadWithSize& read) {
  return [read](const GivenSize& size) {
    try {
      (void)read(size);
      return true;
    } catch (const UsageError&) {
      return false;
    } catch (const Error&) {
      return false;
    }
  };
}

/// The sizes to search if none are given: all up to 2^20, or, if the model rejects the smallest, those that it accepts.
GivenSize range_to_search(const ReadWithSize& read, const GivenSize& all) {
  const AcceptsSize accepts = accepting(read);
  if (accepts({*all.least, *all.least})) return all;
  // Of models that halve their input again and again, only some of the largest sizes are accepted.
  for (std::int64_t most = all.most; most > *all.least; most /= 2) {
    const auto range = accepted_range(accepts, {*all.least, most});
    if (range && *range->least < range->most && accepts(*range)) return *range;
  }
  return all;
}

constexpr std::array<std::int64_t, 8> sizes_tried{1, 32, 64, 128, 256, 512, 1024, 2048};

/// A range that the model accepts, to go on with: every size up to 512, unless it rejects the smallest of them. None: it
/// accepts nothing that was tried.
std::optional<GivenSize> range_to_go_on(const AcceptsSize& accepts) {
  constexpr std::array some_sizes{511, 257, 100, 33};  // that a model takes which needs no steps
  const bool takes_all = std::ranges::all_of(some_sizes, [&](std::int64_t size) {
    return accepts({size, size});
  });
  if (const GivenSize usual(1, 512); takes_all && accepts({1, 1}) && accepts(usual)) return usual;
  const auto last = std::ranges::find_if(sizes_tried.rbegin(), sizes_tried.rend(), [&](std::int64_t size) {
    return accepts({size, size});
  });
  if (last == sizes_tried.rend()) return std::nullopt;
  const auto range = accepted_range(accepts, {1, *last});
  return range && accepts(*range) ? range : std::nullopt;
}

/// The smallest of the peaks.
Bytes peak_to_go_on(const std::vector<SizedPeak>& peaks) {
  Bytes least = largest_value;
  for (const SizedPeak& it : peaks)
    if (it.rejected.empty()) least = std::min(least, it.peak);
  return least;
}

void give(PlanCommand& command, const std::vector<std::string>& names, std::int64_t size) {
  for (const std::string& name : names) command.model.dims.push_back(fmt::format("{}={}", name, size));
}

/// Some of the open sizes, which take the same values in turn, while all others have one size.
struct Variation {
  std::vector<std::string> names{};
  std::int64_t others = 0;
  std::vector<std::int64_t> sizes{};
};

constexpr std::size_t most_variations = sizes_tried.size() / 2;

/// The names that are not varied.
std::vector<std::string> fixed_in(const Variation& it, const std::vector<std::string>& names) {
  std::vector<std::string> fixed;
  std::ranges::copy_if(names, std::back_inserter(fixed), [&](const std::string& name) {
    return std::ranges::find(it.names, name) == it.names.end();
  });
  return fixed;
}

/// The model with all names but the varied ones at one size.
ReadWithSize reader_of(const PlanCommand& command, const PlanOptions& options,
                       const std::vector<std::string>& names, const Variation& it) {
  PlanCommand fixed = command;
  give(fixed, fixed_in(it, names), it.others);
  return [fixed, options, varied = it.names](const GivenSize& size) {
    return read_with(fixed, options, varied, size);
  };
}

/// Each size by itself, the others at the first size that the model accepts for all of them; sizes that it accepts only
/// together vary together. Eight rows in all.
std::vector<Variation> variations_of(const PlanCommand& command, const PlanOptions& options,
                                     const std::vector<std::string>& names) {
  const Variation all{.names = names, .sizes = {sizes_tried.begin(), sizes_tried.end()}};
  if (names.size() == 1) return {all};
  const AcceptsSize accepts_all = accepting(reader_of(command, options, names, all));
  const std::int64_t usual = 64;
  const auto other = std::ranges::find_if(sizes_tried, [&](std::int64_t size) {
    return accepts_all({size, size});
  });
  if (other == sizes_tried.end()) return {all};
  const std::int64_t others = accepts_all({usual, usual}) ? usual : *other;
  std::vector<Variation> variations;
  Variation together{.others = others};
  for (const std::string& name : names) {
    const Variation alone{.names = {name}, .others = others};
    const AcceptsSize accepts = accepting(reader_of(command, options, names, alone));
    if (std::ranges::any_of(sizes_tried, [&](std::int64_t size) {
          return size != others && accepts({size, size});
        })) {
      variations.push_back(alone);
    } else {
      together.names.push_back(name);
    }
  }
  if (!together.names.empty()) variations.push_back(together);
  const std::size_t rows = sizes_tried.size() / std::min(variations.size(), most_variations);
  const auto at = static_cast<std::size_t>(std::ranges::find(sizes_tried, others) - sizes_tried.begin());
  const std::size_t first = std::min(at - std::min(at, (rows - 1) / 2), sizes_tried.size() - rows);
  for (Variation& it : variations)
    it.sizes.assign(sizes_tried.begin() + first, sizes_tried.begin() + first + rows);
  return variations;
}

/// The table of a variation. The result is the smallest of its peaks.
Bytes print_peaks(const PlanCommand& command, const PlanOptions& options,
                  const std::vector<std::string>& batches, const std::vector<std::string>& names,
                  const Variation& it) {
  std::string fixed = words_of(batches, 1);
  const std::string others = words_of(fixed_in(it, names), it.others);
  fixed += (fixed.empty() || others.empty() ? "" : " ") + others;
  base::print(std::cout, "\npeak of whole operators{}, quickly planned:\n",
              fixed.empty() ? "" : ", with " + fixed);
  const std::vector<SizedPeak> peaks = peaks_at(reader_of(command, options, names, it), it.sizes, options);
  std::string why;
  for (const SizedPeak& peak : peaks) {
    if (peak.rejected.empty()) {
      base::print(std::cout, "{:>16} bytes  {}\n", peak.peak, words_of(it.names, peak.size));
    } else {
      base::print(std::cout, "{:>16}        {}\n", "rejected", words_of(it.names, peak.size));
      why = peak.rejected;
    }
  }
  if (!why.empty()) base::print(std::cout, "the last rejection: {}\n", why);
  if (const auto formula = formula_of(peaks, it.names.size() == 1 ? it.names[0] : "n"))
    base::print(std::cout, "{:>16}        {}, at these sizes\n", "peak =", *formula);
  return peak_to_go_on(peaks);
}

/// " --dim NAME=SIZE" for each name.
std::string dims_of(const std::vector<std::string>& names, const std::string& size) {
  std::string text;
  for (const std::string& name : names) text += fmt::format(" --dim {}={}", base::shell_word(name), size);
  return text;
}

/// Commands that go on with sizes of this range for `names`, behind options for all others. `least` is a peak that the
/// last of them must allow.
void print_commands(const PlanCommand& command, const std::string& others,
                    const std::vector<std::string>& names, const GivenSize& range, Bytes least) {
  const bool is_usual = *range.least == 1 && range.step == 1;
  const std::string size = is_usual ? fmt::format("..{}", range.most) : in_digits(range);
  base::print(std::cout, "\none plan for every size {}up to {}{}:\n  {}{}{}\n",
              is_usual ? "" : fmt::format("from {} ", *range.least), range.most,
              range.step == 1 ? "" : fmt::format(" in steps of {}", range.step), command.typed, others,
              dims_of(names, size));
  std::string go_on = others + dims_of({names.begin(), names.end() - 1}, size);
  constexpr std::int64_t most = std::int64_t{1} << 20;
  if (!is_usual) {
    const std::int64_t steps = (most - *range.least) / range.step;
    go_on +=
        dims_of({names.back()}, in_digits({*range.least, *range.least + steps * range.step, range.step}));
  }
  std::int64_t capacity = 1;  // MiB
  while (capacity < (least >> 20) + 1 && capacity < most) capacity *= 2;
  base::print(std::cout, "the largest size that fits {0} MiB:\n  {1}{2} --fit {3} --capacity {0}MiB\n\n",
              capacity, command.typed, go_on, base::shell_word(names.back()));
}

void print_command_for_one(const PlanCommand& command, const std::string& others,
                           const std::vector<std::string>& names, std::int64_t size) {
  base::print(std::cout, "\nthe plan for {}:\n  {}{}{}\n\n", words_of(names, size), command.typed, others,
              dims_of(names, fmt::format("{}", size)));
}

/// A size that the model accepts for all names at once; none if it rejects all that are tried.
std::optional<std::int64_t> accepted_size(const PlanCommand& command, const PlanOptions& options,
                                          const std::vector<std::string>& names) {
  const AcceptsSize accepts = accepting(reader_of(command, options, names, {.names = names}));
  const auto last = std::ranges::find_if(sizes_tried.rbegin(), sizes_tried.rend(), [&](std::int64_t size) {
    return accepts({size, size});
  });
  return last == sizes_tried.rend() ? std::nullopt : std::optional(*last);
}

/// If the model accepts no size for all of these, one or two of them may have to be 1, as the batch of a state: they
/// become batches.
void find_more_batches(const PlanCommand& command, const PlanOptions& options,
                       std::vector<std::string>& batches, std::vector<std::string>& others) {
  if (others.size() < 2 || accepted_size(command, options, others)) return;
  const std::vector<std::string> all = others;
  const auto are_batches = [&](const std::vector<std::string>& ones) {
    if (ones.size() == all.size()) return false;
    others.clear();
    std::ranges::copy_if(all, std::back_inserter(others), [&](const std::string& name) {
      return std::ranges::find(ones, name) == ones.end();
    });
    PlanCommand fixed = command;
    give(fixed, ones, 1);
    if (!accepted_size(fixed, options, others)) return false;
    batches.insert(batches.end(), ones.begin(), ones.end());
    return true;
  };
  for (const std::string& one : all)
    if (are_batches({one})) return;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b)
      if (are_batches({all[a], all[b]})) return;
  }
  others = all;
}

}  // namespace

void show_open_sizes(const PlanCommand& command, const OpenSizesError& open, PlanOptions options) {
  std::vector<std::string> batches, others;
  for (const OpenSize& size : open.sizes()) (is_batch(size) ? batches : others).push_back(size.name);
  const bool are_batches = others.empty();
  if (are_batches) std::swap(batches, others);
  options.stream.reset();
  options.banks.reset();
  options.near.clear();
  if (options.io == Io::rows) options.io = Io::arena;
  for (Memory& memory : options.memories) memory.capacity.reset();
  options.solve.effort.reset();
  options.solve.time_limit = std::chrono::duration<double>(0.8);
  PlanCommand with_batches = command;
  give(with_batches, batches, 1);
  find_more_batches(with_batches, options, batches, others);
  with_batches = command;
  give(with_batches, batches, 1);
  base::print(std::cout, "open sizes   {}\n", in_words(open.sizes()[0]));
  for (std::size_t s = 1; s < open.sizes().size(); ++s)
    base::print(std::cout, "             {}\n", in_words(open.sizes()[s]));
  const std::vector<Variation> variations = variations_of(with_batches, options, others);
  const std::size_t shown = std::min(variations.size(), most_variations);
  std::vector<Bytes> peaks;  // the least of each table
  for (const Variation& it : std::span(variations).first(shown))
    peaks.push_back(print_peaks(with_batches, options, batches, others, it));
  if (shown < variations.size())
    base::print(std::cout, "{} more sizes were not varied\n", variations.size() - shown);
  const auto read = [&](const GivenSize& size) { return read_with(with_batches, options, others, size); };
  const AcceptsSize accepts = accepting(read);
  const std::string given = dims_of(batches, "1");
  const bool is_one_shown = are_batches && accepts({1, 1});
  if (is_one_shown) print_command_for_one(command, given, others, 1);
  const auto range = range_to_go_on(accepts);
  if (range && range->most == *range->least && variations.size() == 1) {
    if (!is_one_shown || range->most > 1) print_command_for_one(command, given, others, range->most);
  } else if (range && (variations.size() == 1 || *range->least == 1)) {
    print_commands(command, given, others, *range, std::ranges::min(peaks));
  } else if (range) {  // sizes do not go together, so each has a range of its own
    for (std::size_t v = 0; v < shown; ++v) {
      const Variation& it = variations[v];
      const auto own = range_to_go_on(accepting(reader_of(with_batches, options, others, it)));
      const std::string fixed = given + dims_of(fixed_in(it, others), fmt::format("{}", it.others));
      if (own && own->most > *own->least) print_commands(command, fixed, it.names, *own, peaks[v]);
    }
  } else if (const auto size = accepted_size(with_batches, options, others)) {
    print_command_for_one(command, given, others, *size);
  }
  std::cout.flush();
}

bool fits_two_dimensions(const PlanCommand& command) { return command.fit.find(',') != std::string::npos; }

ReadTexts reader_of(const PlanCommand& command, const PlanOptions& options) {
  if (command.inputs.size() != 1) throw UsageError("--fit is for one model");
  if (command.is_for_tflm) throw UsageError("--fit is an option of `stowage plan`");
  return [&](const ModelTexts& texts) { return read_model(command, options, parse_model_options(texts)); };
}

FitQuestion fit_question(const std::string& text, const ModelTexts& texts, const ReadTexts& read) {
  FitQuestion question = parse_fit(text, texts);
  if (question.has_range || !question.first.empty()) return question;
  question.range = range_to_search(
      [&](const GivenSize& size) { return read(question.at(std::nullopt, size)); }, question.range);
  return question;
}

std::optional<FoundOpenRows> fit_rows(PlanCommand& command, const PlanOptions& options) {
  if (!options.stream || options.io != Io::rows || !command.offsets.empty()) return std::nullopt;
  const ReadTexts read = reader_of(command, options);
  const FitQuestion question = fit_question(command.fit, command.model, read);
  const ModelTexts texts = question.at(std::nullopt, question.range);
  const InterruptWatch watch;
  PlanOptions quick = options;
  quick.solve.stop = watch.stop();
  quick.solve.time_limit *= 1 - share_of_fit;
  std::optional<FoundOpenRows> rows = rows_of_range(command.inputs, texts, quick, read);
  if (!rows || !rows->planned || rows->planned->outcome != Outcome::fits) return std::nullopt;
  command.model = texts;
  const OpenRowsReport& report = rows->report;
  base::print(
      std::cerr, "stowage: fit: every size of {} from {} to {}{} fits by rows, in the same {} bytes; {}\n",
      base::quoted(question.second), *question.range.least, question.range.most,
      question.range.step > 1 ? fmt::format(" in steps of {}", question.range.step) : "",
      rows->planned->plan.summary.peak,
      report.is_every_size
          ? "all of them were checked"
          : fmt::format("checked at {}, that it holds at others is evidence, not proof", report.checked));
  return rows;
}

std::chrono::duration<double> fit_dimension(PlanCommand& command, const PlanOptions& options) {
  const auto limit = options.solve.time_limit;
  const base::Deadline deadline(limit);
  const ReadTexts read = reader_of(command, options);
  const FitQuestion question = fit_question(command.fit, command.model, read);
  const InterruptWatch watch;  // an interrupt keeps the largest size so far
  PlanOptions with_stop = options;
  with_stop.solve.stop = watch.stop();
  with_stop.solve.time_limit = deadline.part(share_of_fit).left();
  const SizeFit fit = answers_to(question, read, with_stop)[0].fit;
  print_fit(question.second, question.range, fit, options);
  const std::int64_t least = *question.range.least;
  const std::int64_t most = fit.largest.value_or(least);
  command.model =
      question.at(std::nullopt, fit.is_alone || most == least ? GivenSize(most, most)
                                                              : GivenSize(least, most, question.range.step));
  return std::max(deadline.left(), limit * (1 - share_of_fit));
}

}  // namespace stowage::cli
