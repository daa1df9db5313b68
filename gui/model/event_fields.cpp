#include "gui/model/event_fields.h"

namespace lockstep::gui {

namespace {

/// Takes the next member of `args`, name and value.
void take_arg(Scanner& scan, EventFields& f, bool& has_op) {
  const auto number = [&](int64_t& field) { field = scan.integer(-1); };
  const auto skip = [&] { scan.value(); };
  switch (scan.key_letter()) {
    case 'b':
      if (scan.take_key("bytes")) return number(f.bytes);
      if (!has_op && scan.take_key("by")) return number(f.cause);
      break;
    case 'c':
      if (scan.take_key("correlation")) return number(f.correlation);
      if (scan.take_key("cpp")) return skip();
      if (scan.take_key("cpu_us")) return skip();
      break;
    case 'd':
      if (scan.take_key("deps")) return skip();
      if (scan.take_key("device")) return number(f.device);
      if (scan.take_key("dst")) return number(f.dst);
      if (scan.take_key("def_file")) return skip();
      if (scan.take_key("def_line")) return skip();
      break;
    case 'f':
      if (scan.take_key("file")) return skip();
      break;
    case 'g':
      if (scan.take_key("group")) return void(f.group = scan.value());
      break;
    case 'i':
      if (scan.take_key("id")) return number(f.id);
      if (scan.take_key("impl")) return skip();
      break;
    case 'k':
      if (scan.take_key("kind")) return void(f.kind = scan.value());
      break;
    case 'l':
      if (scan.take_key("line")) return skip();
      break;
    case 'm':
      if (scan.take_key("module")) return skip();
      break;
    case 'n':
      if (scan.take_key("name")) return void(f.text = scan.value());
      break;
    case 'o':
      if (scan.take_key("op")) {
        has_op = true;
        return number(f.cause);
      }
      break;
    case 'p':
      if (scan.take_key("phase")) return void(f.phase = scan.value());
      if (!has_op && scan.take_key("parent")) return number(f.cause);
      break;
    case 'q':
      if (scan.take_key("queued_us")) return skip();
      break;
    case 'r':
      if (scan.take_key("rank")) return number(f.rank);
      if (scan.take_key("ring_step")) return number(f.ring_step);
      break;
    case 's':
      if (scan.take_key("step")) return number(f.step);
      if (scan.take_key("stream")) return number(f.stream);
      if (scan.take_key("shapes")) return skip();
      if (scan.take_key("seq")) return number(f.seq);
      if (scan.take_key("src")) {
        f.has_src = true;
        return number(f.src);
      }
      if (scan.take_key("sort_index")) return number(f.sort_index);
      break;
    case 'w':
      if (scan.take_key("why")) return void(f.why = scan.value());
      break;
    default:
      break;
  }
  scan.key();
  scan.value();
}

void read_args(Scanner& scan, EventFields& f) {
  if (scan.peek() != '{') {
    scan.value();
    return;
  }
  bool has_op = false;
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    take_arg(scan, f, has_op);
  }
}

}  // namespace

EventFields read_fields(Scanner& scan) {
  EventFields f;
  if (scan.peek() != '{') {
    scan.value();
    return f;
  }
  f.begin = scan.at();
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    scan.peek();
    if (scan.take_key("ph")) {
      const std::string_view ph = scan.value();
      if (ph.size() == 3 && ph[0] == '"') f.ph = ph[1];
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
    } else {
      scan.key();
      scan.value();
    }
  }
  return f;
}

}  // namespace lockstep::gui
