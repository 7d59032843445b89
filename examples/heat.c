/* Heat along a rod, which can be saved and go on: each process has a part of the rod.
 *
 *   gerbil-run -n 4 --checkpoint-interval 10m ./heat 1000000
 *   gerbil-run -n 4 --restore application_1700000000000_0042 ./heat 1000000
 *
 * CHECKPOINTS.md says what a program has to do. The result is the same to the last digit, however
 * often it was saved and restored. The second argument is a pause after each step, microseconds.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELLS 1000

struct state {
    long step;
    double cells[CELLS + 2]; /* with a neighbour's cell at each end */
};

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
    (void)number;
    asked = 1;
}

static void fail(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The file is whole before it has its name, and the name is there before the word that it is done. */
static void save(const struct state *state, const char *folder)
{
    char part[4096], whole[4096], done[4096];
    snprintf(part, sizeof part, "%s/state.part", folder);
    snprintf(whole, sizeof whole, "%s/state", folder);
    snprintf(done, sizeof done, "%s/done", folder);
    FILE *file = fopen(part, "w");
    if (!file || fwrite(state, sizeof *state, 1, file) != 1 || fclose(file) != 0)
        fail(part);
    if (rename(part, whole) != 0)
        fail(whole);
    file = fopen(done, "w");
    if (!file || fclose(file) != 0)
        fail(done);
}

static void restore(struct state *state, const char *folder)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/state", folder);
    FILE *file = fopen(whole, "r");
    if (!file || fread(state, sizeof *state, 1, file) != 1 || fclose(file) != 0)
        fail(whole);
}

int main(int argc, char **argv)
{
    /* Nobody is asked before this handler is there. */
    signal(SIGUSR1, on_signal);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long steps = argc > 1 ? atol(argv[1]) : 1000;
    useconds_t pause = argc > 2 ? (useconds_t)atol(argv[2]) : 0;
    const char *folder = getenv("GERBIL_CHECKPOINT_DIR");

    static struct state state, next;
    if (getenv("GERBIL_RESTORED")) {
        restore(&state, folder);
        if (rank == 0)
            printf("goes on at step %ld\n", state.step);
    } else if (rank == 0) {
        state.cells[1] = 1000;
        printf("begins\n");
    }
    fflush(stdout);

    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    while (state.step < steps) {
        double *cells = state.cells;
        MPI_Sendrecv(&cells[1], 1, MPI_DOUBLE, left, 0, &cells[CELLS + 1], 1, MPI_DOUBLE, right, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&cells[CELLS], 1, MPI_DOUBLE, right, 1, &cells[0], 1, MPI_DOUBLE, left, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i <= CELLS; i++)
            next.cells[i] = cells[i] + 0.25 * (cells[i - 1] - 2 * cells[i] + cells[i + 1]);
        memcpy(&cells[1], &next.cells[1], CELLS * sizeof cells[0]);
        state.step++;

        /* The signal reaches the processes at different steps. They save when all have it. */
        int mine = asked, all;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (all) {
            asked = 0;
            save(&state, folder);
        }
        if (pause)
            usleep(pause);
    }

    double sum = 0, total;
    for (int i = 1; i <= CELLS; i++)
        sum += state.cells[i] * (rank * CELLS + i);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("after %ld steps: %.17g\n", state.step, total);
    MPI_Finalize();
    return 0;
}
