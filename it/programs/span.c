/* Preloaded into an MPI program: each rank notes its process id, when it came out of MPI_Init and when it
 * came to MPI_Finalize, in nanoseconds of the machine's monotonic clock, a line each, in a file of its own
 * in the folder that MPI_SPAN_FOLDER names. The first two are there as soon as the rank is past MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static FILE *file;

static void fail(const char *what)
{
    perror(what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static long long now(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        fail("clock_gettime");
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void begun(long long begin)
{
    const char *folder = getenv("MPI_SPAN_FOLDER");
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", rank);
    file = fopen(path, "w");
    if (!file || fprintf(file, "%ld\n%lld\n", (long)getpid(), begin) < 0 || fflush(file) != 0)
        fail(path);
}

int MPI_Init(int *argc, char ***argv)
{
    int answer = PMPI_Init(argc, argv);
    begun(now());
    return answer;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int answer = PMPI_Init_thread(argc, argv, required, provided);
    begun(now());
    return answer;
}

int MPI_Finalize(void)
{
    long long end = now();
    if (!file || fprintf(file, "%lld\n", end) < 0 || fclose(file) != 0)
        fail("MPI_SPAN_FOLDER");
    return PMPI_Finalize();
}
