// Which operators ran, by which route, for how long, from which lines.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <map>
#include <mutex>

#include "memory.h"

namespace {

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

using Place = std::pair<std::string, int>;  // a file and a line of it; no file: not known

struct Seen {
  std::string route;
  int64_t calls = 0;
  double seconds = 0;
  std::string error;
  std::map<Place, int64_t> places;
};
std::atomic<bool> observing{false};
std::mutex seen_lock;
std::map<std::pair<std::string, std::string>, Seen> seen;  // operator, route
constexpr int64_t kPlaces = 64;  // calls per operator whose source line is looked up

// Set from Python: gives (path, line) of the user's code, or None. Never freed, on purpose: the
// interpreter may be gone when the process ends.
PyObject* find_place = nullptr;

Place place_now() {
  if (find_place == nullptr || !Py_IsInitialized()) return {};
  py::gil_scoped_acquire hold_python;
  PyObject* found = PyObject_CallNoArgs(find_place);
  const char* path = nullptr;
  int line = 0;
  Place place;
  if (found != nullptr && found != Py_None && PyArg_ParseTuple(found, "si", &path, &line))
    place = {path, line};
  PyErr_Clear();
  Py_XDECREF(found);
  return place;
}

std::string name_of(const c10::OperatorHandle& op) {
  auto name = op.operator_name();
  auto base = name.name.substr(name.name.find("::") + 2);
  return name.overload_name.empty() ? base : base + "." + name.overload_name;
}

void observe(const std::string& op, const char* route, double ms, const char* error) {
  bool wanted = error != nullptr;
  {
    std::lock_guard<std::mutex> hold(seen_lock);
    auto& entry = seen[{op, route}];
    entry.route = route;
    entry.seconds += ms / 1000;
    wanted = ++entry.calls <= kPlaces || wanted;
    if (error != nullptr && entry.error.empty()) entry.error = error;
  }
  auto place = wanted ? place_now() : Place();
  if (place.first.empty()) return;
  std::lock_guard<std::mutex> hold(seen_lock);
  ++seen[{op, route}].places[place];
}

}  // namespace
