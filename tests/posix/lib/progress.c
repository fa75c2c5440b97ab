// A message library of one message, the turn: polled by functions with the names of UCX's and
// MPI's, which are called as other objects call them, through the procedure linkage table.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static uint32_t turn, polls;

static int has_come(const void* mine) {
  __atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED);  // so no round of the poll repeats
  return __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == *(const uint32_t*)mine;
}

EXPORTED unsigned ucp_worker_progress(void* worker) { return (unsigned)has_come(worker); }
EXPORTED int MPI_Test(void* request, int* flag, void* status) {
  (void)status;
  *flag = has_come(request);
  return 0;
}
EXPORTED int PMPI_Request_get_status(void* request, int* flag, void* status) {
  return MPI_Test(request, flag, status);
}
// As where no request is active: all have come, and none.
EXPORTED int PMPI_Testany(int count, void* requests, int* index, int* flag, void* status) {
  (void)status;
  *flag = 1;
  *index = count == 1 && has_come(requests) ? 0 : -32766;
  return 0;
}
EXPORTED int MPI_Testall(int count, void* requests, int* flag, void* statuses) {
  (void)statuses;
  *flag = count == 1 && has_come(requests);
  return 0;
}
EXPORTED int MPI_Testsome(int count, void* requests, int* came, int* indices, void* statuses) {
  (void)statuses;
  *came = count == 1 && has_come(requests);
  *indices = 0;
  return 0;
}
EXPORTED int MPI_Iprobe(int source, int tag, void* communicator, int* flag, void* status) {
  (void)status;
  *flag = source == 0 && tag == 0 && has_come(communicator);
  return 0;
}
EXPORTED int MPI_Improbe(int source, int tag, void* communicator, int* flag, void* message,
                         void* status) {
  (void)message;
  return MPI_Iprobe(source, tag, communicator, flag, status);
}

static int polled_ucx(uint32_t mine) { return (int)ucp_worker_progress(&mine); }
static int polled_test(uint32_t mine) {
  int flag;
  return MPI_Test(&mine, &flag, NULL) == 0 && flag;
}
static int polled_status(uint32_t mine) {
  int flag;
  return PMPI_Request_get_status(&mine, &flag, NULL) == 0 && flag;
}
static int polled_testany(uint32_t mine) {
  int index, flag;
  return PMPI_Testany(1, &mine, &index, &flag, NULL) == 0 && flag && index == 0;
}
static int polled_testall(uint32_t mine) {
  int flag;
  return MPI_Testall(1, &mine, &flag, NULL) == 0 && flag;
}
static int polled_testsome(uint32_t mine) {
  int came, index;
  return MPI_Testsome(1, &mine, &came, &index, NULL) == 0 && came == 1;
}
static int polled_iprobe(uint32_t mine) {
  int flag;
  return MPI_Iprobe(0, 0, &mine, &flag, NULL) == 0 && flag;
}
static int polled_improbe(uint32_t mine) {
  int flag;
  return MPI_Improbe(0, 0, &mine, &flag, NULL, NULL) == 0 && flag;
}

static const struct {
  const char* name;
  int (*polled)(uint32_t mine);
} functions[] = {{"ucp_worker_progress", polled_ucx},
                 {"MPI_Test", polled_test},
                 {"PMPI_Request_get_status", polled_status},
                 {"PMPI_Testany", polled_testany},
                 {"MPI_Testall", polled_testall},
                 {"MPI_Testsome", polled_testsome},
                 {"MPI_Iprobe", polled_iprobe},
                 {"MPI_Improbe", polled_improbe}};

// False if it does not know the function.
int take_turn(const char* function, uint32_t mine) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (strcmp(functions[i].name, function)) continue;
    while (!functions[i].polled(mine)) continue;
    __atomic_store_n(&turn, mine + 1, __ATOMIC_RELEASE);
    return 1;
  }
  return 0;
}
