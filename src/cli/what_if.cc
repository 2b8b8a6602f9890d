#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "cli/typed.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage::cli {
namespace {

using Verdict = Remedy::Verdict;

std::string in_bytes(Bytes bytes) { return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s"); }

std::string in_units(Bytes bytes) {
  constexpr Bytes unit = 1024;
  return bytes % unit == 0 ? fmt::format("{} KiB", bytes / unit) : in_bytes(bytes);
}

class Trials {
 public:
  /// A plan that fits its capacity need not be the lowest one: the only memory has none here.
  Trials(const PlanCommand& command, const PlanOptions& options, const Plan& plan, Bytes needed)
      : command_(command), options_(options), plan_(plan), needed_(needed), typed_(command.typed) {
    if (!command.plan.capacity.empty()) options_.memories[0].capacity.reset();
    std::vector<std::string> left_out{" --what-if"};
    for (const WantedFile& it : command.files())
      if (it.holds == Holds::page) left_out.push_back(fmt::format(" {} {}", it.flag, it.file));
    for (const std::string& text : left_out) typed_ = replaced(text, "", typed_);
  }

  WhatIf all() && {
    typed_ = replaced(" --capacity " + command_.plan.capacity, "", typed_);
    if (has_several_memories()) {
      fast_memory();
    } else {
      others_of_options();
      granules();
      dimensions();
    }
    return std::move(result_);
  }

  WhatIf quick() && {
    SolveOptions& solve = options_.solve;
    solve.time_limit = std::min<std::chrono::duration<double>>(solve.time_limit, std::chrono::seconds(1));
    if (solve.effort) solve.effort = *solve.effort / 4;
    solve.progress = {};
    if (!has_several_memories()) others_of_options();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool has_several_memories() const {
    return std::ranges::count(options_.memories, MemoryRole::working, &Memory::role) > 1;
  }

  /// A figure of a plan, whose search may have been cut short.
  struct Figure {
    Bytes bytes = 0;
    bool is_cut = false;
  };
  /// By the value of an option.
  using Figures = std::map<std::int64_t, Figure>;

  static Figure peak_of(const Plan& plan) { return {plan.summary.peak, is_cut_short(plan)}; }

  /// None: the options do not fit the model, a larger memory is needed, or the user does not want to wait.
  std::optional<Plan> planned(const ModelTexts& model, const PlanOptions& options) {
    if (options.solve.stop.stop_requested() || result_.faulty) return std::nullopt;
    try {
      PlanResult made = make_plan(read_models(command_.inputs, model, wanted_for(options)), options);
      if (options.solve.stop.stop_requested()) return std::nullopt;
      if (!made.faults.empty()) {
        result_.faulty = std::move(made);
        return std::nullopt;
      }
      return std::move(made.plan);
    } catch (const UsageError&) {
      return std::nullopt;
    } catch (const Error&) {
      return std::nullopt;  // for instance: another size of the input contradicts a constant of the model
    }
  }

  void add(const std::string& what, const Plan& made, std::string command) {
    std::string why = fmt::format("A plan with it has a peak of {} instead of {}.",
                                  in_bytes(made.summary.peak), in_bytes(plan_.summary.peak));
    if (is_cut_short(made)) why += " Its search was cut short.";
    for (const LeftOut& it : made.left_out)
      why += fmt::format(" It is without {}: {}.", name_of(it.what), it.why);
    result_.tried.push_back(
        {Verdict::found, what, std::move(why), plan_.summary.peak - made.summary.peak, std::move(command)});
  }

  void try_option(const std::string& what, std::string command,
                  const std::function<void(PlanOptions&)>& change) {
    PlanOptions options = options_;
    change(options);
    if (const std::optional<Plan> made = planned(command_.model, options))
      add(what, *made, std::move(command));
  }

  void others_of_options() {
    if (command_.plan.order == "keep") {
      try_option("Another order of operators", replaced("--order keep", "--order search"),
                 [](PlanOptions& it) { it.order = Order::search; });
    }
    if (options_.target == Target::tflm) {
      generated_code();
      return;
    }
    if (options_.io == Io::arena) {
      try_option("Inputs and outputs in memory of the caller", typed_ + " --io external",
                 [](PlanOptions& it) { it.io = Io::external; });
    }
    if (!options_.stream) {
      try_option("Rows instead of whole tensors", typed_ + " --stream",
                 [](PlanOptions& it) { it.stream.emplace(); });
      if (options_.io == Io::arena) {
        try_option("Rows, also of inputs and outputs", typed_ + " --stream --io rows", [](PlanOptions& it) {
          it.stream.emplace();
          it.io = Io::rows;
        });
      }
    } else if (options_.stream->recompute <= 1) {
      try_option("Rows computed again", typed_ + " --recompute 1..1.5", [](PlanOptions& it) {
        it.stream->recompute = 1.5;
        it.stream->recompute_from = 1;
      });
    }
  }

  /// TensorFlow Lite Micro runs whole operators; C of ours does not, and it keeps nothing in the arena but tensors.
  void generated_code() {
    if (command_.inputs.size() != 1) return;
    PlanOptions options = options_;
    options.target = Target::any;
    options.stream.emplace();
    options.io = Io::rows;
    const std::optional<Plan> made = planned(command_.model, options);
    if (!made) return;
    const Bytes bytes = made->summary.peak;
    result_.tried.push_back(
        {Verdict::found,
         fmt::format("C that runs the network row by row, with {} for tensors and no runtime",
                     in_bytes(bytes)),
         fmt::format(
             "Its arena needs {} for tensors. The tensor_arena needs {}: {} for tensors, the rest for what "
             "TensorFlow Lite Micro keeps.",
             in_bytes(bytes), in_bytes(needed_), in_bytes(plan_.summary.peak)),
         needed_ - bytes,
         fmt::format("stowage generate {} --stream --io rows -o DIRECTORY",
                     base::shell_word(parse_models(command_.inputs)[0].file))});
  }

  void granules() {
    if (!options_.stream) return;
    constexpr std::array<std::int64_t, 5> tried{1, 2, 4, 8, 16};
    const std::int64_t own =
        plan_.streaming ? plan_.streaming->granule : options_.stream->granule.value_or(1);
    Figures peaks{{own, peak_of(plan_)}};
    for (const std::int64_t granule : tried) {
      if (peaks.contains(granule)) continue;
      PlanOptions options = options_;
      options.stream->granule = granule;
      const std::optional<Plan> made = planned(command_.model, options);
      if (!made) continue;
      peaks[granule] = peak_of(*made);
      if (granule == 1)
        add("Fewer rows in a step", *made,
            replaced(fmt::format("--granule {}", own), "--granule 1",
                     options_.stream->granule ? std::string() : typed_ + " --granule 1"));
    }
    add_curve("Peak against rows of a step", peaks, own,
              [](std::int64_t rows) { return fmt::format("{} row{}", rows, rows == 1 ? "" : "s"); });
  }

  /// Another largest size, with the same promise.
  static std::string in_words(const GivenSize& given, std::int64_t most) {
    if (!given.least) return std::to_string(most);
    const std::int64_t least = *given.least == given.most ? most : std::min(*given.least, most);
    return fmt::format("{}..{}:{}", least, most - (most - least) % given.step, given.step);
  }

  /// Sizes of the input that the command gives: half of each, and others for the curve.
  void dimensions() {
    const ImportOptions given = parse_model_options(command_.model);
    for (const auto& [name, given_size] : given.dims) {
      const std::int64_t size = given_size.most;
      Figures peaks{{size, peak_of(plan_)}};
      for (const std::int64_t other : {size / 4, size / 2, size * 2}) {
        if (other < 1 || peaks.contains(other)) continue;
        ModelTexts model = command_.model;
        model.dims = with(name, in_words(given_size, other), model.dims);
        const std::optional<Plan> made = planned(model, options_);
        if (!made) continue;
        peaks[other] = peak_of(*made);
        if (other == size / 2) smaller_input(name, std::to_string(size), std::to_string(other), *made);
      }
      add_curve(fmt::format("Peak against dimension {}", name), peaks, size,
                [](std::int64_t value) { return std::to_string(value); });
    }
    for (const auto& [name, given_shape] : given.shapes) {
      const Shape shape = largest(given_shape);
      if (shape.empty() || std::ranges::max(shape) < 2) continue;
      std::vector<std::string> half;
      for (const GivenSize& size : given_shape)
        half.push_back(in_words(size, size.most == std::ranges::max(shape) ? size.most / 2 : size.most));
      const std::string other = fmt::format("{}", fmt::join(half, ","));
      ModelTexts model = command_.model;
      model.shapes = with(name, other, model.shapes);
      if (const std::optional<Plan> made = planned(model, options_))
        smaller_input(name, fmt::format("{}", fmt::join(shape, ",")), other, *made);
    }
  }

  /// The assignments with another value for a name.
  static std::vector<std::string> with(const std::string& name, const std::string& value,
                                       std::vector<std::string> assignments) {
    std::erase_if(assignments,
                  [&](const std::string& text) { return parse_assignment("", text).first == name; });
    assignments.push_back(fmt::format("{}={}", name, value));
    return assignments;
  }

  void smaller_input(const std::string& name, const std::string& from, const std::string& to,
                     const Plan& made) {
    add(fmt::format("A smaller input: {} of {} instead of {}", name, to, from), made,
        replaced(fmt::format("{}={}", name, from), fmt::format("{}={}", name, to)));
  }

  /// Traffic of the slower memories for other sizes of the fastest one.
  void fast_memory() {
    const auto fast = std::ranges::find(options_.memories, MemoryRole::working, &Memory::role);
    if (!fast->capacity || *fast->capacity < 4) return;
    const auto index = static_cast<std::size_t>(fast - options_.memories.begin());
    const auto traffic = [&](const Plan& plan) -> Figure {
      Bytes sum = 0;
      for (std::size_t m = 0; m < plan.memories.size(); ++m) {
        if (m != index && plan.memories[m].memory.role == MemoryRole::working)
          sum += plan.memories[m].traffic;
      }
      return {sum, plan.interrupted};
    };
    Figures found{{*fast->capacity, traffic(plan_)}};
    for (const Bytes size : sizes_between(*fast->capacity / 4, *fast->capacity * 2)) {
      if (found.contains(size)) continue;
      PlanOptions options = options_;
      options.banks.reset();  // they say the size of the memory
      options.memories[index].capacity = size;
      const std::optional<Plan> made = planned(command_.model, options);
      if (made && made->memories[index].peak <= size) found[size] = traffic(*made);
    }
    add_curve(fmt::format("Traffic of slower memories against size of {}", fast->name), found,
              *fast->capacity, in_units);
  }

  template <typename TextOf>
  void add_curve(std::string what, const Figures& figures, std::int64_t own, const TextOf& text_of) {
    if (figures.size() < 2) return;
    Curve curve{.what = std::move(what)};
    for (const auto& [value, figure] : figures) {
      curve.points.push_back({.value = text_of(value) + (figure.is_cut ? ", cut short" : ""),
                              .bytes = figure.bytes,
                              .is_plan = value == own});
    }
    result_.curves.push_back(std::move(curve));
  }

  /// The command line with another text; `otherwise` if the text is not there exactly once.
  [[nodiscard]] std::string replaced(const std::string& text, const std::string& by,
                                     const std::string& otherwise = {}) const {
    const std::size_t at = typed_.find(text);
    if (at == std::string::npos || typed_.find(text, at + 1) != std::string::npos) return otherwise;
    std::string line = typed_;
    return line.replace(at, text.size(), by);
  }

  const PlanCommand& command_;
  PlanOptions options_;
  const Plan& plan_;
  Bytes needed_;
  std::string typed_;
  WhatIf result_{};
};

}  // namespace

WhatIf what_if(const PlanCommand& command, const PlanOptions& options, const Plan& plan, Bytes needed) {
  return Trials(command, options, plan, needed).all();
}

WhatIf quick_what_if(const PlanCommand& command, const PlanOptions& options, const Plan& plan, Bytes needed) {
  return Trials(command, options, plan, needed).quick();
}

}  // namespace stowage::cli
