/*
 * Preloaded into ranks that outnumber their cores, or may come to: whoever waits for messages gives up the
 * core. Where GERBIL_CROWDED names a byte of the launcher's memory that is so only while it is not 0.
 *
 * MPI libraries wait by asking their network library again and again whether something has come. Where
 * ranks outnumber cores, whoever asks holds the core that the sender needs, until the kernel takes it
 * away: milliseconds for what takes microseconds. Two questions are intercepted here, and after
 * IDLE_POLLS empty answers in a row each further one is followed by sched_yield():
 *
 *  - UCX: ucp_worker_progress, called through the dynamic linker. It returns how much it did.
 *  - libfabric: completion queues are read through a table of functions that each queue points to, so
 *    tables are replaced on the way to it: fi_fabric gives a fabric, its table opens domains, whose
 *    tables open queues. -FI_EAGAIN is the empty answer. A provider's own tables may be shared and
 *    read-only: objects get pointers to copies, which are kept here for ever (there are few).
 *
 * Once the program runs nothing sleeps, no answer is changed, and errno is as it was. What a thread has
 * counted is its own.
 *
 * It also counts the time that goes by while waiting: the yields themselves, and what lies between two
 * empty answers when it is so short that the program cannot have computed in between. A process that
 * has polled adds a line "PID NANOSECONDS" to the file that GERBIL_WAITS names when it ends.
 *
 * It loads into anything: it needs no library (what it calls of libc is bound weakly and without a
 * version, so that the oldest glibc serves) and does nothing in a program that polls neither library.
 * Not covered: a network library that is linked statically into the MPI library, or that it finds by
 * dlopen and dlsym (Intel MPI and libfabric), and MPICH's older ch3 devices.
 *
 * Layouts are those of libfabric's binary interface 1.0 to 1.9: every object begins with its `fid`, its
 * table follows; tables begin with their own size and only grow at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Empty answers before the first yield: what comes at once is not waited for. */
#define IDLE_POLLS 20
/* Nanoseconds between two polls from which on the program is taken to compute. */
#define COMPUTES 50000

#pragma weak dlsym
#pragma weak dlvsym
#pragma weak dlopen
#pragma weak dladdr
#pragma weak syscall
#pragma weak clock_gettime
#pragma weak getenv
#pragma weak getpid
#pragma weak open
#pragma weak write
#pragma weak close
#pragma weak mmap
#pragma weak abort
#pragma weak __errno_location

/* ---- waiting --------------------------------------------------------------------------------- */

/* All threads of the process, ns. */
static uint64_t waited;
/* Somebody polled. */
static int polled;

/* Whether the machine has more to run than cores; none: it has. */
static const volatile unsigned char *crowded;

struct wait {
    /* Empty answers in a row. */
    uint32_t idle;
    /* When the last yield returned, ns; 0: none since the last answer. */
    uint64_t since;
};
static __thread struct wait self __attribute__((tls_model("initial-exec")));

