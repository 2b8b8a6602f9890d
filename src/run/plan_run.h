#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "run/device.h"
#include "run/home.h"
#include "run/interpreter.h"
#include "run/model_to_run.h"
#include "run/timetable.h"
#include "stowage/run.h"

namespace stowage::run {

/// Runs all models of a plan in its memories, and checks what the options want. With `exact`, a check compares the
/// outputs with those of these programs of the same models. Throws like PlanRun.
void run_models(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options,
                RunResult& result, std::span<const Program> exact = {});

/// Runs all models of a plan in its memories; checks all but RunCheck::outputs.
class PlanRun {
 public:
  /// Keeps references to all but `models`. Throws RunFault for a plan of other models.
  PlanRun(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options, RunResult& result);

  ~PlanRun();
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;
  PlanRun(PlanRun&&) = delete;
  PlanRun& operator=(PlanRun&&) = delete;

  /// Returns the outputs, of models that run at pauses those of the last. Throws RunFault, Interrupted, and Error for data that an operator cannot process.
  [[nodiscard]] std::vector<NamedArray> run();
  /// What a model's state was before it ran last, by tensor, if it ran at several pauses.
  [[nodiscard]] const std::map<TensorId, std::vector<std::byte>>& last_states(std::size_t model) const;

 private:
  /// A model, the places of its tensors, and its progress.
  struct Resident;
  /// Progress of a clock.
  struct Progress {
    std::size_t next = 0;                 ///< Index of its next event.
    std::vector<std::size_t> branches{};  ///< Running now.
    std::vector<std::size_t> ended{};     ///< Finished branches of the same fork.
  };

  void give_states();
  /// Runs one step of one clock, or ends a finished clock; false when the root has ended.
  bool advance();
  void take(std::size_t clock, const Event& event);
  void end_clocks(std::size_t clock);
  /// The clock continues: releases the bytes of its branches.
  void leave_branches(std::size_t clock);
  /// The clock is about to run at a pause, from its begin and with the state that it left at the last one.
  void begin_again(std::size_t clock);
  /// The caller takes outputs of the models of a clock that ran at a pause.
  void read_outputs_of(std::size_t clock);
  void take_step(Resident& resident, const Event& event);
  void begin_model(std::size_t model);
  /// Copies new states that are copied, when the model has run.
  void copy_states(std::size_t model);
  /// The input gets the value of a tensor of another model, or of the same one before.
  void take_value(Resident& resident, TensorId input, Resident& from, TensorId tensor);
  [[nodiscard]] std::unique_ptr<Resident> resident_of(std::size_t model);
  /// When the caller reads an output.
  enum class When : std::uint8_t { released, at_the_end };
  void read_outputs(std::size_t model, When when);
  /// The tensor of another model whose value the input gets; none if the caller gives it.
  [[nodiscard]] std::optional<std::size_t> source_of(std::size_t model, TensorId input) const;

  std::vector<ModelToRun> models_;
  const Plan& plan_;
  const RunOptions& options_;
  RunResult& result_;
  Timetable table_;
  Device device_;
  std::vector<std::unique_ptr<Resident>> residents_{};  ///< Per model.
  std::vector<Progress> progress_{};                    ///< Per clock.
  std::mt19937_64 turns_;
  std::map<std::size_t, std::size_t> sources_{};  ///< Per fed input, and per input that is state.
  std::set<std::size_t> old_states_{};            ///< Inputs that have what was there before the run.
  std::set<std::size_t> taken_{};                 ///< Outputs that the caller reads when their model has run.
  std::map<std::size_t, PlacedPart> copied_{};    ///< Per new state that is copied: to where, last.
  bool is_done_ = false;
};

}  // namespace stowage::run
