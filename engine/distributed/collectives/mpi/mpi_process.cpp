#include "engine/distributed/collectives/mpi/mpi_process.h"

#include <atomic>
#include <stdexcept>

namespace lockstep::distributed {

namespace {

/// MPI_Finalize waits for all processes. One that failed does not call it: it exits,
/// and mpirun ends the others.
class MpiProcess {
 public:
  MpiProcess() {
    int threads = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads),
              "MPI_Init_thread");
    if (threads == MPI_THREAD_MULTIPLE) return;
    unfinished_ = true;
    throw std::runtime_error(
        "this MPI does not allow calls from several threads (MPI_THREAD_MULTIPLE); "
        "fix: "
        "use --dist-backend ring, or an MPI that was built with threads");
  }
  ~MpiProcess() {
    if (!unfinished_) MPI_Finalize();
  }
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  static inline std::atomic<bool> unfinished_ = false;
};

}  // namespace

MPI_Comm new_mpi_communicator() {
  static const MpiProcess process;
  MPI_Comm all = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return all;
}

void leave_mpi_unfinished() { MpiProcess::unfinished_ = true; }

std::string mpi_words(int code) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, words, &length);
  return {words, static_cast<size_t>(length)};
}

void check_mpi(int code, const char* name) {
  if (code == MPI_SUCCESS) return;
  throw std::runtime_error(std::string(name) + " failed: " + mpi_words(code));
}

}  // namespace lockstep::distributed
