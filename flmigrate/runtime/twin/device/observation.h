// Which operators ran, by which route, for how long, from which lines.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/utils/pybind.h>

#include <map>
#include <mutex>

#include "streams.h"
namespace {

struct Seen {
  std::string route;
  int64_t calls = 0;
  double seconds = 0;
  std::string error;
  std::map<std::pair<std::string, int>, int64_t> places;
};
std::atomic<bool> observing{false};
std::mutex seen_lock;
std::map<std::pair<std::string, std::string>, Seen> seen;  // operator, route
constexpr int64_t kPlaces = 64;  // calls per operator whose source line is looked up

// Set from Python: gives (path, line) of the user's code, or None. Never freed, on purpose: the
// interpreter may be gone when the process ends.
PyObject* find_place = nullptr;

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
  if (!wanted || find_place == nullptr || !Py_IsInitialized()) return;
  py::gil_scoped_acquire hold_python;
  PyObject* place = PyObject_CallNoArgs(find_place);
  if (place == nullptr) {
    PyErr_Clear();
    return;
  }
  const char* path = nullptr;
  int line = 0;
  if (place != Py_None && PyArg_ParseTuple(place, "si", &path, &line)) {
    std::lock_guard<std::mutex> hold(seen_lock);
    ++seen[{op, route}].places[{path, line}];
  }
  PyErr_Clear();
  Py_DECREF(place);
}

}  // namespace
