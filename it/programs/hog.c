/*
 * hog RANK MIB touch|reserve: rank RANK takes so much memory, pages or only addresses, and all ranks
 * stay for a minute.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 64);
    if (rank == atoi(argv[1])) {
        size_t size = (size_t)atoi(argv[2]) << 20;
        int touch = !strcmp(argv[3], "touch");
        char *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED)
            MPI_Abort(MPI_COMM_WORLD, 71);
        if (touch)
            for (size_t at = 0; at < size; at += 4096)
                room[at] = 1;
        printf("rank %d holds %s MiB\n", rank, argv[2]);
        fflush(stdout);
    }
    sleep(60);
    MPI_Finalize();
    return 0;
}
