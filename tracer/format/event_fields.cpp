#include "tracer/format/event_fields.h"

#include "tracer/format/args.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

namespace {

/// Reads the members of `args` one after another.
template <Grammar grammar>
class ArgReader {
 public:
  ArgReader(BasicScanner<grammar>& scan, EventFields& fields)
      : scan_(scan), f_(fields) {}

  void take() {
    switch (scan_.key_letter()) {
      case 'b':
        if (is(keys::bytes)) return number(f_.bytes);
        if (is(keys::by)) return cause(f_.by);
        break;
      case 'c':
        if (is(keys::correlation)) return number(f_.correlation);
        if (is(keys::cpp) || is(keys::cpu_us)) return skip();
        break;
      case 'd':
        if (is(keys::deps)) return token(f_.deps);
        if (is(keys::device)) return number(f_.device);
        if (is(keys::dst)) return number(f_.dst);
        if (is(keys::def_file) || is(keys::def_line)) return skip();
        break;
      case 'f':
        if (is(keys::file)) return skip();
        if (is(keys::fwd)) return number(f_.fwd);
        if (is(keys::waits_for)) return token(f_.waits_for);
        break;
      case 'g':
        if (is(keys::group)) return token(f_.group);
        break;
      case 'i':
        if (is(keys::id)) return number(f_.id);
        if (is(keys::impl)) return skip();
        break;
      case 'k':
        if (is(keys::kind)) return token(f_.kind);
        break;
      case 'l':
        if (is(keys::line)) return skip();
        break;
      case 'm':
        if (is(keys::memory_counters)) return number(f_.memory_counters);
        if (is(keys::module)) return skip();
        break;
      case 'n':
        if (is(keys::name)) return token(f_.text);
        break;
      case 'o':
        if (is(keys::op)) {
          number(f_.op);
          f_.cause = f_.op;
          has_op_ = true;
          return;
        }
        break;
      case 'p':
        if (is(keys::phase)) return token(f_.phase);
        if (is(keys::parent)) return cause(f_.parent);
        break;
      case 'q':
        if (is(keys::queued_us)) return skip();
        break;
      case 'r':
        if (is(keys::rank)) return number(f_.rank);
        if (is(keys::ring_step)) return number(f_.ring_step);
        break;
      case 's':
        if (is(keys::step)) return number(f_.step);
        if (is(keys::stream)) return number(f_.stream);
        if (is(keys::shapes)) return skip();
        if (is(keys::seq)) return number(f_.seq);
        if (is(keys::src)) {
          f_.has_src = true;
          return number(f_.src);
        }
        if (is(keys::src_memory_counters)) return number(f_.src_memory_counters);
        if (is(keys::sort_index)) return number(f_.sort_index);
        break;
      case 'w':
        if (is(keys::why)) return token(f_.why);
        break;
      default:
        break;
    }
    const std::string_view key = scan_.key();
    f_.keys |= key_bit(key);
    f_.unusual |= key.find('\\') != key.npos;
    skip();
  }

 private:
  template <size_t N>
  bool is(const char (&key)[N]) {
    if (!scan_.take_key(key)) return false;
    f_.keys |= key_bit({key, N - 1});
    return true;
  }
  void number(int64_t& field) { field = scan_.integer(-1); }
  void token(std::string_view& field) { field = scan_.value(); }
  void skip() { scan_.value(); }
  void cause(int64_t& field) {
    number(field);
    if (!has_op_) f_.cause = field;
  }

  BasicScanner<grammar>& scan_;
  EventFields& f_;
  bool has_op_ = false;
};

template <Grammar grammar>
void read_args(BasicScanner<grammar>& scan, EventFields& f) {
  f.unusual |= !f.args.empty();
  if (scan.peek() != '{') {
    f.args = scan.value();
    return;
  }
  const char* const begin = scan.at();
  ArgReader<grammar> reader(scan, f);
  size_t count = 0;
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    if (!scan.admits(++count)) return;
    reader.take();
  }
  f.args = {begin, static_cast<size_t>(scan.at() - begin)};
}

/// Treats a name that is spelled with escapes like the same name without them.
void take_escaped(EventFields& f, std::string_view key, std::string_view value) {
  const Json name = Json::parse('"' + std::string(key) + '"', nullptr, false);
  if (name == "ph") f.ph = value;
  if (name == "cat") f.cat = value;
  if (name == "name") f.name = value;
  if (name == "ts") f.ts = value;
  if (name == "dur") f.dur = value;
  if (name == "pid") f.pid = value;
  if (name == "tid") f.tid = value;
  if (name == "id") f.flow_id = value;
  if (name == "args") f.args = value, f.unusual = true;
}

}  // namespace

template <Grammar grammar>
void read_fields(BasicScanner<grammar>& scan, EventFields& f) {
  f = EventFields();
  if (scan.peek() != '{') {
    scan.value();
    return;
  }
  f.begin = scan.at();
  size_t count = 0;
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    if (!scan.admits(++count)) return;
    scan.peek();
    if (scan.take_key("ph")) {
      f.ph = scan.value();
      f.letter = f.ph.size() == 3 && f.ph[0] == '"' ? f.ph[1] : '\0';
    } else if (scan.take_key("args")) {
      read_args(scan, f);
    } else if (scan.take_key("ts")) {
      f.ts = scan.value();
    } else if (scan.take_key("dur")) {
      f.dur = scan.value();
    } else if (scan.take_key("name")) {
      f.name = scan.value();
    } else if (scan.take_key("cat")) {
      f.cat = scan.value();
    } else if (scan.take_key("pid")) {
      f.pid = scan.value();
    } else if (scan.take_key("tid")) {
      f.tid = scan.value();
    } else if (scan.take_key("id")) {
      f.flow_id = scan.value();
    } else {
      const std::string_view key = scan.key();
      const std::string_view value = scan.value();
      if (scan.kStrict && key.find('\\') != key.npos) take_escaped(f, key, value);
    }
  }
}

template void read_fields(BasicScanner<Grammar::strict>& scan, EventFields& f);
template void read_fields(BasicScanner<Grammar::tolerant>& scan, EventFields& f);

}  // namespace lockstep::tracer
