// The simulated device `flagos`: PrivateUse1 whose memory and kernels are the CPU's.
//
// A tensor on it has a storage whose context is a Block, which holds a CPU storage over the same
// bytes. One boxed kernel, `execute`, serves every operator: it looks at each argument as a CPU
// tensor (nothing is copied), calls the CPU's kernel and puts what comes back on the device.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace {

using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;
using c10::Device;
using c10::DeviceIndex;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
constexpr int kMaxDevices = 16;

// ---- devices and memory --------------------------------------------------------------------

std::atomic<int> device_count{1};
thread_local DeviceIndex current_device = 0;
std::atomic<int64_t> allocated[kMaxDevices];
std::atomic<int64_t> peak[kMaxDevices];
std::atomic<int64_t> blocks_made[kMaxDevices];
std::atomic<int64_t> blocks_freed[kMaxDevices];

void check_index(int64_t index) {
  TORCH_CHECK(index >= 0 && index < device_count, "invalid device ordinal ", index, ": there ",
              device_count == 1 ? "is " : "are ", device_count.load(), " flagos device",
              device_count == 1 ? "" : "s");
}

// What a storage on the device holds: the CPU's storage over the same bytes.
struct Block {
  c10::Storage cpu;
  int64_t nbytes;
  DeviceIndex device;
};

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  allocated[block->device] -= block->nbytes;
  ++blocks_freed[block->device];
  delete block;
}

c10::DataPtr block_over(c10::Storage cpu, DeviceIndex device) {
  auto nbytes = static_cast<int64_t>(cpu.nbytes());
  void* data = cpu.mutable_data();
  ++blocks_made[device];
  int64_t now = allocated[device] += nbytes;
  int64_t seen = peak[device];
  while (seen < now && !peak[device].compare_exchange_weak(seen, now)) {
  }
  return {data, new Block{std::move(cpu), nbytes, device}, &free_block, Device(kDevice, device)};
}

c10::Storage cpu_storage(size_t nbytes) {
  auto* allocator = c10::GetAllocator(c10::DeviceType::CPU);
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes, allocator->allocate(nbytes), allocator, true);
}

struct FlagosAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    return block_over(cpu_storage(nbytes), current_device);
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};
FlagosAllocator device_allocator;
REGISTER_ALLOCATOR(kDevice, &device_allocator)

Block& block_of(const c10::Storage& storage) {
  const auto& data = storage.data_ptr();
  TORCH_CHECK(data.get_deleter() == &free_block, "flagos: a storage without memory");
  return *static_cast<Block*>(data.get_context());
}

c10::Storage storage_over(c10::Storage cpu, DeviceIndex device) {
  size_t nbytes = cpu.nbytes();
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes,
                                               block_over(std::move(cpu), device),
                                               &device_allocator, true);
}

// The CPU's storage may have been resized below the device's: follow it.
void follow(const c10::Storage& storage, const c10::Storage& cpu) {
  auto* impl = storage.unsafeGetStorageImpl();
  if (impl->nbytes() == cpu.nbytes() && impl->data() == cpu.data()) return;
  auto device = impl->device().index();
  impl->set_data_ptr_noswap(block_over(cpu, device));
  impl->set_nbytes(cpu.nbytes());
}

// Pinned memory: ordinary memory whose addresses are remembered.
std::mutex pinned_lock;
std::map<const char*, size_t> pinned_ranges;

struct Pinned {
  c10::DataPtr data;
};

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    auto data = c10::GetAllocator(c10::DeviceType::CPU)->allocate(nbytes);
    void* start = data.get();
    if (start != nullptr) {
      std::lock_guard<std::mutex> hold(pinned_lock);
      pinned_ranges[static_cast<char*>(start)] = nbytes;
    }
    auto* context = new Pinned{std::move(data)};
    return {start, context, &release, Device(c10::DeviceType::CPU)};
  }
  static void release(void* context) {
    auto* pinned = static_cast<Pinned*>(context);
    {
      std::lock_guard<std::mutex> hold(pinned_lock);
      pinned_ranges.erase(static_cast<const char*>(pinned->data.get()));
    }
    delete pinned;
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
};
PinnedAllocator pinned_allocator;

