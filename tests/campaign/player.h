#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "machine.h"
#include "random.h"

namespace stowage::campaign {

/// Runs operators of a plan's steps: as wholes, by rows, with sums and parts.
class Player {
 public:
  Player(const Networks& networks, const Plan& plan, Findings& findings, ReplayTally& tally);

  [[nodiscard]] Machine& machine() { return machine_; }
  /// One step other than a fork. Operators with bodies are told by `begin_bodies` and `end_bodies`.
  void step(const Step& step);
  void begin_bodies(const Run& run);
  void end_bodies(const Run& run);
  void begin_body(const Run& first);
  void end_body(const Run& last);

  /// What the caller gives before a model's first step, and takes after its last.
  void give_inputs(std::size_t model);
  void take_outputs(std::size_t model);
  /// State and planned constants of buffers of that clock.
  void give_lasting(std::size_t clock);
  /// After the last step: what was left out.
  void finish();

 private:
  struct OperatorKey {
    std::size_t model = 0;
    std::vector<std::size_t> path{};

    auto operator<=>(const OperatorKey&) const = default;
  };
  struct Progress {
    std::set<std::int64_t> rows{};                 ///< Of its outputs, or of its first input if it sums up.
    std::map<std::int64_t, std::int64_t> parts{};  ///< Of a row that is being added up: parts it has.
    std::size_t runs = 0;                          ///< As a whole, or complete.
    std::int64_t begun_at = 0;
    std::int64_t done_at = 0;
  };

  [[nodiscard]] const Operator& operator_of(const Run& run) const;
  [[nodiscard]] std::string words_for(const Run& run) const;
  [[nodiscard]] bool sums_up_at_once(const Run& run, const Operator& op) const;
  void run_whole(const Run& run);
  void run_rows(const Run& run);
  void run_sums(const Run& run);
  void run_part(const Run& run);
  void read_inputs(const Run& run, const Operator& op, Reading& reading);
  void read_rows(const Run& run, const RowAxis& axis, const RowRange& rows, Reading& reading);
  void write_outputs(const Run& run, const Operator& op, const Reading& reading);
  void put_sums(const Run& run, std::int64_t done);
  void check_sums(const Run& run, std::int64_t done);
  void put_part(const Run& run, TensorId output, std::int64_t row, std::int64_t done);
  void check_part(const Run& run, TensorId output, std::int64_t row, std::int64_t done);
  [[nodiscard]] std::int64_t rows_of(const Run& run, const Operator& op) const;
  using Times = std::map<std::size_t, std::vector<int>>;
  /// The bytes that pass between the caller and a tensor of the plan: of some rows, or all of them.
  std::vector<Bytes> passed(std::size_t index, const std::optional<RowRange>& rows, Times& times);
  /// Whether steps say when that tensor of a model arrives or leaves.
  [[nodiscard]] bool has_passages(std::size_t model, TensorId tensor) const;
  void hand_over(const Arrive& arrive);
  void take(const Leave& leave);
  void check_order();

  std::span<const Graph> graphs_;
  const Plan& plan_;
  Machine machine_;
  std::map<OperatorKey, Progress> progress_;
  Times arrived_;  ///< By tensor of the plan, how often each row.
  Times left_;
  std::set<std::size_t> passing_;  ///< Tensors of the plan that arrive or leave.
  std::int64_t now_ = 0;           ///< Steps played.
};

}  // namespace stowage::campaign
