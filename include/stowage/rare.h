/// Example: an absent value takes the space of a pointer.
///
///     const stowage::Rare<std::pair<double, double>> none;
///     const stowage::Rare<int> four = 4;
///     return !none && sizeof none == sizeof(void*) && *four == 4 ? 0 : 1;
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace stowage {

/// An optional value that most objects lack. Used like std::optional, but the value is allocated, so an absent
/// one takes only the space of a pointer. Copies are deep; two are equal if both are absent or the values are
/// equal.
template <typename T>
class Rare {
 public:
  Rare() = default;
  Rare(std::nullopt_t) {}
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Rare(const std::optional<T>& value) : value_(value ? std::make_unique<T>(*value) : nullptr) {}
  Rare(const Rare& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) { return *this = Rare(other); }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  [[nodiscard]] explicit operator bool() const { return value_ != nullptr; }
  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  [[nodiscard]] operator std::optional<T>() const {
    return value_ ? std::optional<T>(*value_) : std::nullopt;
  }
  /// Only if there is a value.
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T* operator->() const { return value_.get(); }
  [[nodiscard]] T* operator->() { return value_.get(); }

  void reset() { value_.reset(); }

  friend bool operator==(const Rare& a, const Rare& b) {
    return a.value_ && b.value_ ? *a.value_ == *b.value_ : a.value_ == b.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace stowage