bool is_pinned(const void* data) {
  std::lock_guard<std::mutex> hold(pinned_lock);
  auto after = pinned_ranges.upper_bound(static_cast<const char*>(data));
  if (after == pinned_ranges.begin()) return false;
  auto& [start, nbytes] = *--after;
  return static_cast<const char*>(data) < start + nbytes;
}

// ---- random numbers ------------------------------------------------------------------------

// The generator of the device draws from one of the CPU. The default ones draw from the CPU's
// default one, so that a program draws the numbers here that it draws on the CPU.
struct FlagosGenerator final : c10::GeneratorImpl {
  explicit FlagosGenerator(DeviceIndex device, at::Generator source)
      : c10::GeneratorImpl(Device(kDevice, device), DispatchKeySet(DispatchKey::PrivateUse1)),
        cpu(std::move(source)) {}
  void set_current_seed(uint64_t seed) override { cpu.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { cpu.set_offset(offset); }
  uint64_t get_offset() const override { return cpu.get_offset(); }
  uint64_t current_seed() const override { return cpu.current_seed(); }
  uint64_t seed() override { return cpu.seed(); }
  void set_state(const c10::TensorImpl& state) override {
    cpu.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return cpu.unsafeGetGeneratorImpl()->get_state();
  }
  FlagosGenerator* clone_impl() const override {
    return new FlagosGenerator(device().index(), cpu.clone());
  }
  static c10::DeviceType device_type() { return kDevice; }
  at::Generator cpu;
};

at::Generator default_generator(DeviceIndex index) {
  static std::vector<at::Generator> all = [] {
    std::vector<at::Generator> made;
    for (int i = 0; i < kMaxDevices; ++i)
      made.push_back(
          at::make_generator<FlagosGenerator>(i, at::detail::getDefaultCPUGenerator()));
    return made;
  }();
  if (index < 0) index = current_device;
  check_index(index);
  return all[index];
}

// ---- streams and events --------------------------------------------------------------------

thread_local c10::StreamId current_stream[kMaxDevices];
std::atomic<c10::StreamId> last_stream{0};

double now_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Copies to the host that were asked for with non_blocking=True in the asynchronous mode: their
// bytes arrive when something waits for the device.
std::atomic<bool> asynchronous{false};
std::mutex pending_lock;
std::vector<std::pair<Tensor, Tensor>> pending;  // to, from: both of the CPU

void wait_for_device() {
  std::vector<std::pair<Tensor, Tensor>> due;
  {
    std::lock_guard<std::mutex> hold(pending_lock);
    due.swap(pending);
  }
  if (due.empty()) return;
  at::AutoDispatchBelowADInplaceOrView below;
  for (auto& [to, from] : due) to.copy_(from);
}

struct FlagosGuard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kDevice;
  c10::DeviceType type() const override { return kDevice; }
  Device exchangeDevice(Device device) const override {
    auto before = getDevice();
    setDevice(device);
    return before;
  }
  Device getDevice() const override { return {kDevice, current_device}; }
  void setDevice(Device device) const override {
    if (!device.has_index()) return;
    check_index(device.index());
    current_device = device.index();
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.has_index()) current_device = device.index();
  }
  c10::Stream getStream(Device device) const override {
    auto index = device.has_index() ? device.index() : current_device;
    return c10::Stream(c10::Stream::UNSAFE, Device(kDevice, index), current_stream[index]);
  }
  c10::Stream getDefaultStream(Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device.has_index() ? device : getDevice());
  }
  c10::Stream getStreamFromGlobalPool(Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(Device device, int) const override {
    return c10::Stream(c10::Stream::UNSAFE, device.has_index() ? device : getDevice(),
                       ++last_stream);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    auto before = getStream(stream.device());
    current_stream[stream.device_index()] = stream.id();
    return before;
  }
  void destroyEvent(void* event, DeviceIndex) const noexcept override {
    delete static_cast<double*>(event);
  }
  void record(void** event, const c10::Stream&, DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new double;
    *static_cast<double*>(*event) = now_ms();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  DeviceIndex deviceCount() const noexcept override {
    return static_cast<DeviceIndex>(device_count.load());
  }
  c10::DeviceCapability getDeviceCapability(Device) const override { return {}; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { wait_for_device(); }
  void synchronizeEvent(void*) const override { wait_for_device(); }
  double elapsedTime(void* first, void* second, DeviceIndex) const override {
    TORCH_CHECK(first && second, "Both events must be recorded before calculating elapsed time.");
    return *static_cast<double*>(second) - *static_cast<double*>(first);
  }
  // synchronizeDevice is left out, as in Torch-FL: torch.accelerator.synchronize() raises.
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, FlagosGuard)

struct FlagosHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count > 0; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  void init() const override {}
  DeviceIndex deviceCount() const override { return static_cast<DeviceIndex>(device_count.load()); }
  void setCurrentDevice(DeviceIndex index) const override {
    check_index(index);
    current_device = index;
  }
  DeviceIndex getCurrentDevice() const override { return current_device; }
  DeviceIndex exchangeDevice(DeviceIndex index) const override {
    auto before = current_device;
    setCurrentDevice(index);
    return before;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override {
    return index < 0 ? current_device : exchangeDevice(index);
  }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  Device getDeviceFromPtr(void*) const override { return {kDevice, current_device}; }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    thread_local at::Generator last;
    return last = default_generator(index);
  }
  at::Generator getNewGenerator(DeviceIndex index) const override {
    return at::make_generator<FlagosGenerator>(index < 0 ? current_device : index,
                                               at::detail::createCPUGenerator());
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t nbytes) const override {
    auto cpu = cpu_storage(nbytes);
    auto kept = std::min(nbytes, storage.nbytes());
    if (kept > 0) std::memcpy(cpu.mutable_data(), storage.data(), kept);
    follow(storage, cpu);
  }
};
FlagosHooks hooks;

// ---- what is observed ----------------------------------------------------------------------

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

// ---- the one kernel ------------------------------------------------------------------------

struct Given {
  Tensor device;  // the argument, on flagos
  Tensor cpu;     // the same bytes, as the CPU's kernel sees them
  bool written;
};

Tensor seen_from_cpu(const Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      tensor.has_storage() && tensor.layout() == c10::kStrided,
      "flagos: tensors with the layout ", tensor.layout(), " are not supported");
  auto* from = tensor.unsafeGetTensorImpl();
  auto view = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(block_of(tensor.storage()).cpu),
      DispatchKeySet(DispatchKey::CPU), tensor.dtype());
  auto* to = view.unsafeGetTensorImpl();
  to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
  if (from->is_wrapped_number()) to->set_wrapped_number(true);
  if (tensor.is_conj()) view._set_conj(true);
  if (tensor.is_neg()) view._set_neg(true);
  return view;
}

