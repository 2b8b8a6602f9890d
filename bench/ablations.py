"""What each rule of the searches gains: builds the library without it, and packs the same lists.

    bench/ablations.py --build build/bench LIST.csv ... [--only RULE,..] [--effort 2000] [--seeds 2]

A rule is switched off by a change of one source file, in a copy. So the program has no option for it, and a change
that no longer fits the source is an error. Each program runs its strategy on the lists that LISTS names, with a limit in
work, so that the result is the same on a busy machine; one thread each, two at a time. Prints for each list the mean
gap in percent over all seeds, or the mean seconds if all reached the bound, with the rule and without it.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

EFFORT = 2000  # about two seconds of a processor
OTHER_EFFORT = {"rectangle": 6000}  # its waves grow
LATE = 300  # seconds until a program is ended
SEEDS = 2
ROOT = pathlib.Path(__file__).resolve().parent.parent
PACK = ROOT / "src" / "pack"


@dataclass
class Rule:
    strategy: str
    what: str
    file: str
    old: str
    new: str


LISTS = {
    "exact": ("D", "H", "I", "D-jittered", "cut-1000"),
    "ejection": ("J", "J-both", "D-jittered"),
    "squeaky wheel": ("crossing-1000", "saturated-1000", "densenet121-rows"),
    "from-peak": ("S_1", "pangu_2.6B", "saturated-5000"),
    "rectangle": ("C", "E", "cut-200"),
    "auto": ("D", "J", "J-both", "D-jittered", "encoder_12_layers-arena"),
}
STRATEGIES = {"squeaky wheel": "ejection"}  # others have their own name

SECTIONS, LEAST, KINDS = "section_search.cc", "least_height.cc", "dive_kinds.cc"
EJECTION, MEETINGS = "ejection_search.cc", "meetings.cc"
CAPS, WHEEL, PEAK, PASS = "ejection.cc", "squeaky_wheel.cc", "from_peak.cc", "from_peak_pass.cc"
STARTS, TUNER = "patents/rectangle.cc", "patents/rectangle_tuner.cc"
PORTFOLIO, PACKERS = "portfolio.cc", "packers.cc"
RULES = (
    Rule("exact", "random factor where to branch", SECTIONS, "ways * (1 + random_.fraction())", "ways"),
    Rule("exact", "waste up to the next item", SECTIONS, "const Bytes least = after_waste(section);",
         "const Bytes least = skyline_.floor(section) + 1;"),
    Rule("exact", "equal items in order", SECTIONS,
         "if (equal >= 0 && !skyline_.is_placed(static_cast<std::uint32_t>(equal))) continue;",
         "static_cast<void>(equal);"),
    Rule("exact", "dives at the last failure", LEAST,
         "number % 2 == 0 || has_many ? SectionOrder::last_failure : SectionOrder::fewest_choices",
         "has_many ? SectionOrder::last_failure : SectionOrder::fewest_choices"),
    Rule("exact", "dives by size", LEAST, "number % 8 == 0 ? ValueOrder::largest_first : ValueOrder::longest_first",
         "ValueOrder::longest_first"),
    Rule("exact", "some dives are longer", LEAST, "n % one_in == 0; n /= one_in) length *= longer;", "false;) {}"),
    Rule("exact", "longer dives for more items", LEAST, "nodes_for_an_item = 4;", "nodes_for_an_item = 0;"),
    Rule("exact", "many items: all at the last failure", LEAST, "many_items = 500;", "many_items = 1 << 30;"),
    Rule("exact", "stacks", LEAST, "if (is_fewer(stacks)) stacks_", "if (false) stacks_"),
    Rule("exact", "chains of stacks", LEAST, "is_fewer(chains_of(tables_.model, 0));", "false;"),
    Rule("exact", "chains by chance", LEAST, "const std::uint64_t draw = number / dives_of_a_draw;",
         "const std::uint64_t draw = 0 * number;"),
    Rule("exact", "chains of like sizes", LEAST, "kind == DiveKind::chains ? 0 : tolerance", "0 * tolerance"),
    Rule("exact", "more dives for kinds that succeed", KINDS, "gain = 5;", "gain = 0;"),
    Rule("ejection", "groups first", CAPS,
         "if (is_high() && !control.is_time_up()) lower_by_groups(problem, bound, control, placing.places);", ""),
    Rule("ejection", "the heaviest is next", EJECTION, "random_.below(any_in) == 0 ? any() : heaviest()", "any()"),
    Rule("ejection", "now and then any is next", EJECTION, "random_.below(any_in) == 0 ? any() : heaviest()",
         "heaviest()"),
    Rule("ejection", "what is placed gets heavier", EJECTION, "weights_[i] += raise_by * items_[i].weight;", ""),
    Rule("ejection", "barred from its last offset", EJECTION, "if (step_ - thrown_out_[i] <= barred_for)",
         "if (false)"),
    Rule("ejection", "items drop now and then", EJECTION, "if (step_ % compact_every == 0) compact();", ""),
    Rule("ejection", "meetings", MEETINGS, "if (!std::ranges::all_of(buffers, is_whole)) return std::nullopt;",
         "if (!buffers.empty()) return std::nullopt;"),
    Rule("ejection", "slack in the weight", CAPS, "area / (slack + slack_of_all)", "area + 0 * slack"),
    Rule("ejection", "two searches", CAPS, "searches_at_once = 2;", "searches_at_once = 1;"),
    Rule("ejection", "all go on from the lowest", CAPS,
         "for (const auto& descent : descents_) descent->start(best_, peak_, bound_);",
         "for (const auto& descent : descents_) if (descent->has_found()) descent->start(best_, peak_, bound_);"),
    Rule("ejection", "smaller steps when it fails", CAPS, "part_ = std::min(finest_part, 2 * part_);", ""),
    Rule("ejection", "more patience when it fails", CAPS, "patience_ = std::min(most_patience_, 2 * patience_);", ""),
    Rule("squeaky wheel", "all of it", CAPS,
         "lower_by_passes(problem, neighbours, bound, control, places);", ""),
    Rule("squeaky wheel", "classes of two widths", WHEEL, "std::array<double, 2> widths{1.5, 1.25}",
         "std::array<double, 1> widths{1.5}"),
    Rule("squeaky wheel", "from the fullest position", WHEEL,
         "life.lower > fullest_ ? 1 : life.upper <= fullest_ ? 2 : 0", "0 * fullest_"),
    Rule("squeaky wheel", "what squeaks goes first", WHEEL, "if (offsets_[b] + buffers_[b].size > cap) ++classes_[b];",
         "static_cast<void>(cap);"),
    Rule("squeaky wheel", "few squeak", WHEEL, "part_that_squeaks = 50;", "part_that_squeaks = 1;"),
    Rule("from-peak", "ejects what is left over", PASS,
         "if (is_promising && buffers_.size() >= least_buffers) eject();", "static_cast<void>(is_promising);"),
    Rule("from-peak", "only a few left over", PASS, "most_left_over = 10;", "most_left_over = 300;"),
    Rule("from-peak", "slack in the weight", PASS, "std::sqrt(area) / (slack + least_slack)",
         "std::sqrt(area + 0 * slack)"),
    Rule("from-peak", "the cap rises", PEAK, "low += std::max<Bytes>(1, (top_ - low) / 2);", "break;"),
    Rule("from-peak", "ten manners, not two", PEAK, "tried < manners.size(); tried +=", "tried < 1; tried +="),
    Rule("rectangle", "tuning", STARTS, "rounds_ == 0 ? 0 : waves_ * width()", "0 * waves_ * width()"),
    Rule("rectangle", "eight orders", STARTS, "for (const std::string_view text : portfolio) orders_",
         "for (const std::string_view text : {portfolio[0]}) orders_"),
    Rule("rectangle", "the lowest order first", STARTS, "starts_.rank(tops_);", ""),
    Rule("rectangle", "larger budgets in later waves", STARTS, "budget_ << (2 * wave)", "budget_"),
    Rule("rectangle", "half of the starts tune all", STARTS, "(wave + tuned) % 2 == 0", "false"),
    Rule("rectangle", "half of the starts tune classes", STARTS, "(wave + tuned) % 2 == 0", "true"),
    Rule("rectangle", "groups in a quarter of the starts", STARTS, "manner % 4 == 3 ? 50 : 0", "0"),
    Rule("rectangle", "size in the manner of a quarter", STARTS, "manner % 4 == 2;", "false;"),
    Rule("rectangle", "manners with three divisors", STARTS, "4 << (manner % 3)", "4"),
    Rule("rectangle", "a group may keep its order", TUNER, "if (current.order != given) {", "if (false) {"),
    Rule("auto", "rings", PACKERS, ".suits = has_runs", ".suits = [](const Problem&) { return false; }"),
    Rule("auto", "probes of the rivals", PORTFOLIO,
         "for (const std::size_t rival : rivals) enter({rival, shares::probe, 1});",
         "for (const std::size_t rival : rivals) was_cut_[rival] = 1;"),
    Rule("auto", "last turn for who goes on", PORTFOLIO, "standing_ && standing_->entrant == rivals[1];", "true;"),
    Rule("auto", "no longer passes near the bound", PORTFOLIO, "if (is_choice_ && is_near_bound()) return;", ""),
    Rule("auto", "searches begin from the lowest", PORTFOLIO,
         "if (has_one_memory_ && is_alone) control.known = best_.places;", ""),
)


def compiler_of(build):
    """The words of the command that compiles the searches, without source and output, and those that link."""
    entries = json.loads((build / "compile_commands.json").read_text())
    entry = next(e for e in entries if "stowage_pack" in e["command"])
    words = shlex.split(entry["command"])
    place = words.index("-o")
    flags = [w for w in words[:place] if w != "-Werror"] + ["-w"]
    link = subprocess.run(["ninja", "-C", build, "-t", "commands", "stowage"], capture_output=True, text=True,
                          check=True)
    libraries = [w for w in shlex.split(link.stdout.splitlines()[-1])
                 if w.endswith((".a", ".so")) or ".so." in w]
    libraries = [str(build / w) if not w.startswith("/") else w for w in libraries
                 if "commands" not in w and "stowage_run" not in w and "dnnl" not in w]
    return flags, libraries


class Workshop:
    """Builds pack_lists from the sources of src/pack, of which one may be changed."""

    def __init__(self, build, folder):
        self.folder = folder
        self.flags, self.libraries = compiler_of(build)
        sources = [ROOT / "bench" / "pack_lists.cc", *sorted(PACK.rglob("*.cc"))]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.objects = dict(zip(sources, pool.map(self.compiled, sources)))

    def compiled(self, source, name=None):
        made = self.folder / f"{name or source.parent.name + '_' + source.name}.o"
        subprocess.run([*self.flags, "-o", made, "-c", source], check=True)
        return made

    def program(self, name, objects):
        made = self.folder / name
        done = subprocess.run([self.flags[0], *objects.values(), *self.libraries, "-o", made], capture_output=True)
        if done.returncode != 0:
            raise ValueError("pack_lists cannot be linked: is the build older than the sources?")
        return made

    def as_it_is(self):
        return self.program("as_it_is", self.objects)

    def without(self, rule, number):
        source = PACK / rule.file
        text = source.read_text()
        if text.count(rule.old) != 1:
            raise ValueError(f"{rule.file} has {text.count(rule.old)} times, expected once: {rule.old}")
        changed = self.folder / f"{number}_{source.name}"
        changed.write_text(text.replace(rule.old, rule.new))
        return self.program(f"without_{number}", {**self.objects, source: self.compiled(changed)})


def measured(pool, program, strategy, lists, settings):
    """For each list its mean gap in percent, and the mean seconds."""
    effort = settings.effort or OTHER_EFFORT.get(strategy, EFFORT)

    def ask(path):
        command = [program, "--strategy", STRATEGIES.get(strategy, strategy), "--threads", "1",
                   "--effort", str(effort), "--seeds", str(settings.seeds), path]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LATE)
        rows = [line.split() for line in done.stdout.splitlines()]
        return (statistics.mean(100 * (int(row[2]) / int(row[3]) - 1) for row in rows),
                statistics.mean(float(row[4]) for row in rows))
    return list(pool.map(ask, lists))


def shown(found):
    gap, seconds = found
    return f"{gap:.2f} %" if gap > 0 else f"{seconds:.3f} s"


def table(workshop, paths, settings):
    """Yields the rows of the table as they come."""
    usual = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        whole = workshop.as_it_is()
        for number, rule in enumerate(RULES):
            if settings.only and not any(part in f"{rule.strategy}: {rule.what}" for part in settings.only.split(",")):
                continue
            names = [name for name in LISTS[rule.strategy] if name in paths]
            lists = [paths[name] for name in names]
            if rule.strategy not in usual:
                usual[rule.strategy] = measured(pool, whole, rule.strategy, lists, settings)
                yield (f"| {rule.strategy} | as it is | "
                       + ", ".join(f"{n} {shown(f)}" for n, f in zip(names, usual[rule.strategy])) + " |")
            try:
                found = measured(pool, workshop.without(rule, number), rule.strategy, lists, settings)
            except (ValueError, subprocess.SubprocessError) as error:
                yield f"| {rule.strategy} | {rule.what} | failed: {error} |"
                continue
            yield (f"| {rule.strategy} | {rule.what} | "
                   + ", ".join(f"{n} {shown(f)}" for n, f in zip(names, found)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/bench"))
    parser.add_argument("--only", default="", help="parts of the strategies and rules to leave out one by one")
    parser.add_argument("--effort", type=int, help=f"instead of {EFFORT}, and of other efforts for some strategies")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("lists", nargs="+", type=pathlib.Path)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(settings.build.resolve(), pathlib.Path(folder))
        for row in table(workshop, {path.stem: path.resolve() for path in settings.lists}, settings):
            print(row, flush=True)


if __name__ == "__main__":
    sys.exit(main())
