/* LD_PRELOAD: counts the system calls that write below a folder, and fails the n-th one or kills the process at it.
 *
 * `faults_arm(prefix, at, error)` begins to count; error 0 only counts, -1 kills before the call, -2 behind it.
 * `faults_calls()` reads the number, which lies in memory shared with forked children. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char prefix[PATH_MAX];
static long fault_at;
static int fault_error;
static atomic_long *calls;

__attribute__((constructor)) static void start(void) {
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void faults_arm(const char *folder, long at, int error) {
    atomic_store(calls, 0);
    fault_at = at;
    fault_error = error;
    snprintf(prefix, sizeof prefix, "%s", folder);
}

long faults_calls(void) { return atomic_load(calls); }

static int is_below(const char *path) {
    char whole[PATH_MAX];
    if (!prefix[0] || !path) return 0;
    if (path[0] != '/') {
        char here[PATH_MAX / 2];
        if (!getcwd(here, sizeof here)) return 0;
        snprintf(whole, sizeof whole, "%s/%.2000s", here, path);
        path = whole;
    }
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

static int is_below_fd(int fd) {
    char link[64], path[PATH_MAX];
    if (!prefix[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return is_below(path);
}

/* Whether this call is to fail, with errno set; kills the process where that is asked for. */
static int strikes(int counted) {
    if (!counted || atomic_fetch_add(calls, 1) + 1 != fault_at || fault_error == 0) return 0;
    if (fault_error == -1) kill(getpid(), SIGKILL);
    if (fault_error < 0) return 0;
    errno = fault_error;
    return 1;
}

static void behind(int counted) {
    if (counted && fault_error == -2 && atomic_load(calls) == fault_at) kill(getpid(), SIGKILL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(type, name, parameters, arguments, counted)        \
    type name parameters {                                      \
        int found = (counted);                                  \
        if (strikes(found)) return (type)-1;                    \
        type result = REAL(name) arguments;                     \
        int number = errno;                                     \
        behind(found);                                          \
        errno = number;                                         \
        return result;                                          \
    }

WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), is_below_fd(fd))
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), is_below_fd(fd))
WRAP(int, fsync, (int fd), (fd), is_below_fd(fd))
WRAP(int, fdatasync, (int fd), (fd), is_below_fd(fd))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size), is_below_fd(fd))
WRAP(int, truncate64, (const char *path, off64_t size), (path, size), is_below(path))
WRAP(int, rename, (const char *from, const char *to), (from, to), is_below(to))
WRAP(int, unlink, (const char *path), (path), is_below(path))
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), is_below(path) || is_below_fd(fd))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), is_below(path))
WRAP(int, rmdir, (const char *path), (path), is_below(path))
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode), is_below(path))

#define OPEN(name, before, after)                                                      \
    int name(before const char *path, int flags, ...) {                                \
        va_list rest;                                                                  \
        va_start(rest, flags);                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;        \
        va_end(rest);                                                                  \
        int found = (flags & (O_WRONLY | O_RDWR | O_CREAT)) && is_below(path);         \
        if (strikes(found)) return -1;                                                 \
        int result = REAL(name)(after path, flags, mode);                              \
        int number = errno;                                                            \
        behind(found);                                                                 \
        errno = number;                                                                \
        return result;                                                                 \
    }
#define NOTHING
#define FOLDER int folder,
#define ITS_FOLDER folder,
OPEN(open, NOTHING, NOTHING)
OPEN(open64, NOTHING, NOTHING)
OPEN(openat, FOLDER, ITS_FOLDER)
OPEN(openat64, FOLDER, ITS_FOLDER)