Tensor on_device(const c10::Storage& storage, const Tensor& cpu) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), DispatchKeySet(DispatchKey::PrivateUse1), cpu.dtype());
  auto* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
  if (cpu.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (cpu.is_conj()) made._set_conj(true);
  if (cpu.is_neg()) made._set_neg(true);
  return made;
}

// A view of a tensor on the device: it shares the storage, and the keys, since a view of a tensor
// with a history made in inference mode has one too.
Tensor view_of(const Tensor& base, const Tensor& cpu) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW,
                                                       c10::Storage(base.storage()),
                                                       base.key_set(), cpu.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(),
                                                    cpu.storage_offset());
  made._set_conj(cpu.is_conj());
  made._set_neg(cpu.is_neg());
  return made;
}

// Whether an operator takes a tensor of the CPU beside those of the device, as CUDA's do.
bool may_be_on_cpu(const std::string& op, const std::string& argument) {
  static const std::unordered_set<std::string> any = {
      "aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize", "aten::is_pinned",
      "aten::set_"};
  static const std::unordered_set<std::string> indexed = {
      "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_",
      "aten::_unsafe_index", "aten::_unsafe_index_put"};
  if (any.count(op) != 0) return true;
  if (argument == "indices") return indexed.count(op) != 0;
  return argument == "lengths" || argument == "scalars" || argument == "batch_sizes";
}

