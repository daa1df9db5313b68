#include "engine/data/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace lockstep::data {
namespace {

using Kind = PickledValue::Kind;

/// What a name of the fixed list stands for.
enum class Meaning {
  ordered_dict,
  tensor,
  parameter,
  size,
  storage_type,
  bag,
  array,
  array_type,
  dtype,
  encode
};

struct KnownName {
  std::string_view name;
  Meaning meaning;
  StorageType type = {};
  Pickled pickled = Pickled::tensors;
};

// [names]
constexpr std::array kKnownNames{
    KnownName{"collections.OrderedDict", Meaning::ordered_dict},
    KnownName{"torch._utils._rebuild_tensor", Meaning::tensor},
    KnownName{"torch._utils._rebuild_tensor_v2", Meaning::tensor},
    KnownName{"torch._utils._rebuild_parameter", Meaning::parameter},
    KnownName{"torch.Size", Meaning::size},
    KnownName{"torch.HalfStorage", Meaning::storage_type, StorageType::f16},
    KnownName{"torch.BFloat16Storage", Meaning::storage_type, StorageType::bf16},
    KnownName{"torch.FloatStorage", Meaning::storage_type, StorageType::f32},
    KnownName{"torch.DoubleStorage", Meaning::storage_type, StorageType::f64},
    KnownName{"torch.LongStorage", Meaning::storage_type, StorageType::i64},
    KnownName{"torch.IntStorage", Meaning::storage_type, StorageType::i32},
    KnownName{"torch.ShortStorage", Meaning::storage_type, StorageType::i16},
    KnownName{"torch.CharStorage", Meaning::storage_type, StorageType::i8},
    KnownName{"torch.ByteStorage", Meaning::storage_type, StorageType::u8},
    KnownName{"torch.BoolStorage", Meaning::storage_type, StorageType::boolean},
    KnownName{"argparse.Namespace", Meaning::bag},
    KnownName{
        "numpy.core.multiarray._reconstruct", Meaning::array, {}, Pickled::arrays},
    KnownName{
        "numpy._core.multiarray._reconstruct", Meaning::array, {}, Pickled::arrays},
    KnownName{"numpy.ndarray", Meaning::array_type, {}, Pickled::arrays},
    KnownName{"numpy.dtype", Meaning::dtype, {}, Pickled::arrays},
    KnownName{"_codecs.encode", Meaning::encode, {}, Pickled::arrays},
};
// [/names]

[[noreturn]] void refuse_pickle(const std::string& what) {
  throw std::runtime_error(what);
}

/// Returns the bytes whose numbers are the code points of a UTF-8 text below 256.
std::string latin1_of(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
    } else if ((lead & 0xFE) == 0xC2 && i + 1 < text.size() &&
               (static_cast<uint8_t>(text[i + 1]) & 0xC0) == 0x80) {
      const auto next = static_cast<uint8_t>(text[++i]);
      bytes += static_cast<char>((lead & 0x03) << 6 | (next & 0x3F));
    } else {
      refuse_pickle("has bytes that are not encoded as Latin-1");
    }
  }
  return bytes;
}

[[noreturn]] void refuse_damaged_pickle() { refuse_pickle("its pickle is damaged"); }

int64_t name_index(const std::string& name, Pickled pickled) {
  const auto found = std::find_if(
      kKnownNames.begin(), kKnownNames.end(),
      [&](const KnownName& k) { return k.name == name && k.pickled == pickled; });
  if (found == kKnownNames.end()) {
    if (pickled == Pickled::arrays) {
      refuse_pickle(
          fmt::format("contains {}, which is neither an array nor a plain value",
                      printable_text(name)));
    }
    refuse_pickle(fmt::format(
        "contains {}, which is neither a tensor nor a plain value; fix: save only "
        "state_dicts and numbers, or take the weights out with "
        "tools/convert_weights.py",
        printable_text(name)));
  }
  return found - kKnownNames.begin();
}

/// The stack machine.
class Unpickler {
 public:
  Unpickler(std::string_view program, Pickled pickled)
      : program_(program), pickled_(pickled) {}

  Pickle run() {
    while (step()) continue;
    pickle_.root = pop();
    pickle_.bytes = at_;
    return std::move(pickle_);
  }

 private:
  bool step();

