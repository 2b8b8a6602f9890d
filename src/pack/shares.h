#pragma once

#include <chrono>

/// Who gets how much of the time: all that divides time in pack/. A share is of what is left when the turn comes,
/// and what a strategy does not use is left to those after it. Work is divided as time is, if it is the limit.
/// portfolio.cc says in which order the turns come.
///
/// Of 3 s, where no strategy reaches the bound or ends by itself, in seconds:
///
///     few buffers, one memory     rings 1.5 (if there are rows) | from-peak: one cap, milliseconds
///       without rows              exact 0.15 | ejection 0.14 | exact 1.22 | rectangle 0.05 | ejection 1.44
///                                 or, if exact is ahead: rectangle 0.08 | exact 2.62
///     many buffers, one memory    passes: microseconds for each buffer | from-peak up to half of the rest, then as above,
///                                 ejection first
///     in ejection                 groups of buffers 1/3 | squeaky wheel 1/3 of the rest | caps: all the rest
///     several memories            free-list, then levels: until it ends
namespace stowage::pack::shares {

// Of strategies, if they have a turn of their own.
inline constexpr double rings = 1.0 / 2;
inline constexpr double from_peak = 1.0 / 2;
inline constexpr double exact = 2.0 / 3;     ///< Only if `ejection` does not serve the problem.
inline constexpr double ejection = 1.0 / 2;  ///< Only if `exact` does not: `rectangle` has the other half.

// Of the two rivals, `exact` and `ejection`.
inline constexpr double probe = 1.0 / 20;  ///< For the first turn of each.
inline constexpr double first = 0.45;      ///< Then for the first, if the second is ahead.
inline constexpr double before_last =
    1.0 / 32;  ///< Then for each strategy before the last turn, which has the rest.

// In `ejection`, one after the other.
inline constexpr double groups = 1.0 / 3;         ///< For groups of buffers.
inline constexpr double squeaky_wheel = 1.0 / 3;  ///< Before caps are lowered.

/// By so much the proof of a cost may exceed the time limit.
inline constexpr std::chrono::milliseconds proof{20};

}  // namespace stowage::pack::shares
