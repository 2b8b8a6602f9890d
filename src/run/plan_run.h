#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "run/device.h"
#include "run/home.h"
#include "run/interpreter.h"
#include "run/program.h"
#include "run/timetable.h"
#include "stowage/run.h"

namespace stowage::run {

/// A model to run.
struct ModelToRun {
  const Program* program = nullptr;
  std::string file{};  ///< In front of errors; may be empty.
  /// What an input or a state is given.
  std::function<std::vector<std::byte>(TensorId)> value{};
};

/// A run of all models of a plan, in its memories.
class PlanRun {
 public:
  /// Keeps references to all but `models`. Throws RunFault for a plan that cannot be of these models.
  PlanRun(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options, RunResult& result);

  ~PlanRun();
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;
  PlanRun(PlanRun&&) = delete;
  PlanRun& operator=(PlanRun&&) = delete;

  /// Throws RunFault, Error for data that an operator cannot work with, Interrupted. Outputs are there if all
  /// went well.
  void run();

 private:
  /// A model, where its tensors are, and how far it has come.
  struct Resident;
  /// How far a clock has come.
  struct Progress {
    std::size_t next = 0;                 ///< Of what happens on it.
    std::vector<std::size_t> branches{};  ///< That run now.
    std::vector<std::size_t> ended{};     ///< Branches of the same fork that have run.
  };

  void give_states();
  /// Takes one step of one clock, or ends a clock that has no more; false when the root has ended.
  bool advance();
  void take(std::size_t clock, const Event& event);
  void end_clocks(std::size_t clock);
  /// The clock goes on: nobody has the bytes any more that its branches had.
  void leave_branches(std::size_t clock);
  void take_step(Resident& resident, const Event& event);
  void begin_model(std::size_t model);
  /// When the caller reads an output.
  enum class When : std::uint8_t { released, at_the_end };
  void read_outputs(std::size_t model, When when);
  [[nodiscard]] const Feed* feed_of(std::size_t model, TensorId input) const;

  const Plan& plan_;
  RunResult& result_;
  Timetable table_;
  Device device_;
  std::vector<std::unique_ptr<Resident>> residents_{};  ///< Per model.
  std::vector<Progress> progress_{};                    ///< Per clock.
  std::mt19937_64 turns_;
  bool is_done_ = false;
};

}  // namespace stowage::run
