#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generate/storage.h"
#include "stowage/units.h"

namespace stowage::generate {

/// What a C file knows of where tensors are: the definitions of `stowage_place`, and of lists of slots.
class Places {
 public:
  /// The name of a place; equal places have one name. `label` is what the name ends in, unless it is taken.
  std::string add(const RowPlace& place, const std::string& label, const std::string& comment);
  /// From here on, only places of one label are the same place.
  void keep_apart() { are_apart_ = true; }
  /// The rows of each place, by its name.
  [[nodiscard]] std::map<std::string, std::int64_t> rows() const;
  /// The number of rows of that place is not constant: who needs it takes a copy with it.
  void open_rows(const std::string& name);
  /// The name of an array of these places, which then have no names of their own.
  std::string array(const std::vector<std::string>& names, const std::string& label);
  /// The elements of arrays that stand for places without names of their own.
  [[nodiscard]] std::map<std::string, std::string> references() const;

  [[nodiscard]] std::string definitions() const { return written().text; }
  /// Bytes of these definitions on a machine with pointers of 32 bits.
  [[nodiscard]] Bytes bytes() const { return written().bytes; }

 private:
  struct Named {
    std::string name{};
    std::string comment{};
    RowPlace place{};
    std::string reference{};  ///< In an array, if it has no definition of its own.
  };
  struct Array {
    std::string name{};
    std::vector<std::size_t> places{};
  };
  /// A list of slots, or part of one that is written once. `shift` is by how much its numbers are greater.
  struct Slots {
    std::string expression{};
    std::uint16_t shift = 0;
    bool is_wide = false;
  };
  struct Written {
    std::string text{};
    Bytes bytes = 0;
  };

  [[nodiscard]] Written written() const;
  /// Of all places with lists of slots. Writes the lists.
  [[nodiscard]] std::vector<Slots> slots_of_all(Written& to) const;

  std::vector<Named> places_{};
  std::vector<Array> arrays_{};
  bool are_apart_ = false;
  std::map<std::string, std::size_t> by_definition_{};
  std::set<std::string> used_{};
};

}  // namespace stowage::generate
