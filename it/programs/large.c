/* Each rank sends the next one eight mebibytes, and puts as many into its memory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT (1 << 20)

static int rank, size;

/* How many of the numbers are not those of the rank `of`. */
static int wrong(const long *numbers, int of)
{
    int count = 0;
    for (long i = 0; i < COUNT; i++)
        count += numbers[i] != i * size + of;
    return count;
}

int main(int argc, char **argv)
{
    MPI_Win window;
    long *own = malloc(COUNT * sizeof *own), *got = calloc(COUNT, sizeof *got);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (long i = 0; i < COUNT; i++)
        own[i] = i * size + rank;
    MPI_Sendrecv(own, COUNT, MPI_LONG, next, 0, got, COUNT, MPI_LONG, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    printf("%d: sent, %d wrong\n", rank, wrong(got, before));
    for (long i = 0; i < COUNT; i++)
        got[i] = 0;
    MPI_Win_create(got, COUNT * sizeof *got, sizeof *got, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(own, COUNT, MPI_LONG, next, 0, COUNT, MPI_LONG, window);
    MPI_Win_fence(0, window);
    printf("%d: put, %d wrong\n", rank, wrong(got, before));
    MPI_Win_free(&window);
    MPI_Finalize();
    free(own);
    free(got);
    return 0;
}
