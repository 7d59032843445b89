/* Pi from points in a square: the share of them that lies within the circle. The points are those of
 * the Halton sequence to the bases 2 and 3, which Hadoop's example `pi` takes too: SAMPLES of them for
 * each rank, one rank's behind the other's.
 *
 *     mpicc pi_mc.c -o pi_mc -lm && gerbil-run -n 8 ./pi_mc [SAMPLES]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS 63

/* One coordinate of the sequence: the index with its digits mirrored at the point. */
struct coordinate {
    int base;
    double value, weights[DIGITS];
    int digits[DIGITS];
};

static void begin_at(struct coordinate *at, int base, long index)
{
    double weight = 1.0;
    at->base = base;
    at->value = 0.0;
    for (int i = 0; i < DIGITS; i++) {
        weight /= base;
        at->weights[i] = weight;
        at->digits[i] = (int)(index % base);
        index /= base;
        at->value += at->digits[i] * weight;
    }
}

static double next(struct coordinate *at)
{
    for (int i = 0; i < DIGITS; i++) {
        at->digits[i]++;
        at->value += at->weights[i];
        if (at->digits[i] < at->base)
            break;
        at->value -= (i == 0 ? 1.0 : at->weights[i - 1]);
        at->digits[i] = 0;
    }
    return at->value;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long samples = argc > 1 ? atol(argv[1]) : 1000000;
    if (samples < 1) {
        if (rank == 0)
            fprintf(stderr, "pi_mc: SAMPLES must be a positive number\n");
        MPI_Finalize();
        return 2;
    }

    double begin = MPI_Wtime();
    struct coordinate across, up;
    begin_at(&across, 2, rank * samples);
    begin_at(&up, 3, rank * samples);
    long inside = 0, all;
    for (long i = 0; i < samples; i++) {
        double x = next(&across) - 0.5, y = next(&up) - 0.5;
        inside += x * x + y * y <= 0.25;
    }
    MPI_Reduce(&inside, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        double pi = 4.0 * (double)all / ((double)samples * size);
        printf("pi is about %.12f, off by %.1e\n", pi, fabs(pi - 3.14159265358979323846));
        printf("%d x %ld samples took %.6f s\n", size, samples, MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return 0;
}