struct Call {
  const c10::OperatorHandle& op;
  std::vector<Given> given;
  std::unordered_set<c10::TensorImpl*> untouched;  // arguments that are on the CPU
  c10::optional<Device> device;
  const char* misplaced = nullptr;
  bool results_on_cpu = false;

  Tensor enter(const Tensor& tensor, const c10::Argument& argument) {
    if (!tensor.defined()) return tensor;
    if (tensor.device().type() == kDevice) {
      if (!device) device = tensor.device();
      TORCH_CHECK(
          *device == tensor.device() || may_be_on_cpu(op.schema().name(), argument.name()),
          "Expected all tensors to be on the same device, but found at least two devices, ",
          *device, " and ", tensor.device(), "!");
      auto* info = argument.alias_info();
      given.push_back({tensor, seen_from_cpu(tensor), info != nullptr && info->isWrite()});
      return given.back().cpu;
    }
    untouched.insert(tensor.unsafeGetTensorImpl());
    if (tensor.dim() > 0 && !may_be_on_cpu(op.schema().name(), argument.name()))
      misplaced = argument.name().c_str();
    return tensor;
  }

  void enter(IValue& value, const c10::Argument& argument) {
    if (value.isTensor()) {
      value = enter(value.toTensor(), argument);
    } else if (value.isTensorList()) {
      auto list = value.toTensorVector();
      for (auto& tensor : list) tensor = enter(tensor, argument);
      value = c10::List<Tensor>(std::move(list));
    } else if (value.isOptionalTensorList()) {
      c10::List<c10::optional<Tensor>> list;
      for (c10::optional<Tensor> tensor : value.toOptionalTensorList())
        list.push_back(tensor ? c10::optional<Tensor>(enter(*tensor, argument)) : tensor);
      value = std::move(list);
    } else if (value.isDevice()) {
      auto wanted = value.toDevice();
      if (wanted.type() == kDevice) {
        device = wanted.has_index() ? wanted : Device(kDevice, current_device);
        check_index(device->index());
      } else {
        results_on_cpu = true;
      }
      value = Device(c10::DeviceType::CPU);
    } else if (value.isGenerator()) {
      auto generator = value.toGenerator();
      if (generator.defined() && generator.device().type() == kDevice)
        value = static_cast<FlagosGenerator*>(generator.unsafeGetGeneratorImpl())->cpu;
      else if (generator.defined())
        TORCH_CHECK(false, "Expected a '", Device(kDevice).str(),
                    "' device type for generator but found '", generator.device().type(), "'");
    }
  }

  void settle() {
    for (auto& [tensor, cpu, written] : given) {
      if (!written) continue;
      follow(tensor.storage(), cpu.storage());
      auto* impl = tensor.unsafeGetTensorImpl();
      if (impl->sizes() != cpu.sizes() || impl->strides() != cpu.strides() ||
          impl->storage_offset() != cpu.storage_offset())
        impl->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
    }
  }

