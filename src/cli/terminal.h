#pragma once

#include <iosfwd>
#include <streambuf>
#include <string>

namespace stowage::cli {

/// Whether --quiet is given: no summaries, notes and progress. What was asked for, errors and faults stay.
[[nodiscard]] bool is_quiet();
void set_quiet(bool quiet);

/// Where a summary for people goes: standard output, or standard error if a file goes to standard output; nowhere with
/// --quiet.
[[nodiscard]] std::ostream& summary_stream(bool is_output_taken = false);

/// Whether the text of a stream may have colours: a terminal reads it, and NO_COLOR is not set.
[[nodiscard]] bool has_colours(int descriptor);

/// While it exists, messages on standard error, which begin with "stowage: ", have a coloured beginning if a terminal
/// shows them; with --quiet, those that begin with "stowage: note: " are left out.
class Messages : public std::streambuf {
 public:
  Messages();
  ~Messages() override;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  Messages(Messages&&) = delete;
  Messages& operator=(Messages&&) = delete;

 protected:
  int_type overflow(int_type letter) override;

 private:
  void end_line();

  std::streambuf* old_;
  bool has_colours_;
  std::string line_{};
};

}  // namespace stowage::cli
