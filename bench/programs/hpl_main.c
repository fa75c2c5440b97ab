// HPL alone, out of the sources of HPC Challenge (Debian's package hpcc), whose own program runs
// six other tests before it. Reads hpccinf.txt in the working directory, as `hpcc` does.
#include <hpl.h>

// What HPL calls for an input file that it cannot read; hpcc would choose a size by the memory.
int HPCC_Defaults() { return MPI_Abort(MPI_COMM_WORLD, 2); }

int main(int argc, char** argv) {
  HPL_RuntimeData figures = {0};
  int failed = 0;
  MPI_Init(&argc, &argv);
  HPL_main(argc, argv, &figures, &failed);
  MPI_Finalize();
  return failed;
}
