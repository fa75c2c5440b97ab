// Ranks that compute and communicate, step after step: prints steps a second as one JSON line.
//
//   mpi_steps allreduce|halo STEPS ROUNDS
//
// A step is ROUNDS rounds of arithmetic of about 100 us on a core, then an MPI_Allreduce of one
// number, or a kilobyte to and from each of two neighbours. The result is checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kHalo = 128 };  // doubles: 1 KiB

static double compute(int rounds) {
  volatile double sink = 1.0;
  for (int r = 0; r < rounds; ++r) {
    double x = sink;
    for (int i = 0; i < 60000; ++i)
      x = x * 0.999999 + 1e-6;  // a chain: the latency of one FMA or two
    sink = x;
  }
  return sink;
}

static void fail(const char* message) {
  fprintf(stderr, "mpi_steps: %s\n", message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void allreduce_step(int step, int rank, int ranks) {
  long mine = (long)step * ranks + rank, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (sum != (long)step * ranks * ranks + (long)ranks * (ranks - 1) / 2) fail("a wrong sum");
}

static void halo_step(int step, int rank, int ranks) {
  double mine[kHalo], from[2][kHalo];
  int neighbour[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  for (int i = 0; i < kHalo; ++i) mine[i] = (double)step * ranks + rank;
  MPI_Request requests[4];
  for (int side = 0; side < 2; ++side) {
    MPI_Irecv(from[side], kHalo, MPI_DOUBLE, neighbour[side], side, MPI_COMM_WORLD,
              &requests[side]);
    MPI_Isend(mine, kHalo, MPI_DOUBLE, neighbour[side], !side, MPI_COMM_WORLD, &requests[2 + side]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int side = 0; side < 2; ++side) {
    if (from[side][kHalo - 1] != (double)step * ranks + neighbour[side]) fail("a wrong halo");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) fail("usage: mpi_steps allreduce|halo STEPS ROUNDS");
  void (*exchange)(int, int, int) = strcmp(argv[1], "halo") == 0 ? halo_step : allreduce_step;
  int steps = atoi(argv[2]), rounds = atoi(argv[3]);
  for (int step = 0; step < 3; ++step) exchange(step, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    compute(rounds);
    exchange(step, rank, ranks);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime() - start;
  if (rank == 0)
    printf(
        "{\"program\": \"mpi_steps\", \"ranks\": %d, \"seconds\": %.4f, \"value\": %.3f, "
        "\"unit\": \"steps/s\"}\n",
        ranks, seconds, steps / seconds);
  MPI_Finalize();
  return 0;
}
