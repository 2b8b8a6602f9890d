/// A campaign of random cases against the documents: stowage_campaign --cases 1000 --seed 1 [--only 17].
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "judge.h"
#include "mutate.h"

namespace stowage::campaign {
namespace {

struct Settings {
  std::uint64_t first = 0;
  std::uint64_t cases = 300;
  std::uint64_t seed = 1;
  std::filesystem::path folder = "campaign";  ///< Where cases with findings are written.
  bool is_chatty = false;
};

Settings settings_of(const std::vector<std::string_view>& arguments) {
  Settings settings;
  const auto number = [&](std::size_t i) -> std::uint64_t {
    return std::stoull(std::string(arguments.at(i)));
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--cases") {
      settings.cases = number(++i);
    } else if (arguments[i] == "--first") {
      settings.first = number(++i);
    } else if (arguments[i] == "--seed") {
      settings.seed = number(++i);
    } else if (arguments[i] == "--folder") {
      settings.folder = arguments.at(++i);
    } else if (arguments[i] == "--only") {
      settings.first = number(++i);
      settings.cases = 1;
      settings.is_chatty = true;
    } else {
      throw std::invalid_argument(
          "usage: stowage_campaign [--cases N] [--first N] [--seed S] [--only N] [--folder F]");
    }
  }
  return settings;
}

// A case that crashes or hangs shall be known by its number.
volatile std::sig_atomic_t running_case = 0;

extern "C" void tell_case(int signal) {
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "\nsignal %d in case %ld\n", signal, static_cast<long>(running_case));
  if (length > 0) (void)!write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  _exit(1);
}

std::filesystem::path write_case(const Case& drawn, const Findings& findings,
                                 const std::filesystem::path& folder) {
  const auto own = folder / fmt::format("seed-{}-case-{}", drawn.seed, drawn.number);
  std::filesystem::create_directories(own);
  for (const Source& source : drawn.sources)
    std::ofstream(own / source.name, std::ios::binary) << source.content;
  std::ofstream(own / "command") << command_of(drawn) << '\n';
  std::ofstream told(own / "findings");
  for (const Finding& finding : findings) told << finding.group << ": " << finding.what << '\n';
  return own;
}

void print_tally(const Tally& tally) {
  fmt::print("{:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>8}{:>8}\n", "family", "cases",
             "plans", "refused", "no fit", "cut", "proven", "aliased", "inplace", "streamed", "recomp",
             "moved", "forked", "run");
  for (const auto& [family, of] : tally.families)
    fmt::print("{:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>8}{:>8}\n", name_of(family),
               of.cases, of.planned, of.refused, of.too_large, of.cut_short, of.proven, of.aliased,
               of.in_place, of.streamed, of.recomputed, of.moved, of.forked, of.run);
  fmt::print(
      "replayed   {} steps, {} bytes read, {} written in place, {} kept, {} with several views; "
      "{} plans left out\n",
      tally.replayed.steps, tally.replayed.bytes, tally.replayed.in_place, tally.replayed.kept,
      tally.replayed.ambiguous, tally.replayed.left_out);
  const Tally::Open& open = tally.open;
  fmt::print(
      "sizes      {} runs at sizes of their own, {} steps, {} bytes read, {} of copies that were not made, "
      "{} written "
      "in place, {} tensors smaller than planned; sizes asked for {} times, {} of no effect; {} plans by "
      "rows, which were not run\n",
      open.run.runs, open.run.steps, open.run.bytes, open.run.removed, open.run.in_place, open.run.smaller,
      open.answers, open.useless, open.streams);
  for (const auto& [name, count] : tally.compared) fmt::print("compared   {:>8} {}\n", count, name);
  for (const auto& [reason, count] : tally.refusals) fmt::print("refused    {:>8} {}\n", count, reason);
  for (const auto& [name, of] : tally.mutations)
    fmt::print("mutated    {:>8} {}, {} noticed\n", of.made, name, of.noticed);
  for (const auto& [what, cases] : tally.remarks) {
    fmt::print("remark     {:>8} {}; cases", cases.size(), what);
    for (std::size_t i = 0; i < cases.size() && i < 5; ++i) fmt::print(" {}", cases[i]);
    fmt::print("\n");
  }
}

int run(const Settings& settings) {
  Tally tally;
  std::map<std::string, std::vector<std::uint64_t>> groups;
  std::pair<double, std::uint64_t> slowest{0, 0};
  for (std::uint64_t number = settings.first; number < settings.first + settings.cases; ++number) {
    running_case = static_cast<std::sig_atomic_t>(number);
    alarm(300);
    const auto begin = std::chrono::steady_clock::now();
    const Case drawn = make_case(settings.seed, number);
    if (settings.is_chatty) fmt::print("{}\n", command_of(drawn));
    const Findings findings = judge(drawn, tally);
    slowest = std::max(
        slowest, {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), number});
    if (findings.empty() && !settings.is_chatty) continue;
    const auto folder = write_case(drawn, findings, settings.folder);
    std::string last;
    for (const Finding& finding : findings) {
      auto& cases = groups[finding.group];
      if (cases.empty() || cases.back() != number) cases.push_back(number);
      if (settings.is_chatty || (cases.size() <= 3 && finding.group != last))
        fmt::print("case {} ({}): {}: {}\n  {}\n", number, name_of(drawn.family), finding.group, finding.what,
                   folder.string());
      last = finding.group;
    }
  }
  for (const Finding& finding : judge_mutations(tally)) groups[finding.group + ": " + finding.what] = {};
  print_tally(tally);
  fmt::print("slowest    case {}, {:.2f} s\n", slowest.second, slowest.first);
  for (const auto& [group, cases] : groups) {
    fmt::print("FOUND      {:>8} {}; cases", cases.size(), group);
    for (std::size_t i = 0; i < cases.size() && i < 8; ++i) fmt::print(" {}", cases[i]);
    fmt::print("\n");
  }
  return groups.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace stowage::campaign

int main(int count, char** arguments) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGALRM, SIGILL, SIGBUS})
    std::signal(signal, stowage::campaign::tell_case);
  try {
    return stowage::campaign::run(stowage::campaign::settings_of({arguments + 1, arguments + count}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
