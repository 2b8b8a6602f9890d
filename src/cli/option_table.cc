// One row for each option that decides a plan. The command line, its help and the Python package are made of these
// rows; a test compares docs/cli.md with them.

#include "cli/option_table.h"

#include <array>

namespace stowage::cli {
namespace {

constexpr std::string_view search_group = "Search";
constexpr std::string_view memory_group = "Memories";
constexpr std::string_view stream_group = "Streaming";
constexpr std::string_view models_group = "Several models";
constexpr std::string_view open_group = "What a model leaves open";

constexpr std::size_t first_of_models = 28;

constexpr std::array<OptionRow, 36> option_rows{{
    {"strategy", &PlanTexts::strategy, usual,
     "NAME of the strategy that finds offsets, and its tuning: NAME:KEY=VALUE,... See `stowage strategies`. "
     "Default: auto"},
    {"alias", &PlanTexts::alias, usual,
     "Which tensors may share bytes: none, auto (only where the peak does not rise) or all. Default: auto"},
    {"capacity", &PlanTexts::capacity, usual,
     "SIZE of the only memory, for instance 256KiB. Default: unlimited"},
    {"memory", &PlanTexts::memories, usual,
     "NAME[=SIZE][@COST][,granule=SIZE][:weights]: a memory, fastest first; with granule, sizes and offsets "
     "are multiples of it; with :weights, a memory for weights",
     false},
    {"io", &PlanTexts::io, usual,
     "Where inputs and outputs are: arena, external (in the caller's memory) or, with --stream, rows (they "
     "arrive and leave row by row). Default: arena",
     false},
    {"stream", &PlanTexts::stream, usual,
     "Run operators row by row and store only the rows that are still needed: all that can, or with "
     "--stream=OP,OP only those, given by name, type, number in the file, or range of numbers (3-9)",
     false},
    {"time-limit", &PlanTexts::time_limit, usual,
     "SECONDS for planning; then the best plan so far is used. Default: 3"},
    {"align", &PlanTexts::align, memory_group,
     "Alignment of buffers in bytes. Default: 64 for ONNX and graph JSON, 16 for TFLite, 1 for lists"},
    {"device", &PlanTexts::device, memory_group,
     "NAME that `stowage devices` lists, or FILE.json: its memories, less what others take of them", false},
    {"place", &PlanTexts::places, memory_group,
     "TENSOR=MEMORY[@OFFSET]: a memory, and perhaps an offset, for this tensor, which then shares no bytes",
     false},
    {"moves", &PlanTexts::moves, memory_group,
     "With several memories, allow copies of tensors between them during a run", false},
    {"banks", &PlanTexts::banks, memory_group,
     "NUMBERxSIZE, for instance 4x16KiB: banks of the fastest memory; operands of one operator lie in "
     "different "
     "banks where that is possible"},
    {"recompute", &PlanTexts::recompute, stream_group,
     "FACTOR: --stream may run this many times the multiplies of the network. A..B: shows what six factors "
     "from A to B save, and takes as many time limits. Default: 1.0",
     false},
    {"layout", &PlanTexts::layout, stream_group,
     "Where --stream stores rows: ring (in the order of an affine schedule, for loops), granules (row blocks "
     "anywhere) or auto (the lower). Default: auto",
     false},
    {"axes", &PlanTexts::axes, stream_group,
     "Which axes of tensors --stream may take for rows: auto (the lowest peak found) or natural (the height "
     "of images, the rows of matrices). Default: auto",
     false},
    {"blocks", &PlanTexts::blocks, stream_group,
     "Whether --stream splits operators into blocks along a second axis (heads, channels, samples): auto "
     "(where that gives the lowest peak found) or none. Default: auto",
     false},
    {"granule", &PlanTexts::granule, stream_group,
     "ROWS that one step of --stream computes. Default: as few as there is time to plan with", false},
    {"order", &PlanTexts::order, search_group,
     "Operator order: keep (the order of the file) or search (lowest peak found). Default: search"},
    {"effort", &PlanTexts::effort, search_group,
     "N: a limit in work instead of --time-limit, so that the plan is the same on every machine. 1000 is "
     "about what one processor does in a second. Default: none"},
    {"threads", &PlanTexts::threads, search_group,
     "Searches that run at the same time. Default: one for each processor"},
    {"seed", &PlanTexts::seed, search_group, "Seed of all random numbers. Default: 0"},
    {"near", &PlanTexts::near, search_group,
     "FILE with an earlier plan: buffers keep its offsets where these fit the capacity or, without one, "
     "raise no peak"},
    {"run", &PlanTexts::run, models_group,
     "Which models run one after the other (;), at the same time (|), or between steps of another, after at "
     "most 20 of them (^20), for instance 'a; b | c' or 'a ^20 b'. Default: one after the other"},
    {"feed", &PlanTexts::feeds, models_group,
     "A.out=B.in: this output of model A is this input of model B, which runs later"},
    {"release", &PlanTexts::released, models_group,
     "A.out: the caller takes this output when model A has run. Default: outputs stay until all models have "
     "run"},
    {"reuse-threshold", &PlanTexts::reuse_threshold, still_accepted,
     "--strategy free-list:reuse-threshold=SIZE"},
    {"sort", &PlanTexts::sort, still_accepted, "--strategy rectangle:sort=KEYS"},
    {"rounds", &PlanTexts::rounds, still_accepted, "--strategy rectangle:rounds=N"},
    {"dim", &ModelTexts::dims, usual,
     "NAME=N: size of a symbolic dimension, or of an axis without a name, as INPUT[AXIS]; ..N: every size up "
     "to N, A..B:STEP: every size in steps from A, N..N: exactly N; M,N: a plan for each, in one file",
     false},
    {"shape", &ModelTexts::shapes, usual,
     "TENSOR=1,3,224,224: a shape that the file leaves open; sizes as for --dim. A number is exact for "
     "inputs, "
     "at most for what the network computes",
     false},
    {"every-size", &ModelTexts::every_size, open_group,
     "Read models at each size of their ranges, up to 65536, not at some: then a plan is proven for all",
     false},
    {"bound", &ModelTexts::bounds, open_group,
     "TENSOR=SIZE: most bytes of a tensor whose size depends on data", false},
    {"value", &ModelTexts::values, open_group,
     "INPUT=1,80: elements of a small input that decides sizes; what follows from them is folded", false},
    {"state", &ModelTexts::states, open_group,
     "OUTPUT=INPUT: the output is this input of the next run; both are one buffer, also of two models",
     false},
    {"scratch", &ModelTexts::scratch, open_group,
     "CSV file of operator,bytes[,subgraph]: scratch memory that kernels need"},
    {"join", &ModelTexts::joins, models_group,
     "A.out=B.in: models A and B become one, so that rows flow from this output of A to this input of B",
     false},
}};

}  // namespace

std::span<const OptionRow> planning_options() { return option_rows; }

std::span<const OptionRow> model_options() { return std::span(option_rows).subspan(first_of_models); }

}  // namespace stowage::cli
