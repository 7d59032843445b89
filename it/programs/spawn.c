/* What MPI-2 calls dynamic processes. The first argument says what to try; every finding is a line on
 * standard output, which begins with the rank, of a spawned process with "child" before it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of 64 bytes each, two mebibytes. */
#define LINES 32768
#define LIVE_MAX 64

static int rank, size;

/* The value of a number that MPI_COMM_WORLD has, -1 where it has none. */
static int attribute(int key)
{
    int *value, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
    return found ? *value : -1;
}

/* How many ranks of comm share memory with this one. */
static int neighbours(MPI_Comm comm)
{
    MPI_Comm node;
    int count;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &count);
    MPI_Comm_free(&node);
    return count;
}

/* Parents and children add up their ranks. */
static int sum(MPI_Comm others, int high)
{
    MPI_Comm all;
    int one, total;
    MPI_Intercomm_merge(others, high, &all);
    MPI_Comm_rank(all, &one);
    MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    return total;
}

static int child(MPI_Comm parent, int argc, char **argv)
{
    char folder[1000] = "";
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(what, "fail") == 0 && rank == size - 1)
        exit(5);
    if (strcmp(what, "live") == 0) {
        for (int line = 0; line < LINES; line++)
            printf("child of group %5s: %041d\n", argv[2], line);
        fflush(stdout);
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
        return 0;
    }
    if (getcwd(folder, sizeof folder) == NULL)
        folder[0] = 0;
    printf("child %d of %d: appnum %d, words %s %s, folder %s, mine %s\n", rank, size,
           attribute(MPI_APPNUM), what, argc > 2 ? argv[2] : "-", folder,
           getenv("MINE") ? getenv("MINE") : "-");
    fflush(stdout);
    printf("child %d: sum %d\n", rank, sum(parent, 1));
    fflush(stdout);
    MPI_Comm_disconnect(&parent);
    return 0;
}

/* What MPI_Comm_spawn came to, by name. */
static const char *outcome(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    switch (class) {
        case MPI_SUCCESS:
            return "success";
        case MPI_ERR_SPAWN:
            return "MPI_ERR_SPAWN";
        case MPI_ERR_NAME:
            return "MPI_ERR_NAME";
        case MPI_ERR_SERVICE:
            return "MPI_ERR_SERVICE";
        case MPI_ERR_PORT:
            return "MPI_ERR_PORT";
        default:
            return "another error";
    }
}

static void spawn(const char *program, char *word, int count, MPI_Comm comm)
{
    char *words[] = { word, "two words", NULL };
    MPI_Comm children;
    int code = MPI_Comm_spawn(program, words, count, MPI_INFO_NULL, 0, comm, &children,
                              MPI_ERRCODES_IGNORE);
    if (rank == 0)
        printf("0: spawn %s\n", outcome(code));
    fflush(stdout);
    if (code != MPI_SUCCESS)
        return;
    if (strcmp(word, "plain") == 0)
        printf("%d: sum %d\n", rank, sum(children, 0));
    else
        MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
}