  Tensor leave(const Tensor& result,
                   std::unordered_map<c10::StorageImpl*, c10::Storage>& made) {
    if (!result.defined()) return result;
    auto* impl = result.unsafeGetTensorImpl();
    for (auto& one : given)
      if (one.cpu.unsafeGetTensorImpl() == impl) return one.device;
    if (results_on_cpu || untouched.count(impl) != 0) return result;
    TORCH_CHECK_NOT_IMPLEMENTED(
        result.has_storage() && result.layout() == c10::kStrided && !result.is_quantized(),
        "Could not run '", op.schema().name(), "' with arguments from the 'SparsePrivateUse1' or "
        "'QuantizedPrivateUse1' backend: flagos has dense tensors only.");
    auto* storage = result.storage().unsafeGetStorageImpl();
    for (auto& one : given)
      if (block_of(one.device.storage()).cpu.unsafeGetStorageImpl() == storage)
        return view_of(one.device, result);
    auto& own = made[storage];
    if (!own) {
      auto index = device ? device->index() : current_device;
      own = storage_over(result.storage(), index);
    }
    return on_device(own, result);
  }
};

void run(const c10::OperatorHandle& op, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  size_t first = stack->size() - arguments.size();
  Call call{op};
  for (size_t i = 0; i < arguments.size(); ++i) call.enter((*stack)[first + i], arguments[i]);
  TORCH_CHECK(
      call.misplaced == nullptr || call.given.empty(),
      "Expected all tensors to be on the same device, but found at least two devices, ",
      call.device.value_or(Device(kDevice, 0)), " and cpu! (when checking argument ",
      call.misplaced == nullptr ? "" : call.misplaced, " of ", op.schema().name(), ")");
  {
    at::AutoDispatchBelowADInplaceOrView below;
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
  }
  call.settle();
  std::unordered_map<c10::StorageImpl*, c10::Storage> made;
  size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = call.leave(value.toTensor(), made);
    } else if (value.isTensorList()) {
      auto list = value.toTensorVector();
      for (auto& tensor : list) tensor = call.leave(tensor, made);
      value = c10::List<Tensor>(std::move(list));
    }
  }
}

void observed(const c10::OperatorHandle& op, Stack* stack, const char* route) {
  if (!observing) return run(op, stack);
  double start = now_ms();
  try {
    run(op, stack);
  } catch (const std::exception& error) {
    auto* known = dynamic_cast<const c10::Error*>(&error);
    observe(name_of(op), route, now_ms() - start,
            known != nullptr ? known->what_without_backtrace() : error.what());
    throw;
  }
  observe(name_of(op), route, now_ms() - start, nullptr);
}

void execute(const c10::OperatorHandle& op, Stack* stack) { observed(op, stack, "native"); }

void execute_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  observed(op, stack, "cpu_fallback");
}

void execute_round_trip(const c10::OperatorHandle& op, Stack* stack) {
  observed(op, stack, "cpu_roundtrip");
}

// A claimed operator without a kernel raises: it does not fall back.
void refuse(const c10::OperatorHandle& op, Stack*) {
  auto message = name_of(op) + ": backend not registered";
  if (observing) observe(name_of(op), "raises", 0, message.c_str());
  TORCH_CHECK(false, message);
}

void read_back(const c10::OperatorHandle& op, Stack* stack) {
  wait_for_device();
  observed(op, stack, "runtime");
}

// ---- what is written by hand ---------------------------------------------------------------

Device place_of(c10::optional<Device> device) {
  auto place = device.value_or(Device(kDevice));
  if (!place.has_index()) place = Device(kDevice, current_device);
  check_index(place.index());
  return place;
}

