#include "lessons/machine/locks.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <utility>

namespace lockstep::lessons {
namespace {

thread_local std::vector<LockCall> noted;
thread_local std::function<void()> action_after_unlock;

int lock_noted(pthread_mutex_t* mutex) {
  noted.push_back({LockCall::Kind::lock, mutex});
  return pthread_mutex_lock(mutex);
}

int unlock_noted(pthread_mutex_t* mutex) {
  const int result = pthread_mutex_unlock(mutex);
  noted.push_back({LockCall::Kind::unlock, mutex});
  if (action_after_unlock) action_after_unlock();
  return result;
}

void notify_one_noted(std::condition_variable* condition) {
  noted.push_back({LockCall::Kind::notify});
  condition->notify_one();
}

void notify_all_noted(std::condition_variable* condition) {
  noted.push_back({LockCall::Kind::notify});
  condition->notify_all();
}

struct Replacement {
  const char* name;
  void* function;
};

const Replacement kReplacements[] = {
    {"pthread_mutex_lock", reinterpret_cast<void*>(lock_noted)},
    {"pthread_mutex_unlock", reinterpret_cast<void*>(unlock_noted)},
    {"_ZNSt18condition_variable10notify_oneEv",
     reinterpret_cast<void*>(notify_one_noted)},
    {"_ZNSt18condition_variable10notify_allEv",
     reinterpret_cast<void*>(notify_all_noted)}};

/// What a library's dynamic section says about its calls to other libraries.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  struct Table {
    const ElfW(Rela) * begin = nullptr;
    size_t bytes = 0;
  } calls, data;
};

Dynamic dynamic_of(const dl_phdr_info& info) {
  Dynamic found;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto address = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          found.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
          break;
        case DT_STRTAB:
          found.names = reinterpret_cast<const char*>(address);
          break;
        case DT_JMPREL:
          found.calls.begin = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_PLTRELSZ:
          found.calls.bytes = entry->d_un.d_val;
          break;
        case DT_RELA:
          found.data.begin = reinterpret_cast<const ElfW(Rela)*>(address);
          break;
        case DT_RELASZ:
          found.data.bytes = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }
  return found;
}

/// Makes the library's pointer at `place` point to `function`.
void redirect(uintptr_t place, void* function) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(place / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
  std::memcpy(reinterpret_cast<void*>(place), &function, sizeof function);
}

void redirect_all(const Dynamic& library, const Dynamic::Table& table, uintptr_t base) {
  if (!library.symbols || !library.names) return;
  for (size_t i = 0; i < table.bytes / sizeof *table.begin; ++i) {
    const auto& entry = table.begin[i];
    const size_t symbol = ELF64_R_SYM(entry.r_info);
    if (symbol == 0 || entry.r_addend != 0) continue;
    const char* name = library.names + library.symbols[symbol].st_name;
    for (const Replacement& one : kReplacements) {
      if (std::strcmp(name, one.name) == 0) {
        redirect(base + entry.r_offset, one.function);
      }
    }
  }
}

int redirect_if_named(dl_phdr_info* info, size_t, void* library) {
  if (*static_cast<const std::string*>(library) != info->dlpi_name) return 0;
  const Dynamic dynamic = dynamic_of(*info);
  redirect_all(dynamic, dynamic.calls, info->dlpi_addr);
  redirect_all(dynamic, dynamic.data, info->dlpi_addr);
  return 1;
}

}  // namespace

void note_locks(const std::string& library) {
  std::string name = library;
  dl_iterate_phdr(redirect_if_named, &name);
}

bool locks(const std::vector<LockCall>& call) {
  return std::ranges::count(call, LockCall::Kind::lock, &LockCall::kind) > 0;
}

bool notifies_only_before_lock(const std::vector<LockCall>& call) {
  const auto lock = std::ranges::find(call, LockCall::Kind::lock, &LockCall::kind);
  const auto notifies = [](const LockCall& one) {
    return one.kind == LockCall::Kind::notify;
  };
  return std::any_of(call.begin(), lock, notifies) &&
         std::none_of(lock, call.end(), notifies);
}

bool share_a_mutex(const std::vector<LockCall>& one,
                   const std::vector<LockCall>& other) {
  return std::ranges::any_of(one, [&](const LockCall& locked) {
    return locked.mutex && std::ranges::count(other, locked.mutex, &LockCall::mutex);
  });
}

std::vector<LockCall> take_noted_locks() { return std::exchange(noted, {}); }

void after_each_unlock(std::function<void()> action) {
  action_after_unlock = std::move(action);
}

}  // namespace lockstep::lessons