/* So many groups of one, which all print and wait for the last of them. */
static void live(char *self, int count)
{
    MPI_Comm groups[LIVE_MAX];
    char number[16], *words[] = { "live", number, NULL };
    for (int i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%d", i);
        int code = MPI_Comm_spawn(self, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &groups[i],
                                  MPI_ERRCODES_IGNORE);
        if (code != MPI_SUCCESS) {
            printf("%d: spawn %s\n", rank, outcome(code));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    printf("%d: %d groups live\n", rank, count);
    fflush(stdout);
    for (int i = count - 1; i >= 0; i--) {
        MPI_Barrier(groups[i]);
        MPI_Comm_disconnect(&groups[i]);
    }
}

/* Two of this program, with the folder and the host of the arguments, and three without. */
static void multiple(char *self, char *folder, char *host)
{
    char *programs[] = { self, self };
    char *one[] = { "first", NULL }, *two[] = { "second", NULL };
    char **words[] = { one, two };
    int counts[] = { 2, 3 }, codes[5];
    MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
    MPI_Comm children;
    MPI_Info_create(&infos[0]);
    MPI_Info_set(infos[0], "wdir", folder);
    MPI_Info_set(infos[0], "host", host);
    int code = MPI_Comm_spawn_multiple(2, programs, words, counts, infos, 0, MPI_COMM_WORLD, &children,
                                       codes);
    if (rank == 0)
        printf("0: spawn %s\n", outcome(code));
    fflush(stdout);
    if (code == MPI_SUCCESS) {
        printf("%d: sum %d\n", rank, sum(children, 0));
        MPI_Comm_disconnect(&children);
    }
}

/* The last rank publishes; the first looks it up. */
static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int code;
    if (rank == size - 1) {
        code = MPI_Publish_name("a service", MPI_INFO_NULL, "tag#7$entry#00A1$");
        printf("%d: publish %s\n", rank, outcome(code));
        code = MPI_Publish_name("a service", MPI_INFO_NULL, "another");
        printf("%d: again %s\n", rank, outcome(code));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        code = MPI_Lookup_name("a service", MPI_INFO_NULL, port);
        printf("%d: lookup %s <%s>\n", rank, outcome(code), port);
        code = MPI_Lookup_name("no service", MPI_INFO_NULL, port);
        printf("%d: missing %s\n", rank, outcome(code));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        code = MPI_Unpublish_name("a service", MPI_INFO_NULL, "tag#7$entry#00A1$");
        printf("%d: unpublish %s\n", rank, outcome(code));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        code = MPI_Lookup_name("a service", MPI_INFO_NULL, port);
        printf("%d: gone %s\n", rank, outcome(code));
    }
}

/* The two halves of the ranks meet through a published port. */
static void ports(void)
{
    MPI_Comm half, others;
    char port[MPI_MAX_PORT_NAME] = "";
    int serves = rank < size / 2, code = MPI_SUCCESS, found;
    MPI_Comm_split(MPI_COMM_WORLD, serves, rank, &half);
    if (rank == 0) {
        code = MPI_Open_port(MPI_INFO_NULL, port);
        printf("0: open %s\n", outcome(code));
        if (code == MPI_SUCCESS)
            code = MPI_Publish_name("meeting", MPI_INFO_NULL, port);
    }
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS)
        return;
    if (serves) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &others);
    } else {
        MPI_Lookup_name("meeting", MPI_INFO_NULL, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &others);
    }
    MPI_Comm_remote_size(others, &found);
    printf("%d: met %d, sum %d\n", rank, found, sum(others, !serves));
    MPI_Comm_disconnect(&others);
    MPI_Comm_free(&half);
    if (rank == 0) {
        MPI_Unpublish_name("meeting", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        child(parent, argc, argv);
    else if (strcmp(what, "spawn") == 0)
        spawn(argc > 3 ? argv[3] : argv[0], "plain", atoi(argv[2]), MPI_COMM_WORLD);
    else if (strcmp(what, "abort") == 0 || strcmp(what, "fail") == 0)
        spawn(argv[0], argv[1], 3, MPI_COMM_WORLD);
    else if (strcmp(what, "multiple") == 0)
        multiple(argv[0], argv[2], argv[3]);
    else if (strcmp(what, "live") == 0)
        live(argv[0], atoi(argv[2]) < LIVE_MAX ? atoi(argv[2]) : LIVE_MAX);
    else if (strcmp(what, "names") == 0)
        names();
    else if (strcmp(what, "ports") == 0)
        ports();
    else if (strcmp(what, "widow") == 0) {
        /* The others are gone, and MPI_Finalize would wait for them. */
        if (rank > 0)
            _exit(3);
        sleep(1);
        spawn(argv[0], "plain", 1, MPI_COMM_SELF);
        _exit(0);
    } else if (strcmp(what, "again") == 0)
        for (int i = atoi(argv[2]); i > 0; i--)
            spawn(argv[0], "plain", 1, MPI_COMM_WORLD);
    else if (strcmp(what, "nodes") == 0)
        printf("%d: %d on its node, universe %d\n", rank, neighbours(MPI_COMM_WORLD),
               attribute(MPI_UNIVERSE_SIZE));
    else
        printf("%d: %s is nothing to try\n", rank, what);
    MPI_Finalize();
    return 0;
}
