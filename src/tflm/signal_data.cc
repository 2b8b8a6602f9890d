// What the signal operators of TensorFlow Lite Micro (framing, Fourier transforms, filter banks) keep in the
// tail of the arena: ring buffers, tables and states, by their options. Source: TensorFlow Lite Micro,
// signal/micro/kernels and signal/src, the calls of AllocatePersistentBuffer; KISS FFT for its states.
//
// Cost: one look at each option.

#include "tflm/signal_data.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::tflm {
namespace {

constexpr Bytes most = Bytes{1} << 31;  // for one option
constexpr Bytes most_rows = 100'000;

Bytes number(const Site& site, const char* name) {
  const Bytes value = site.option(name);
  if (value < 0 || value > most)
    throw Error("", std::string("has ") + name + " outside of what the runtime takes");
  return value;
}

/// A ring of 16-bit samples, twice as long as need be, behind its state.
Bytes ring_bytes(const Site& site, Bytes capacity) {
  return site.by_pointer(40, 24) + int16_bytes * 2 * capacity;
}

/// For each row of the input a ring, and two pointers to it.
void rings(const Site& site, Bytes capacity, KernelData& data) {
  const Bytes inner = std::max<Bytes>(1, dimension(site.input(0), -1));
  const Bytes rows = elements_of(site.input(0)) / inner;
  if (rows > most_rows) throw Error("", "has more rows than the runtime is expected to take");
  data.prepare.insert(data.prepare.end(), 2, rows * site.runtime().pointer_bytes);
  for (Bytes i = 0; i < rows; ++i) data.prepare.push_back(ring_bytes(site, capacity));
}

void of_delay(const Site& site, KernelData& data) {
  data.init = {site.by_pointer(32, 20)};
  rings(site, dimension(site.input(0), -1) + number(site, "delay_length"), data);
}

void of_framer(const Site& site, KernelData& data) {
  const Bytes step = std::max<Bytes>(1, number(site, "frame_step"));
  const Bytes frames = (number(site, "frame_size") + step - 1) / step;
  data.init = {site.by_pointer(40, 28)};
  rings(site, frames * step, data);
}

void of_stacker(const Site& site, KernelData& data) {
  const Bytes channels = number(site, "num_channels");
  const Bytes slots = number(site, "stacker_left_context") + number(site, "stacker_right_context") + 1;
  data.init = {site.by_pointer(56, 36), ring_bytes(site, channels * slots)};
}

void of_filter_bank(const Site& site, KernelData& data) {
  data.init = {site.by_pointer(64, 36), (number(site, "num_channels") + 1) * int64_bytes};
}

void of_spectral_subtraction(const Site& site, KernelData& data) {
  data.init = {site.by_pointer(56, 44), number(site, "num_channels") * int32_bytes};
}

/// A real transform of n numbers is a complex one of n / 2 and a table.
void of_transform(const Site& site, Bytes struct_bytes, KernelData& data) {
  const bool is_narrow = static_cast<tflite::TensorType>(site.option("T")) == tflite::TensorType::INT16;
  const Bytes complex = is_narrow ? 2 * int16_bytes : 2 * int32_bytes;
  const Bytes length = number(site, "fft_length");
  const Bytes half = length / 2;
  constexpr Bytes header = 8 + 2 * 32 * int32_bytes;  // length, direction, factors
  data.init = {struct_bytes,
               3 * site.runtime().pointer_bytes + header + half * complex + complex * (half * 3 / 2)};
}

void of_rfft(const Site& site, KernelData& data) { of_transform(site, site.by_pointer(48, 32), data); }
void of_irfft(const Site& site, KernelData& data) { of_transform(site, site.by_pointer(32, 24), data); }

void of_overlap_add(const Site& site, KernelData& data) {
  const bool is_narrow = is_of(site.input(0), tflite::TensorType::INT16);
  const Bytes frame = dimension(site.input(0), -1);
  const Bytes frames = dimension(site.input(0), -2);
  const Bytes rows = elements_of(site.input(0)) / std::max<Bytes>(1, frame * frames);
  if (rows > most_rows) throw Error("", "has more rows than the runtime is expected to take");
  data.init = {site.by_pointer(32, 24)};
  data.prepare = {rows * site.runtime().pointer_bytes};
  data.prepare.insert(data.prepare.end(), static_cast<std::size_t>(rows),
                      frame * (is_narrow ? int16_bytes : int32_bytes));
}

void of_two_words(const Site& /*site*/, KernelData& data) { data.init = {2 * int32_bytes}; }
void of_one_word(const Site& /*site*/, KernelData& data) { data.init = {int32_bytes}; }
void of_nothing(const Site& /*site*/, KernelData& /*data*/) {}

struct SignalKeeper {
  std::string_view type;
  void (*fill)(const Site& site, KernelData& data);
};

constexpr std::array signal_keepers{
    SignalKeeper{"SignalDelay", of_delay},
    SignalKeeper{"SignalEnergy", of_two_words},
    SignalKeeper{"SignalFftAutoScale", of_nothing},
    SignalKeeper{"SignalFilterBank", of_filter_bank},
    SignalKeeper{"SignalFilterBankLog", of_two_words},
    SignalKeeper{"SignalFilterBankSpectralSubtraction", of_spectral_subtraction},
    SignalKeeper{"SignalFilterBankSquareRoot", of_nothing},
    SignalKeeper{"SignalFramer", of_framer},
    SignalKeeper{"SignalIrfft", of_irfft},
    SignalKeeper{"SignalOverlapAdd", of_overlap_add},
    SignalKeeper{"SignalPCAN", of_one_word},
    SignalKeeper{"SignalRfft", of_rfft},
    SignalKeeper{"SignalStacker", of_stacker},
    SignalKeeper{"SignalWindow", of_two_words},
};

}  // namespace

bool is_signal_operator(const Site& site) {
  return site.is_custom() &&
         std::ranges::find(signal_keepers, site.type(), &SignalKeeper::type) != signal_keepers.end();
}

KernelData signal_data_of(const Site& site) {
  KernelData data;
  std::ranges::find(signal_keepers, site.type(), &SignalKeeper::type)->fill(site, data);
  return data;
}

}  // namespace stowage::tflm
