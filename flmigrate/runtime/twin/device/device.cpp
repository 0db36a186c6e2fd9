// The simulated device `flagos`: PrivateUse1 whose memory and kernels are the CPU's.
//
// The files beside this one are its parts, from the bottom to the top: memory, streams, the one
// kernel, what is registered. They are one translation unit, as torch's headers take most of the
// time of a build.
//
// A tensor on it has a storage whose context is a Block, which holds a CPU storage over the same
// bytes. One boxed kernel, `execute`, serves every operator: it looks at each argument as a CPU
// tensor (nothing is copied), calls the CPU's kernel and puts what comes back on the device.
#include "registration.h"

namespace {

py::list take_seen() {
  std::lock_guard<std::mutex> hold(seen_lock);
  py::list all;
  for (auto& [key, entry] : seen) {
    py::list places;
    for (auto& [place, count] : entry.places)
      places.append(py::make_tuple(place.first, place.second, count));
    all.append(py::make_tuple(key.first, entry.route, entry.calls, entry.seconds, entry.error,
                              places));
  }
  seen.clear();
  return all;
}

// What touched the same memory on two streams, the later first; no other: the host was early.
py::list take_races() {
  Hold hold(queues().lock);
  py::list all;
  for (auto& [race, count] : queues().races)
    all.append(py::make_tuple(race.what, race.place, race.other, race.other_place, count));
  queues().races.clear();
  return all;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  at::RegisterPrivateUse1HooksInterface(&hooks);
  m.def("claim_all", &claim_all);
  m.def("claim_chip", &claim_chip);
  m.def("limit", &limit);
  m.def("set_numerics", [](int dropped, bool reorder) {
    TORCH_CHECK_VALUE(dropped >= 0 && dropped < 23, "0 to 22 bits of a fraction are dropped");
    dropped_bits = dropped;
    reordered = reorder;
  });
  m.def("_get_device_count", [] { return device_count.load(); });
  m.def("set_device_count", [](int count) {
    TORCH_CHECK_VALUE(count >= 0 && count <= kMaxDevices, "0 to ", kMaxDevices, " devices");
    device_count = count;
  });
  m.def("_get_device", [] { return static_cast<int>(current_device); });
  m.def("_set_device", [](int index) { hooks.setCurrentDevice(static_cast<DeviceIndex>(index)); });
  m.def("_exchangeDevice", [](int index) {
    return static_cast<int>(hooks.maybeExchangeDevice(static_cast<DeviceIndex>(index)));
  });
  m.def("_get_default_generator", [](int index) {
    return default_generator(static_cast<DeviceIndex>(index));
  });
  m.def("_synchronize", [](int index) { wait_for_device(static_cast<DeviceIndex>(index)); },
        py::call_guard<py::gil_scoped_release>());
  m.def("_memory_allocated", [](int index) { return allocated[index].load(); });
  m.def("_memory_peak", [](int index) { return peak[index].load(); });
  m.def("_forget_memory", [](int index) { allocated[index] = peak[index] = 0; });
  m.def("_memory_calls", [](int index) {
    return py::make_tuple(blocks_made[index].load(), blocks_freed[index].load());
  });
  m.def("_reset_peak_memory_stats", [](int index) { peak[index] = allocated[index].load(); });
  m.def("make_asynchronous", [] { asynchronous = true; });
  m.def("observe", [](bool on, py::object place) {
    observing = on;
    if (!place.is_none()) find_place = place.inc_ref().ptr();
  }, py::arg("on"), py::arg("place") = py::none());
  m.def("take_seen", &take_seen);
  m.def("take_races", &take_races);
}
