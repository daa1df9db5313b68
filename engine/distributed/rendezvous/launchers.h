// The table of launchers: programs that start the processes of a job, and how their
// environment variables tell a process its place in it.
//
//   launcher   started by it   rank, world         local rank, world
//   torchrun   TORCHELASTIC_…  RANK, WORLD_SIZE    LOCAL_RANK, LOCAL_WORLD_SIZE
//   Open MPI   mpirun          OMPI_COMM_WORLD_…   OMPI_COMM_WORLD_LOCAL_…
//   MPICH      mpiexec (PMI)   PMI_RANK, PMI_SIZE  MPI_LOCALRANKID, MPI_LOCALNRANKS
//   Slurm      srun            SLURM_PROCID, …     SLURM_LOCALID, …
//   the environment: RANK and WORLD_SIZE, as Kubeflow's PyTorchJob or a person sets
//   them
//
// A launcher may run inside another (torchrun in an srun task): the first row of the
// table whose variables are set is the innermost and counts. RANK and WORLD_SIZE must
// agree with it, since a script that sets them for one task of several is wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::distributed {

using Variables = std::map<std::string, std::string>;

/// A process's place in the job of its launcher.
struct Launched {
  std::string by;           ///< "Open MPI"
  std::string world_name;   ///< the variable with the number of processes
  int rank = 0, world = 1;  ///< of processes, as the launcher counts them
  std::optional<int> local_rank, local_world;  ///< on this node, if it says so
  std::string host;                            ///< where rank 0 listens; "" if unknown
  int port = 0;                                ///< … 0 if unknown
  bool is_plain = false;  ///< RANK and WORLD_SIZE alone; the address is beside them
  bool port_is_taken = false;  ///< torchrun's own store listens on that port
  std::string job;             ///< equal on all nodes, and for no other job; may be ""

  bool on_one_machine() const { return local_world == world; }
};

/// Returns the process's place according to its launcher, from its variables; nullopt
/// if there is none. Throws std::runtime_error if a variable is not a number, is
/// missing beside another, or contradicts another; the message names both and the fix.
std::optional<Launched> launched_by(const Variables& variables);

/// Returns the names of all variables that launched_by() reads.
const std::vector<std::string>& launcher_variables();

/// Returns where the processes of the job meet: `env://` if MASTER_ADDR and MASTER_PORT
/// say so; a file in `folder` (see job_folder), if all run on one
/// machine; otherwise rank 0's address, with a port computed from the job. Throws
/// std::runtime_error with the fix if nothing says where rank 0 runs.
std::string meeting_place(const Launched& launched, const std::string& folder,
                          const std::string& launcher_process);

/// Returns HOST:PORT of the job's first node, for a launcher of one process per node.
/// Throws as meeting_place() does.
std::string endpoint_of(const Launched& launched);

/// Returns a folder of this user, to which nobody else can write; creates it.
std::string job_folder();

/// Returns a name for the process that started this process's job on this machine: the
/// closest ancestor without `variable`. Equal for all of the job's processes here.
std::string launcher_process(const std::string& variable);

/// Returns the first host of a list such as `node[01-04,7],login`, as Slurm writes it.
std::string first_host(const std::string& hosts);

/// Returns element `index` of a list such as `2(x3),1` (2, 2, 2, 1); nullopt if absent.
std::optional<int> tasks_of_node(const std::string& list, int index);

}  // namespace lockstep::distributed
