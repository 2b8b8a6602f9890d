// stowage fit: does a model fit a board, and how? Each way to run it is planned in turn, with the command that does it.

#include "cli/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/tflm.h"
#include "cli/typed.h"
#include "stowage/device.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

/// One way to run the model.
struct Way {
  std::string what{};
  std::optional<Bytes> ram{};  ///< Of the fast memory; none: there is an obstacle.
  std::optional<Bytes> slow{};
  std::optional<Bytes> slow_traffic{};  ///< Bytes that one run reads from and writes to the slow memory.
  std::optional<Bytes> flash{};
  std::string obstacle{};
  std::string command{};
  bool fits = false;
};

/// The options that the user has given and that each command takes.
std::string given_options(const FitCommand& command) {
  std::string text;
  const auto add_all = [&](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& it : values) text += fmt::format(" {} {}", flag, base::shell_word(it));
  };
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", flag, base::shell_word(value));
  };
  add_all("--dim", command.model.dims);
  add_all("--shape", command.model.shapes);
  add_all("--bound", command.model.bounds);
  add_all("--value", command.model.values);
  add_all("--state", command.model.states);
  add("--scratch", command.model.scratch);
  add("--time-limit", command.plan.time_limit);
  add("--effort", command.plan.effort);
  return text;
}

class Ways {
 public:
  Ways(const FitCommand& command, Device device, Bytes reserve, PlanOptions options)
      : command_(command),
        device_(std::move(device)),
        room_(device_.memories[0].bytes - device_.memories[0].reserved - reserve),
        options_(std::move(options)),
        import_(parse_model_options(command.model)) {}

  std::vector<Way> all() {
    const base::InputFile file(command_.model_file);
    if (is_tflite(file.bytes())) {
      add("TensorFlow Lite Micro, its own plan", "inspect",
          " --runtime " + std::to_string(device_.pointer_bits),
          [&](Way& way) { runtime(file.bytes(), way, false); });
      add("TensorFlow Lite Micro with a plan", "tflm",
          fmt::format(" --runtime {} -o {}", device_.pointer_bits,
                      base::shell_word(stem() + "-planned.tflite")),
          [&](Way& way) { runtime(file.bytes(), way, true); });
    }
    add("whole operators", "plan", "", [&](Way& way) { planned(way, options_); });
    add("rows", "plan", " --stream", [&](Way& way) {
      PlanOptions rows = options_;
      rows.stream.emplace();
      planned(way, rows);
    });
    add("rows, also of inputs and outputs", "plan", " --stream --io rows", [&](Way& way) {
      PlanOptions rows = options_;
      rows.stream.emplace();
      rows.io = Io::rows;
      planned(way, rows);
    });
    add("generated C, by rows", "generate", " --stream", [&](Way& way) {
      PlanOptions rows = options_;
      rows.stream.emplace();
      generated(way, rows, "-c");
    });
    if (device_.memories.size() > 1) {
      PlanOptions two = options_;
      two.memories = memories_of(device_);
      two.memories[0].capacity = std::max<Bytes>(room_, 0);
      std::string memories;
      for (const Memory& it : two.memories)
        memories += fmt::format(" --memory {}={}{}{}", it.name, *it.capacity,
                                memories.empty() && it.cost == 1 ? "" : fmt::format("@{}", it.cost),
                                it.granule == 1 ? "" : fmt::format(",granule={}", it.granule));
      const std::string where = fmt::format(" in {} and {}", two.memories[0].name, two.memories[1].name);
      PlanOptions by_rows = two;
      by_rows.stream.emplace();
      add("generated C, by rows" + where, "generate", memories + " --stream --layout ring", [&](Way& way) {
        by_rows.stream->layout = StreamLayout::ring;
        generated(way, by_rows, "-two-c");
      });
      by_rows.stream->layout = StreamLayout::automatic;
      two.moves = by_rows.moves = Moves::allowed;
      memories += " --moves";
      add("whole operators" + where, "plan", memories, [&](Way& way) { planned(way, two); });
      add("rows" + where, "plan", memories + " --stream", [&](Way& way) { planned(way, by_rows); });
    }
    return std::move(ways_);
  }

