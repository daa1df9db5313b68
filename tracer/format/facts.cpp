#include "tracer/format/facts.h"

namespace lockstep::tracer {

KernelFacts kernel_facts(const Event& event) {
  KernelFacts facts;
  facts.cpu = event.dur;
  event.args.for_each([&](std::string_view key, const Value& value) {
    if (is_name(key, keys::phase)) {
      facts.phase = value.text();
    } else if (is_name(key, keys::impl)) {
      facts.impl = value.text();
    } else if (is_name(key, keys::queued_us)) {
      facts.queued = value.duration();
    } else if (is_name(key, keys::cpu_us)) {
      facts.cpu = value.duration(event.dur);
    }
  });
  return facts;
}

CopyFacts copy_facts(const Event& event) {
  CopyFacts facts;
  event.args.for_each([&](std::string_view key, const Value& value) {
    if (is_name(key, keys::src)) {
      facts.src = value.port();
    } else if (is_name(key, keys::dst)) {
      facts.dst = value.port();
    } else if (is_name(key, keys::bytes)) {
      facts.bytes = value.integer(kNone);
    } else if (is_name(key, keys::why)) {
      facts.why = value.text();
    } else if (is_name(key, keys::phase)) {
      facts.phase = value.text();
    } else if (is_name(key, keys::tensor)) {
      facts.tensor = value.text();
    } else if (is_name(key, keys::dtype)) {
      facts.dtype = value.text();
    } else if (is_name(key, keys::shape)) {
      facts.shape = value;
    } else if (is_name(key, keys::modelled)) {
      facts.modelled = value.is_true();
    } else if (is_name(key, keys::group)) {
      facts.is_message = true;
      facts.group = value.text();
    } else if (is_name(key, keys::seq)) {
      facts.seq = value.integer(kNone);
    } else if (is_name(key, keys::ring_step)) {
      facts.ring_step = value.integer();
    }
  });
  return facts;
}

CollectiveFacts collective_facts(const Event& event) {
  return collective_facts(event.args);
}

CollectiveFacts collective_facts(const Args& args) {
  CollectiveFacts facts;
  args.for_each([&](std::string_view key, const Value& value) {
    if (is_name(key, keys::why)) {
      facts.why = value.text();
    } else if (is_name(key, keys::phase)) {
      facts.phase = value.text();
    } else if (is_name(key, keys::tensor)) {
      facts.tensor = value.text();
    } else if (is_name(key, keys::collective)) {
      facts.collective = value.text();
    } else if (is_name(key, keys::algorithm)) {
      facts.algorithm = value.text();
    } else if (is_name(key, keys::group)) {
      facts.group = value.text();
    } else if (is_name(key, keys::bytes)) {
      facts.bytes = value.integer();
    } else if (is_name(key, keys::group_size)) {
      facts.group_size = value.integer(kNone);
    } else if (is_name(key, keys::seq)) {
      facts.seq = value.integer(kNone);
    } else if (is_name(key, keys::bucket)) {
      facts.bucket = value.integer(kNone);
    } else if (is_name(key, keys::params)) {
      facts.params = value;
    } else if (is_name(key, keys::imported)) {
      facts.imported = value.is_true();
    }
  });
  return facts;
}

CallFacts call_facts(const Event& event) {
  CallFacts facts;
  event.args.for_each([&](std::string_view key, const Value& value) {
    if (is_name(key, keys::file)) {
      facts.file = value.text();
    } else if (is_name(key, keys::line)) {
      facts.line = value.integer();
    } else if (is_name(key, keys::def_file)) {
      facts.def_file = value.text();
    } else if (is_name(key, keys::def_line)) {
      facts.def_line = value.integer();
    } else if (is_name(key, keys::module)) {
      facts.module = value.text();
    }
  });
  return facts;
}

}  // namespace lockstep::tracer