static uint64_t now(void)
{
    struct timespec time;
    if (!clock_gettime || clock_gettime(CLOCK_MONOTONIC, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void add(uint64_t nanoseconds)
{
    __atomic_fetch_add(&waited, nanoseconds, __ATOMIC_RELAXED);
}

/* The time since the last yield, if it was spent on asking. */
static uint64_t asking(uint64_t until)
{
    uint64_t gap = until - self.since;
    return self.since && gap < COMPUTES ? gap : 0;
}

static void came(void)
{
    if (self.since) {
        add(asking(now()));
        self.since = 0;
    }
    self.idle = 0;
}

static void nothing_came(void)
{
    if (self.idle < IDLE_POLLS) {
        self.idle++;
        return;
    }
    int *error = __errno_location ? __errno_location() : NULL;
    int kept = error ? *error : 0;
    uint64_t before = now(), after = before;
    if (syscall && (!crowded || *crowded)) {
        syscall(SYS_sched_yield);
        after = now();
    }
    add(asking(before) + (after - before));
    self.since = after;
    if (error)
        *error = kept;
}

static void note(int something)
{
    if (!polled)
        polled = 1;
    if (something)
        came();
    else
        nothing_came();
}

/* ---- before main ------------------------------------------------------------------------------ */

/*
 * UCX replaces functions of libc while it is loaded, and after each lets 5 ms go by in case that a thread is
 * just in it: a loop over sched_yield, 40 ms in all. That gives way to processes of the same session or
 * control group alone, so the ranks that come first hold up the launchers of others. A process that still
 * has all its libraries to load has nobody to hurry for: it sleeps instead.
 */

/* How long. The kernel adds 50 of its own. */
#define LOADING_NAP_NS 250000

/* The libraries of the program are not all ready. This one is the last, but for those that need none either. */
static int loading = 1;

EXPORT int sched_yield(void)
{
    if (!syscall)
        return 0;
    if (!loading)
        return (int)syscall(SYS_sched_yield);
    int *error = __errno_location ? __errno_location() : NULL;
    int kept = error ? *error : 0;
    struct timespec nap = {0, LOADING_NAP_NS};
    /* Not libc's, in which a thread could be cancelled. */
    syscall(SYS_nanosleep, &nap, NULL);
    if (error)
        *error = kept;
    return 0;
}

/* ---- finding what was intercepted ------------------------------------------------------------ */

/*
 * The function that `caller` would have got without this library: the next in the order of linking, or,
 * where the MPI library itself was opened by dlopen, the one among the libraries it needs.
 */
static void *real(const char *name, const char *version, void *caller)
{
    void *found = NULL;
    if (!dlsym)
        goto lost;
    if (version && dlvsym)
        found = dlvsym(RTLD_NEXT, name, version);
    else
        found = dlsym(RTLD_NEXT, name);
    Dl_info who;
    if (!found && dladdr && dlopen && dladdr(caller, &who) && who.dli_fname) {
        void *library = dlopen(who.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (library && version && dlvsym)
            found = dlvsym(library, name, version);
        else if (library)
            found = dlsym(library, name);
    }
    if (found)
        return found;
lost:
    /* To go on without it would be to wait for ever. */
    if (write) {
        static const char words[] =
            "gerbil: the function behind the yielding shim is not to be found; run with --yield "
            "never: ";
        ssize_t written = write(2, words, sizeof words - 1);
        for (; *name; name++)
            written += write(2, name, 1);
        written += write(2, "\n", 1);
        (void)written;
    }
    if (abort)
        abort();
    __builtin_trap();
}

/* ---- UCX ------------------------------------------------------------------------------------- */

typedef unsigned progress_function(void *worker);

EXPORT unsigned ucp_worker_progress(void *worker)
{
    static progress_function *behind;
    progress_function *progress = __atomic_load_n(&behind, __ATOMIC_RELAXED);
    if (!progress) {
        progress =
            (progress_function *)real("ucp_worker_progress", NULL, __builtin_return_address(0));
        __atomic_store_n(&behind, progress, __ATOMIC_RELAXED);
    }
    unsigned done = progress(worker);
    note(done != 0);
    return done;
}

/* ---- libfabric ------------------------------------------------------------------------------- */

/* What fabrics, domains and completion queues have in common. */
struct object {
    size_t class;
    void *context;
    void *own_operations;
    struct table *table;
};

/* A table of functions: its size in bytes, this field included, and then that many. */
struct table {
    size_t size;
    void *functions[];
};

/* Places in the tables' functions. */
enum { FABRIC_DOMAIN = 0, FABRIC_DOMAIN2 = 5 };
enum { DOMAIN_CQ_OPEN = 1 };
enum { CQ_READ = 0, CQ_READFROM = 1 };

/* Functions of a table that is copied; larger ones are left alone. */
#define FUNCTIONS_MAX 30
/* Tables: three for each provider that is opened. */
#define COPIES_MAX 48
/* Yields before a lock is taken to be held by a thread that a fork has left behind: one that is there
 * holds it for microseconds. */
#define LOCK_TRIES 10000

struct copy {
    struct table *original;
    size_t size;
    void *functions[FUNCTIONS_MAX];
};
static struct copy copies[COPIES_MAX];
static int copies_count;
static int copies_locked;

struct change {
    size_t place;
    void *function;
};

static int is_copy(const struct table *table)
{
    return (const char *)table >= (const char *)copies &&
           (const char *)table < (const char *)(copies + COPIES_MAX);
}

/* The function behind ours; none where somebody else has given the object another table, with ours in it. */
static void *original(const struct object *object, size_t place)
{
    if (!is_copy(object->table))
        return NULL;
    const char *table = (const char *)object->table;
    const struct copy *copy =
        (const struct copy *)(const void *)(table - offsetof(struct copy, size));
    return copy->original->functions[place];
}

/* Has the object use a copy of its table with these changes. */
static void divert(struct object *object, const struct change *changes, size_t count)
{
    if (!object || !object->table || is_copy(object->table))
        return;
    struct table *table = object->table;
    size_t functions = table->size / sizeof(void *) - 1;
    if (table->size < sizeof(struct table) + sizeof(void *) || functions > FUNCTIONS_MAX)
        return;
    for (int tries = 0; __atomic_exchange_n(&copies_locked, 1, __ATOMIC_ACQUIRE); tries++) {
        if (tries == LOCK_TRIES)
            return;
        sched_yield();
    }
    struct copy *copy = NULL;
    for (int i = 0; i < copies_count && !copy; i++)
        if (copies[i].original == table)
            copy = &copies[i];
    if (!copy && copies_count < COPIES_MAX) {
        copy = &copies[copies_count++];
        copy->original = table;
        copy->size = table->size;
        for (size_t i = 0; i < functions; i++)
            copy->functions[i] = table->functions[i];
        for (size_t i = 0; i < count; i++)
            if (changes[i].place < functions && table->functions[changes[i].place])
                copy->functions[changes[i].place] = changes[i].function;
    }
    __atomic_store_n(&copies_locked, 0, __ATOMIC_RELEASE);
    if (copy)
        object->table = (struct table *)(void *)&copy->size;
}

static ssize_t cq_read(struct object *queue, void *buffer, size_t count)
{
    ssize_t (*read)(struct object *, void *, size_t) = original(queue, CQ_READ);
    if (!read)
        return -ENOSYS;
    ssize_t got = read(queue, buffer, count);
    note(got != -EAGAIN);
    return got;
}

static ssize_t cq_readfrom(struct object *queue, void *buffer, size_t count, uint64_t *from)
{
    ssize_t (*read)(struct object *, void *, size_t, uint64_t *) = original(queue, CQ_READFROM);
    if (!read)
        return -ENOSYS;
    ssize_t got = read(queue, buffer, count, from);
    note(got != -EAGAIN);
    return got;
}

static int cq_open(struct object *domain, void *attributes, struct object **queue, void *context)
{
    static const struct change changes[] = {
        {CQ_READ, (void *)cq_read},
        {CQ_READFROM, (void *)cq_readfrom},
    };
    int (*open_queue)(struct object *, void *, struct object **, void *) =
        original(domain, DOMAIN_CQ_OPEN);
    if (!open_queue)
        return -ENOSYS;
    int failed = open_queue(domain, attributes, queue, context);
    if (!failed && queue)
        divert(*queue, changes, 2);
    return failed;
}

static const struct change domain_changes[] = {{DOMAIN_CQ_OPEN, (void *)cq_open}};

static int open_domain(struct object *fabric, void *info, struct object **domain, void *context)
{
    int (*open_it)(struct object *, void *, struct object **, void *) =
        original(fabric, FABRIC_DOMAIN);
    if (!open_it)
        return -ENOSYS;
    int failed = open_it(fabric, info, domain, context);
    if (!failed && domain)
        divert(*domain, domain_changes, 1);
    return failed;
}

static int open_domain2(struct object *fabric, void *info, struct object **domain, uint64_t flags,
                        void *context)
{
    int (*open_it)(struct object *, void *, struct object **, uint64_t, void *) =
        original(fabric, FABRIC_DOMAIN2);
    if (!open_it)
        return -ENOSYS;
    int failed = open_it(fabric, info, domain, flags, context);
    if (!failed && domain)
        divert(*domain, domain_changes, 1);
    return failed;
}

static void divert_fabric(struct object **fabric)
{
    static const struct change changes[] = {
        {FABRIC_DOMAIN, (void *)open_domain},
        {FABRIC_DOMAIN2, (void *)open_domain2},
    };
    if (fabric)
        divert(*fabric, changes, 2);
}

typedef int fabric_function(void *attributes, struct object **fabric, void *context);
typedef int fabric2_function(void *info, struct object **fabric, uint64_t flags, void *context);

/* The two versions read their attributes differently: each goes to its own. */
static int open_fabric(const char *version, void *caller, void *attributes,
                       struct object **fabric, void *context)
{
    fabric_function *open_it = (fabric_function *)real("fi_fabric", version, caller);
    int failed = open_it(attributes, fabric, context);
    if (!failed)
        divert_fabric(fabric);
    return failed;
}

EXPORT int fi_fabric_1_0(void *attributes, struct object **fabric, void *context)
{
    return open_fabric("FABRIC_1.0", __builtin_return_address(0), attributes, fabric, context);
}
__asm__(".symver fi_fabric_1_0, fi_fabric@FABRIC_1.0");

EXPORT int fi_fabric_1_1(void *attributes, struct object **fabric, void *context)
{
    return open_fabric("FABRIC_1.1", __builtin_return_address(0), attributes, fabric, context);
}
__asm__(".symver fi_fabric_1_1, fi_fabric@@FABRIC_1.1");

EXPORT int fi_fabric2_1_8(void *info, struct object **fabric, uint64_t flags, void *context)
{
    fabric2_function *open_it =
        (fabric2_function *)real("fi_fabric2", "FABRIC_1.8", __builtin_return_address(0));
    int failed = open_it(info, fabric, flags, context);
    if (!failed)
        divert_fabric(fabric);
    return failed;
}
__asm__(".symver fi_fabric2_1_8, fi_fabric2@@FABRIC_1.8");

/* ---- the end --------------------------------------------------------------------------------- */

static pid_t born;

__attribute__((constructor)) static void begin(void)
{
    static const volatile unsigned char never;
    loading = 0;
    if (getpid)
        born = getpid();
    const char *path = getenv ? getenv("GERBIL_CROWDED") : NULL;
    if (!path)
        return;
    crowded = &never;
    int file = open && close && mmap ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *byte = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
    if (byte != MAP_FAILED)
        crowded = byte;
    close(file);
}

static char *decimal(char *end, uint64_t number)
{
    do
        *--end = (char)('0' + number % 10);
    while (number /= 10);
    return end;
}

__attribute__((destructor)) static void finish(void)
{
    /* A fork that ends without an exec is not the rank. */
    if (!polled || !getenv || !getpid || !open || !write || !close || getpid() != born)
        return;
    const char *path = getenv("GERBIL_WAITS");
    if (!path)
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    char line[48];
    char *end = line + sizeof line;
    *--end = '\n';
    end = decimal(end, __atomic_load_n(&waited, __ATOMIC_RELAXED));
    *--end = ' ';
    end = decimal(end, (uint64_t)born);
    ssize_t written = write(file, end, (size_t)(line + sizeof line - end));
    (void)written;
    close(file);
}
