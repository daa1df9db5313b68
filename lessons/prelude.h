// The headers that most exercises include, precompiled once: parsing them takes half of
// the compile time of a small file. Optional: no code may rely on it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/autograd/engine.h"
#include "engine/ops/copy.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/parallel/primitives.h"
#include "engine/runtime/device_context.h"
#include "lessons/plugin.h"
#include "tracer/record/recorder.h"