  // The program:
  std::string_view take(uint64_t count) {
    if (count > program_.size() - at_) refuse_pickle("its pickle is truncated");
    at_ += count;
    return program_.substr(at_ - count, count);
  }
  template <typename Number>
  Number take() {
    Number number;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::string take_line() {
    const size_t end = program_.find('\n', at_);
    if (end == std::string_view::npos) refuse_pickle("its pickle is truncated");
    std::string line(take(end - at_));
    ++at_;
    return line;
  }
  int64_t take_long() {
    const auto count = take<uint8_t>();
    if (count > 8) refuse_pickle("contains an integer of more than 64 bits");
    const std::string_view bytes = take(count);
    const bool negative = count > 0 && (bytes.back() & 0x80);
    uint64_t value = negative ? ~uint64_t{0} : 0;
    if (count > 0) std::memcpy(&value, bytes.data(), count);
    return static_cast<int64_t>(value);
  }
  double take_real() {  // big-endian
    uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<uint8_t>(c);
    return std::bit_cast<double>(bits);
  }

  // The stack:
  void push(PickledValue value) {
    constexpr size_t kMost = 4 << 20;  // a small program could fill the memory
    if (pickle_.values.size() >= kMost) refuse_pickle("has too many values");
    stack_.push_back(static_cast<uint32_t>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  void push_integer(Kind kind, int64_t integer) { push({kind, integer, 0, {}, {}}); }
  void push_text(uint64_t count) {
    push({Kind::text, 0, 0, std::string(take(count)), {}});
  }
  void push_items(Kind kind, std::vector<uint32_t> items = {}) {
    push({kind, 0, 0, {}, std::move(items)});
  }
  uint32_t top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse_damaged_pickle();
    return stack_.back();
  }
  uint32_t pop() {
    const uint32_t index = top();
    stack_.pop_back();
    return index;
  }
  /// Pops what was pushed since the mark.
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) refuse_damaged_pickle();
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<uint32_t> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<uint32_t> pop_some(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  /// Appends the items to the list or dict on top of the stack.
  void extend(Kind kind, const std::vector<uint32_t>& items) {
    PickledValue& container = pickle_.values[top()];
    if (container.kind != kind) refuse_damaged_pickle();
    if (kind == Kind::dict && items.size() % 2) refuse_damaged_pickle();
    container.items.insert(container.items.end(), items.begin(), items.end());
  }
  void recall(uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) refuse_damaged_pickle();
    stack_.push_back(found->second);
  }

  // What names stand for:
  void push_name(const std::string& module, const std::string& name) {
    push_integer(Kind::name, name_index(module + "." + name, pickled_));
  }
  void push_global() {
    const std::string module = take_line();
    push_name(module, take_line());
  }
  void push_named(const std::vector<uint32_t>& parts) {
    push_name(of_kind(parts[0], Kind::text).text, of_kind(parts[1], Kind::text).text);
  }
  /// Options of a run, whose attributes build() ignores.
  void make_bag(const std::vector<uint32_t>& parts) {
    const auto name = static_cast<size_t>(of_kind(parts[0], Kind::name).integer);
    of_kind(parts[1], Kind::tuple);
    if (kKnownNames[name].meaning != Meaning::bag) refuse_damaged_pickle();
    push_items(Kind::dict);
  }
  /// Returns a text that is copied: together, no more than the program has bytes.
  const std::string& copied_text(uint32_t index) {
    const std::string& text = of_kind(index, Kind::text).text;
    if ((copied_ += text.size()) > program_.size()) refuse_damaged_pickle();
    return text;
  }
  void call();
  void build();
  void load_storage();
  const PickledValue& of_kind(uint32_t index, Kind kind) const {
    if (pickle_.at(index).kind != kind) refuse_damaged_pickle();
    return pickle_.at(index);
  }
  std::vector<int64_t> integers(uint32_t tuple) const {
    std::vector<int64_t> result;
    const auto& items = of_kind(tuple, Kind::tuple).items;
    if (items.size() > 64) refuse_damaged_pickle();  // PyTorch's limit on dims
    for (const uint32_t item : items) {
      result.push_back(of_kind(item, Kind::integer).integer);
    }
    return result;
  }

  std::string_view program_;
  const Pickled pickled_;
  size_t at_ = 0, copied_ = 0;  ///< place; pairs and bytes copied so far
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  ///< the stack's size at each mark
  std::unordered_map<uint64_t, uint32_t> memo_;
};

/// Runs one instruction. Returns false for the last one.
bool Unpickler::step() {
  const auto code = take<uint8_t>();
  switch (code) {
    case 0x80:  // PROTO
      if (take<uint8_t>() > 5) refuse_pickle("has a pickle protocol above 5");
      return true;
    case 0x95:  // FRAME: groups instructions; has no effect
      take(8);
      return true;
    case '.':  // STOP
      return false;
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return true;
    case '0':  // POP
      pop();
      return true;
    case 'N':  // NONE
      push({});
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push_integer(Kind::boolean, code == 0x88);
      return true;
    case 'J':  // BININT
      push_integer(Kind::integer, take<int32_t>());
      return true;
    case 'K':  // BININT1
      push_integer(Kind::integer, take<uint8_t>());
      return true;
    case 'M':  // BININT2
      push_integer(Kind::integer, take<uint16_t>());
      return true;
    case 0x8A:  // LONG1
      push_integer(Kind::integer, take_long());
      return true;
    case 'G':  // BINFLOAT
      push({Kind::real, 0, take_real(), {}, {}});
      return true;
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING (Python 2)
    case 'B':  // BINBYTES
      push_text(take<uint32_t>());
      return true;
    case 0x8C:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING (Python 2)
    case 'C':   // SHORT_BINBYTES
      push_text(take<uint8_t>());
      return true;
    case ')':  // EMPTY_TUPLE
      push_items(Kind::tuple);
      return true;
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      push_items(Kind::tuple, pop_some(code - 0x84));
      return true;
    case 't':  // TUPLE
      push_items(Kind::tuple, pop_to_mark());
      return true;
    case ']':  // EMPTY_LIST
      push_items(Kind::list);
      return true;
    case 'a':  // APPEND
      extend(Kind::list, pop_some(1));
      return true;
    case 'e':  // APPENDS
      extend(Kind::list, pop_to_mark());
      return true;
    case '}':  // EMPTY_DICT
      push_items(Kind::dict);
      return true;
    case 's':  // SETITEM
      extend(Kind::dict, pop_some(2));
      return true;
    case 'u':  // SETITEMS
      extend(Kind::dict, pop_to_mark());
      return true;
    case 'c':  // GLOBAL
      push_global();
      return true;
    case 0x93:  // STACK_GLOBAL
      push_named(pop_some(2));
      return true;
    case 'R':  // REDUCE
      call();
      return true;
    case 0x81:  // NEWOBJ
      make_bag(pop_some(2));
      return true;
    case 'b':  // BUILD
      build();
      return true;
    case 'Q':  // BINPERSID
      load_storage();
      return true;
    case 'q':  // BINPUT
      memo_[take<uint8_t>()] = top();
      return true;
    case 'r':  // LONG_BINPUT
      memo_[take<uint32_t>()] = top();
      return true;
    case 0x94:  // MEMOIZE
      memo_[memo_.size()] = top();
      return true;
    case 'h':  // BINGET
      recall(take<uint8_t>());
      return true;
    case 'j':  // LONG_BINGET
      recall(take<uint32_t>());
      return true;
    default:
      refuse_pickle(fmt::format(
          "its pickle has the instruction 0x{:02X}, which no file of tensors and plain "
          "values needs",
          code));
  }
}

void Unpickler::call() {
  const std::vector<uint32_t> arguments = of_kind(pop(), Kind::tuple).items;
  const KnownName& known =
      kKnownNames[static_cast<size_t>(of_kind(pop(), Kind::name).integer)];
  const auto require = [&](size_t count) {
    if (arguments.size() < count) refuse_damaged_pickle();
  };
  switch (known.meaning) {
    case Meaning::ordered_dict: {
      std::vector<uint32_t> items;
      if (!arguments.empty()) {  // Python 2: a list of pairs
        const auto& pairs = of_kind(arguments[0], Kind::list).items;
        if ((copied_ += pairs.size()) > program_.size()) refuse_damaged_pickle();
        for (const uint32_t pair : pairs) {
          const PickledValue& both = pickle_.at(pair);
          if (both.items.size() != 2) refuse_damaged_pickle();
          items.insert(items.end(), both.items.begin(), both.items.end());
        }
      }
      push_items(Kind::dict, std::move(items));
      return;
    }
    case Meaning::tensor:  // storage, offset, size, stride, requires_grad, hooks
      require(4);
      pickle_.tensors.push_back(
          {static_cast<size_t>(of_kind(arguments[0], Kind::storage).integer),
           of_kind(arguments[1], Kind::integer).integer, integers(arguments[2]),
           integers(arguments[3])});
      push_integer(Kind::tensor, static_cast<int64_t>(pickle_.tensors.size()) - 1);
      return;
    case Meaning::parameter:  // data, requires_grad, hooks
      require(1);
      of_kind(arguments[0], Kind::tensor);
      stack_.push_back(arguments[0]);
      return;
    case Meaning::size:
      require(1);
      of_kind(arguments[0], Kind::tuple);
      stack_.push_back(arguments[0]);
      return;
    case Meaning::array:  // its type, shape and dtype, all of which build() replaces
      push_items(Kind::array);
      return;
    case Meaning::dtype:  // name, and how to copy it
      require(1);
      push({Kind::dtype, 0, 0, copied_text(arguments[0]), {}});
      return;
    case Meaning::encode:  // bytes that Python 3 wrote for Python 2
      require(2);
      if (of_kind(arguments[1], Kind::text).text != "latin1") refuse_damaged_pickle();
      push({Kind::text, 0, 0, latin1_of(copied_text(arguments[0])), {}});
      return;
    case Meaning::bag:
    case Meaning::array_type:
    case Meaning::storage_type:
      refuse_pickle(fmt::format("calls {}, which no such file does", known.name));
  }
}

/// Ignores an object's attributes: those of a state_dict are the versions of its
/// modules (`_metadata`), on which no tensor depends; those of a dtype of one byte say
/// nothing. An array's are its version, shape, dtype, order and bytes.
void Unpickler::build() {
  const uint32_t state = pop();
  PickledValue& object = pickle_.values[top()];
  if (object.kind == Kind::dtype) return;
  if (object.kind != Kind::array) {
    of_kind(top(), Kind::dict);
    return;
  }
  const std::vector<uint32_t>& parts = of_kind(state, Kind::tuple).items;
  if (parts.size() != 5) refuse_damaged_pickle();
  object.items.assign(parts.begin() + 1, parts.end());
}

void Unpickler::load_storage() {
  const std::vector<uint32_t> parts = of_kind(pop(), Kind::tuple).items;
  if (parts.size() < 5 || of_kind(parts[0], Kind::text).text != "storage") {
    refuse_damaged_pickle();
  }
  const KnownName& known =
      kKnownNames[static_cast<size_t>(of_kind(parts[1], Kind::name).integer)];
  if (known.meaning != Meaning::storage_type) refuse_damaged_pickle();
  if (parts.size() > 5 && pickle_.at(parts[5]).kind != Kind::none) {
    refuse_pickle("has storages that are views, as PyTorch 0.1 wrote them");
  }
  const int64_t numel = of_kind(parts[4], Kind::integer).integer;
  if (numel < 0) refuse_damaged_pickle();
  pickle_.storages.push_back({of_kind(parts[2], Kind::text).text, known.type, numel});
  push_integer(Kind::storage, static_cast<int64_t>(pickle_.storages.size()) - 1);
}

}  // namespace

const PickledValue* Pickle::find(const PickledValue& dict, std::string_view key) const {
  if (dict.kind != Kind::dict) return nullptr;
  const PickledValue* found = nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickledValue& name = at(dict.items[i]);
    if (name.kind == Kind::text && name.text == key) found = &at(dict.items[i + 1]);
  }
  return found;
}

Pickle read_pickle(std::string_view program, Pickled pickled) {
  // A ResNet50's checkpoint has 60 kB, a batch of CIFAR-10 31 MB or, as Latin-1, 46 MB.
  const size_t most = pickled == Pickled::tensors ? 4 << 20 : 64 << 20;
  return Unpickler(program.substr(0, most), pickled).run();
}

std::string printable_text(std::string text) {
  for (char& c : text) c = c < ' ' || c > '~' ? '?' : c;
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

}  // namespace lockstep::data