Tensor empty_memory_format(IntArrayRef size, c10::optional<ScalarType> dtype,
                               c10::optional<at::Layout>, c10::optional<Device> device,
                               c10::optional<bool>, c10::optional<at::MemoryFormat> format) {
  c10::DeviceGuard guard(place_of(device));
  return at::detail::empty_generic(size, &device_allocator, DispatchKeySet(DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride,
                         c10::optional<ScalarType> dtype, c10::optional<at::Layout>,
                         c10::optional<Device> device, c10::optional<bool>) {
  c10::DeviceGuard guard(place_of(device));
  return at::detail::empty_strided_generic(size, stride, &device_allocator,
                                           DispatchKeySet(DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

Tensor& copy_(Tensor& self, const Tensor& from, bool non_blocking) {
  bool here = self.device().type() == kDevice, there = from.device().type() == kDevice;
  auto to = here ? seen_from_cpu(self) : self;
  auto source = there ? seen_from_cpu(from) : from;
  at::AutoDispatchBelowADInplaceOrView below;
  if (asynchronous && there && !here) {
    if (non_blocking) {
      std::lock_guard<std::mutex> hold(pending_lock);
      pending.emplace_back(to, source.clone());
      return self;
    }
    wait_for_device();
  }
  double start = observing ? now_ms() : 0;
  to.copy_(source);
  if (observing) observe("copy_", "runtime", now_ms() - start, nullptr);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& to, bool non_blocking) {
  auto target = to;
  return copy_(target, self, non_blocking);
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
  auto target = to;
  target.resize_(self.sizes());
  return copy_(target, self, false);
}

Tensor& set_storage(Tensor& self, at::Storage source, int64_t offset,
                        IntArrayRef size, IntArrayRef stride) {
  auto* impl = self.unsafeGetTensorImpl();
  TORCH_CHECK(source.device() == self.device(), "Attempted to set the storage of a tensor on device \"",
              self.device(), "\" to a storage on different device \"", source.device(), "\"");
  auto needed = at::detail::computeStorageNbytes(size, stride, self.dtype().itemsize(), offset);
  if (needed > source.nbytes()) hooks.resizePrivateUse1Bytes(source, needed);
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_sizes_and_strides(size, stride, offset);
  return self;
}

Tensor& set_whole_storage(Tensor& self, at::Storage source) {
  auto count = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, {count}, {1});
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(),
                     source.strides());
}

Tensor& set_empty(Tensor& self) {
  return set_storage(self, storage_over(cpu_storage(0), self.device().index()), 0, {0}, {1});
}

void record_stream(Tensor&, at::Stream) {}

Tensor zeros(IntArrayRef size, c10::optional<ScalarType> dtype,
                 c10::optional<at::Layout> layout, c10::optional<Device> device,
                 c10::optional<bool> pin) {
  return at::zeros(size, dtype, layout, place_of(device), pin);
}

// ATen sends convolutions of PrivateUse1 to these two.
Tensor convolution(const Tensor& input, const Tensor& weight,
                       const c10::optional<Tensor>& bias, IntArrayRef stride,
                       IntArrayRef padding, IntArrayRef dilation, bool transposed,
                       IntArrayRef output_padding, int64_t groups) {
  for (const auto& other : {weight, bias.value_or(Tensor())})
    TORCH_CHECK(!other.defined() || other.device() == input.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                input.device(), " and ", other.device(), "! (in convolution)");
  double start = observing ? now_ms() : 0;
  at::AutoDispatchBelowADInplaceOrView below;
  auto result = at::convolution(
      seen_from_cpu(input), seen_from_cpu(weight),
      bias && bias->defined() ? c10::optional<Tensor>(seen_from_cpu(*bias)) : c10::nullopt,
      stride, padding, dilation, transposed, output_padding, groups);
  if (observing) observe("convolution_overrideable", "native", now_ms() - start, nullptr);
  return on_device(storage_over(result.storage(), input.device().index()), result);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
    IntArrayRef output_padding, int64_t groups, std::array<bool, 3> mask) {
  double start = observing ? now_ms() : 0;
  at::AutoDispatchBelowADInplaceOrView below;
  int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  auto [a, b, c] = at::convolution_backward(
      seen_from_cpu(grad), seen_from_cpu(input), seen_from_cpu(weight),
      at::OptionalIntArrayRef(IntArrayRef(channels)), stride, padding, dilation, transposed,
      output_padding, groups, mask);
  auto index = input.device().index();
  auto wrap = [index](const Tensor& cpu) {
    return cpu.defined() ? on_device(storage_over(cpu.storage(), index), cpu) : cpu;
  };
  if (observing) observe("convolution_backward_overrideable", "native", now_ms() - start, nullptr);
  return {wrap(a), wrap(b), wrap(c)};
}

// ATen sends the cells of LSTM and GRU on PrivateUse1 to fused operators that the CPU does not have.
// Gates are (batch, 4 * hidden) and (batch, 3 * hidden); bias is there for both or for neither.
c10::optional<Tensor> seen_if_there(const c10::optional<Tensor>& tensor) {
  return tensor && tensor->defined() ? c10::optional<Tensor>(seen_from_cpu(*tensor)) : c10::nullopt;
}

Tensor like(const Tensor& device, const Tensor& cpu) {
  return cpu.defined() ? on_device(storage_over(cpu.storage(), device.device().index()), cpu) : cpu;
}

Tensor with_bias(const Tensor& gates, const c10::optional<Tensor>& bias) {
  auto there = seen_if_there(bias);
  return there ? seen_from_cpu(gates) + *there : seen_from_cpu(gates);
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden,
                                             const Tensor& cx, const c10::optional<Tensor>& a,
                                             const c10::optional<Tensor>& b) {
  at::AutoDispatchBelowADInplaceOrView below;
  auto gates = (with_bias(hidden, b) + with_bias(input, a)).chunk(4, 1);
  auto i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh(), o = gates[3].sigmoid();
  auto cy = f * seen_from_cpu(cx) + i * g;
  return {like(input, o * cy.tanh()), like(input, cy), like(input, at::cat({i, f, g, o}, 1))};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const c10::optional<Tensor>& grad_hy,
                                                      const c10::optional<Tensor>& grad_cy,
                                                      const Tensor& cx, const Tensor& cy,
                                                      const Tensor& kept, bool has_bias) {
  at::AutoDispatchBelowADInplaceOrView below;
  auto gates = seen_from_cpu(kept).chunk(4, 1);
  auto &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  auto c = seen_from_cpu(cx), t = seen_from_cpu(cy).tanh();
  auto gh = seen_if_there(grad_hy).value_or(at::zeros_like(c));
  auto gc = seen_if_there(grad_cy).value_or(at::zeros_like(c)) + gh * o * (1 - t * t);
  auto all = at::cat({gc * g * i * (1 - i), gc * c * f * (1 - f), gc * i * (1 - g * g),
                      gh * t * o * (1 - o)}, 1);
  return {like(cx, all), like(cx, gc * f), like(cx, has_bias ? all.sum(0) : Tensor())};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& hx,
                                    const c10::optional<Tensor>& a,
                                    const c10::optional<Tensor>& b) {
  at::AutoDispatchBelowADInplaceOrView below;
  auto from = with_bias(input, a).chunk(3, 1), back = with_bias(hidden, b).chunk(3, 1);
  auto r = (back[0] + from[0]).sigmoid(), z = (back[1] + from[1]).sigmoid();
  auto n = (from[2] + r * back[2]).tanh(), h = seen_from_cpu(hx);
  return {like(input, (h - n) * z + n), like(input, at::cat({r, z, n, h, back[2]}, 1))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad,
                                                                     const Tensor& kept,
                                                                     bool has_bias) {
  at::AutoDispatchBelowADInplaceOrView below;
  auto parts = seen_from_cpu(kept).chunk(5, 1);
  auto &r = parts[0], &z = parts[1], &n = parts[2], &h = parts[3], &back = parts[4];
  auto g = seen_from_cpu(grad), gn = g * (1 - z) * (1 - n * n), gz = g * (h - n) * z * (1 - z);
  auto gr = gn * back * r * (1 - r);
  auto from = at::cat({gr, gz, gn}, 1), hidden = at::cat({gr, gz, gn * r}, 1);
  return {like(grad, from), like(grad, hidden), like(grad, g * z),
          like(grad, has_bias ? from.sum(0) : Tensor()),
          like(grad, has_bias ? hidden.sum(0) : Tensor())};
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&execute_on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_memory_format);
  m.impl("empty_strided", &empty_strided);
  m.impl("copy_", &copy_);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("set_.source_Storage", &set_whole_storage);
  m.impl("set_.source_Tensor", &set_tensor);
  m.impl("set_", &set_empty);
  m.impl("record_stream", &record_stream);
  m.impl("_efficientzerotensor", &zeros);
  m.impl("_local_scalar_dense", torch::CppFunction::makeFromBoxedFunction<&read_back>());
}

#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FLOAT32_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(FLOAT32)
  AT_FORALL_FP32_SET_OPT_DTYPE(FLOAT32_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(PROMOTE)
}
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

namespace {

torch::Library& claims() {
  static torch::Library library(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, __FILE__,
                                __LINE__);
  return library;
}

// Kernels for what the CPU does not have under that name; a chip has them or not.
const std::map<std::string, std::function<void()>>& own_kernels() {
  static const std::map<std::string, std::function<void()>> all = {
      {"convolution_overrideable",
       [] { claims().impl("convolution_overrideable", &convolution); }},
      {"convolution_backward_overrideable",
       [] { claims().impl("convolution_backward_overrideable", &convolution_backward); }},
      {"_thnn_fused_lstm_cell", [] { claims().impl("_thnn_fused_lstm_cell", &lstm_cell); }},
      {"_thnn_fused_lstm_cell_backward_impl",
       [] { claims().impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward); }},
      {"_thnn_fused_gru_cell", [] { claims().impl("_thnn_fused_gru_cell", &gru_cell); }},
      {"_thnn_fused_gru_cell_backward",
       [] { claims().impl("_thnn_fused_gru_cell_backward", &gru_cell_backward); }},
  };
  return all;
}

// Every operator with a kernel of the CPU's own gets one of the device's own, so that it takes the
// path on the device that it takes on the CPU, and results agree to the bit.
int claim_all() {
  int claimed = 0;
  for (const auto& [name, claim] : own_kernels()) claim();
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    auto op = dispatcher.findSchema(name);
    if (!op || !op->hasKernelForDispatchKey(DispatchKey::CPU)) continue;
    if (op->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) continue;
    auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    claims().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&execute>());
    ++claimed;
  }
  return claimed;
}

// What a chip claims: (operator, route) from its manifest. What it does not claim is left to the
// dispatcher: composites decompose, the rest falls back to the CPU.
int claim_chip(const std::vector<std::pair<std::string, std::string>>& routes) {
  int claimed = 0;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& [op, route] : routes) {
    auto dot = op.find('.');
    c10::OperatorName name("aten::" + op.substr(0, dot),
                           dot == std::string::npos ? "" : op.substr(dot + 1));
    auto known = dispatcher.findSchema(name);  // another torch may not have it
    if (!known || known->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) continue;
    auto own = own_kernels().find(op);
    if (route == "raises")
      claims().impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse>());
    else if (own != own_kernels().end())
      own->second();
    else if (route == "cpu_roundtrip")
      claims().impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&execute_round_trip>());
    else
      claims().impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&execute>());
    ++claimed;
  }
  return claimed;
}

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

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  at::RegisterPrivateUse1HooksInterface(&hooks);
  m.def("claim_all", &claim_all);
  m.def("claim_chip", &claim_chip);
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
  m.def("_synchronize", &wait_for_device);
  m.def("_memory_allocated", [](int index) { return allocated[index].load(); });
  m.def("_memory_peak", [](int index) { return peak[index].load(); });
  m.def("_memory_calls", [](int index) {
    return py::make_tuple(blocks_made[index].load(), blocks_freed[index].load());
  });
  m.def("_reset_peak_memory_stats", [](int index) { peak[index] = allocated[index].load(); });
  m.def("set_asynchronous", [](bool on) {
    if (!on) wait_for_device();
    asynchronous = on;
  });
  m.def("observe", [](bool on, py::object place) {
    observing = on;
    if (!place.is_none()) find_place = place.inc_ref().ptr();
  }, py::arg("on"), py::arg("place") = py::none());
  m.def("take_seen", &take_seen);
}
