/* The Fourier transform of a random square image: rows, a transposition through all ranks, and rows
 * again. The energy before and after must be the same (Parseval).
 *
 *     mpicc fft2d.c -o fft2d -lm && gerbil-run -n 8 ./fft2d [SIDE [TIMES]]
 *
 * SIDE is a power of two that the number of ranks divides. What comes out is transformed again until it
 * was transformed TIMES times (1).
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

/* In place, of `count` values, a power of two. */
static void transform(double complex *values, int count)
{
    for (int i = 1, j = 0; i < count; i++) {
        int bit = count >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex swapped = values[i];
            values[i] = values[j];
            values[j] = swapped;
        }
    }
    for (int length = 2; length <= count; length <<= 1) {
        double complex step = cexp(-2.0 * PI * I / length);
        for (int start = 0; start < count; start += length) {
            double complex factor = 1.0;
            for (int k = 0; k < length / 2; k++) {
                double complex even = values[start + k];
                double complex odd = values[start + k + length / 2] * factor;
                values[start + k] = even + odd;
                values[start + k + length / 2] = even - odd;
                factor *= step;
            }
        }
    }
}

static double energy(const double complex *values, long count)
{
    double sum = 0.0, all;
    for (long i = 0; i < count; i++)
        sum += creal(values[i] * conj(values[i]));
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int side = argc > 1 ? atoi(argv[1]) : 512, times = argc > 2 ? atoi(argv[2]) : 1;
    if (side < size || side > 16384 || (side & (side - 1)) || side % size) {
        if (rank == 0)
            fprintf(stderr, "fft2d: SIDE must be a power of two, at most 16384, that %d divides\n", size);
        MPI_Finalize();
        return 2;
    }

    int own = side / size;
    long cells = (long)own * side;
    double complex *rows = malloc(sizeof *rows * (size_t)cells);
    double complex *blocks = malloc(sizeof *blocks * (size_t)cells);
    if (!rows || !blocks) {
        fprintf(stderr, "fft2d: not enough memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    srand((unsigned)rank + 1);
    for (long i = 0; i < cells; i++)
        rows[i] = rand() / (double)RAND_MAX;

    double before = energy(rows, cells);
    double begin = MPI_Wtime();
    /* A transformation of n values makes their energy n times as large. */
    double scale = 1.0 / sqrt(side);
    for (int pass = 0; pass < 2 * times; pass++) {
        for (int row = 0; row < own; row++)
            transform(rows + (long)row * side, side);
        /* Each block goes out transposed, column by column of ours. */
        for (int to = 0; to < size; to++)
            for (int column = 0; column < own; column++)
                for (int row = 0; row < own; row++)
                    blocks[((long)to * own + column) * own + row] =
                        rows[(long)row * side + (long)to * own + column];
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, own * own, MPI_C_DOUBLE_COMPLEX,
                     MPI_COMM_WORLD);
        for (int from = 0; from < size; from++)
            for (int row = 0; row < own; row++)
                for (int column = 0; column < own; column++)
                    rows[(long)row * side + (long)from * own + column] =
                        blocks[((long)from * own + row) * own + column] * scale;
    }
    double took = MPI_Wtime() - begin;
    double after = energy(rows, cells);
    int wrong = fabs(after - before) > 1e-9 * before;
    if (rank == 0)
        printf("%d x %d took %.6f s, %s\n", side, side, took,
               wrong ? "and energy was LOST" : "energy is kept");
    MPI_Finalize();
    return wrong;
}
