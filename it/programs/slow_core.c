/*
 * slow_core: linked to a program, it puts the process onto a slow core of its node at the end of MPI_Init.
 *
 * SLOW_CORES names a folder of control groups, NODE.0, NODE.1, … for each node, SLOW_CORES_OF_NODE of
 * them; each lets its processes have a small share of one processor. The node is the one that YARN's
 * NodeManager names in NM_HOST; the ranks of a node take its cores in turn, by LOCAL_RANK. A core lies on
 * one of the machine's processors: on two, a rank that waits would use up the share of one that computes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "slow_core: %s: %s\n", what, strerror(errno));
    _exit(71);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    errno = EINVAL;
    if (!value)
        fail(name);
    return value;
}

/* The processor number `core`, round and round those that this process may use. */
static void bind_to(long core)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all))
        fail("sched_getaffinity");
    core %= CPU_COUNT(&all);
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &all) || core-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        if (sched_setaffinity(0, sizeof one, &one))
            fail("sched_setaffinity");
        return;
    }
}

static void take_a_slow_core(void)
{
    char path[4096];
    long cores = atol(variable("SLOW_CORES_OF_NODE"));
    errno = EINVAL;
    if (cores < 1)
        fail("SLOW_CORES_OF_NODE");
    long core = atol(variable("LOCAL_RANK")) % cores;
    snprintf(path, sizeof path, "%s/%s.%ld/cgroup.procs", variable("SLOW_CORES"),
             variable("NM_HOST"), core);
    bind_to(core);
    /* 0 is the process that writes. */
    FILE *group = fopen(path, "w");
    if (!group || fputs("0\n", group) == EOF || fclose(group))
        fail(path);
}

int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);
    if (error != MPI_SUCCESS)
        return error;
    /* All begin at the same time, each on its slow core. */
    error = PMPI_Barrier(MPI_COMM_WORLD);
    take_a_slow_core();
    return error;
}
