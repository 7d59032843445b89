/* Pi as the area under 4 / (1 + x^2) from 0 to 1, by the midpoint rule. The strips are dealt out to the
 * ranks in turn, and rank 0 adds up the parts.
 *
 *     mpicc cpi.c -o cpi && gerbil-run -n 8 ./cpi [STRIPS]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, length;
    char host[MPI_MAX_PROCESSOR_NAME];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    printf("rank %d of %d runs on %s\n", rank, size, host);
    fflush(stdout);

    long strips = argc > 1 ? atol(argv[1]) : 10000000;
    if (strips <= 0) {
        if (rank == 0)
            fprintf(stderr, "cpi: STRIPS must be a positive number\n");
        MPI_Finalize();
        return 2;
    }

    double begin = MPI_Wtime();
    double width = 1.0 / (double)strips;
    double part = 0.0;
    for (long strip = rank; strip < strips; strip += size) {
        double x = width * ((double)strip + 0.5);
        part += 4.0 / (1.0 + x * x);
    }
    part *= width;

    double pi;
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        /* Sixteen digits are what a double holds. */
        printf("pi is about %.16f, off by %.1e\n", pi, fabs(pi - 3.14159265358979323846));
        printf("%ld strips took %.6f s\n", strips, MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return 0;
}