  [[nodiscard]] Bytes room() const { return room_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  [[nodiscard]] std::string stem() const {
    return std::filesystem::path(command_.model_file).stem().string();
  }

  void add(const std::string& what, const std::string& verb, const std::string& more,
           const std::function<void(Way&)>& fill) {
    if (options_.solve.stop.stop_requested()) return;
    Way way{.what = what,
            .command = fmt::format(
                "stowage {} {}{}{}", verb, base::shell_word(command_.model_file),
                verb == "inspect" || verb == "tflm" ? std::string() : given_options(command_), more)};
    try {
      fill(way);
    } catch (const UsageError& error) {
      way.obstacle = error.what();
    } catch (const Error& error) {
      way.obstacle = error.problem();
    }
    if (!way.obstacle.empty()) way.ram.reset();
    const bool is_in_flash = !device_.flash || way.flash.value_or(0) <= *device_.flash;
    const bool is_in_slow =
        device_.memories.size() < 2 || way.slow.value_or(0) <= memories_of(device_)[1].capacity;
    way.fits = way.ram && *way.ram <= room_ && is_in_flash && is_in_slow;
    ways_.push_back(std::move(way));
  }

  void planned(Way& way, const PlanOptions& options) {
    const std::vector<Input> inputs = read_models({command_.model_file}, command_.model, wanted_for(options));
    const PlanResult result = make_plan(inputs, options);
    if (!result.faults.empty()) throw Error("", "the checker rejects the plan; that is a bug in stowage");
    way.ram = result.plan.memories[0].peak;
    if (result.plan.memories.size() > 1) {
      way.slow = result.plan.memories[1].peak;
      way.slow_traffic = result.plan.memories[1].traffic;
    }
    if (options.stream && !is_streamed(result.plan)) way.what += ": whole operators do better";
  }

  void generated(Way& way, const PlanOptions& options, const std::string& ending) {
    const GeneratedBytes made = generated_bytes(command_.model_file, import_, options);
    way.obstacle = made.obstacle;
    way.ram = made.ram;
    way.slow = made.slow;
    way.slow_traffic = made.slow_traffic;
    way.flash = made.flash;
    way.command += made.options + " -o " + base::shell_word(stem() + ending);
  }

  void runtime(std::string_view file, Way& way, bool with_plan) {
    way.ram = arena_for(file, command_.model_file, device_.pointer_bits == 64 ? tflm_64 : tflm_32,
                        with_plan ? std::optional(options_) : std::nullopt);
    way.flash = static_cast<Bytes>(file.size());
  }

  const FitCommand& command_;
  Device device_;
  Bytes room_;
  PlanOptions options_;
  ImportOptions import_;
  std::vector<Way> ways_{};
};

std::string shown(const std::optional<Bytes>& bytes) { return bytes ? fmt::format("{}", *bytes) : "-"; }

void print_ways(const Ways& all, const std::vector<Way>& ways) {
  const Device& device = all.device();
  const bool has_slow = device.memories.size() > 1;
  const Bytes room = std::max<Bytes>(all.room(), 0);
  base::print(std::cout, "board   {}: {} with {} bytes, {} reserved, {} left for the network{}{}\n\n",
              device.title, device.memories[0].name, device.memories[0].bytes,
              device.memories[0].bytes - room, room,
              has_slow ? fmt::format("; {} with {}", device.memories[1].name, device.memories[1].bytes) : "",
              device.flash ? fmt::format("; flash with {}", *device.flash) : "");
  base::print(std::cout, "fits  {:>10}{}{:>10}  way\n", device.memories[0].name,
              has_slow ? fmt::format("{:>10}", device.memories[1].name) : "", "flash");
  for (const Way& it : ways) {
    const std::string traffic =
        it.slow_traffic ? fmt::format("; {} bytes to and from {}", *it.slow_traffic, device.memories[1].name)
                        : "";
    base::print(std::cout, "{:<6}{:>10}{}{:>10}  {}{}\n", it.fits ? "yes" : "no", shown(it.ram),
                has_slow ? fmt::format("{:>10}", shown(it.slow)) : "", shown(it.flash), it.what, traffic);
    if (!it.obstacle.empty()) {
      base::print_lines(std::cout, fmt::format("{:<6}", ""), it.obstacle.substr(0, it.obstacle.find('\n')));
    } else {
      base::print(std::cout, "{:<6}{}\n", "", it.command);
    }
  }
  base::print(
      std::cout,
      "\nBytes of tensors; for TensorFlow Lite Micro, all that it keeps in its arena. Code and stacks come "
      "on top, and without a\nnumber for flash the weights do. Ways of `stowage plan` are for a runtime of "
      "your own; TensorFlow Lite Micro and\ngenerated C need nothing else. By rows, C takes inputs row by "
      "row, unless it is for two memories.{}\n",
      device.note.empty() ? "" : " " + device.note);
}

void print_json(const Ways& all, const std::vector<Way>& ways) {
  const auto number = [](const std::optional<Bytes>& it) {
    return it ? nlohmann::json(*it) : nlohmann::json();
  };
  nlohmann::json rows = nlohmann::json::array();
  for (const Way& it : ways)
    rows.push_back({{"way", it.what},
                    {"fits", it.fits},
                    {"bytes", number(it.ram)},
                    {"slow_bytes", number(it.slow)},
                    {"slow_traffic", number(it.slow_traffic)},
                    {"flash", number(it.flash)},
                    {"obstacle", base::as_utf8(it.obstacle)},
                    {"command", it.obstacle.empty() ? base::as_utf8(it.command) : ""}});
  const nlohmann::json document{{"board", all.device().name}, {"room", all.room()}, {"ways", rows}};
  std::cout << document.dump(1) << '\n';
}

}  // namespace

ExitStatus run_fit(const FitCommand& command) {
  Device device = device_named(command.board);
  std::optional<Bytes> reserve = 0;
  if (!command.reserve.empty()) reserve = base::parse_size(command.reserve);
  if (!reserve)
    throw UsageError(
        fmt::format("--reserve {}: expected a size, for instance 64KiB", base::quoted(command.reserve)));
  if (*reserve > device.memories[0].bytes)
    throw UsageError(fmt::format("--reserve {} is {} bytes, expected at most the {} of {}", command.reserve,
                                 *reserve, device.memories[0].bytes, device.memories[0].name));
  PlanOptions options = parse_plan_options(command.plan);
  const std::vector<Input> inputs = read_models({command.model_file}, command.model, Wanted::graph);
  print_notes(inputs);
  if (!std::holds_alternative<Graph>(inputs[0].content))
    throw UsageError("fit is for models: a list does not say how its buffers are computed");
  const InterruptWatch watch;
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line();
  Ways all(command, std::move(device), *reserve, std::move(options));
  const std::vector<Way> ways = all.all();
  clear_progress_line();
  if (command.json) {
    print_json(all, ways);
  } else {
    print_ways(all, ways);
  }
  flush_output();
  return std::ranges::any_of(ways, &Way::fits) ? ExitStatus::done : ExitStatus::not_met;
}

}  // namespace stowage::cli
