/* LD_PRELOAD: counts system calls on files below a folder, and does something to the n-th one.
 *
 * `faults_arm(prefix, except, classes, at, action)` begins to count the calls of `classes` below `prefix` and not below
 * `except`. A positive action is the errno with which call `at` fails; the others are named below. Where it only counts,
 * `faults_calls(1, classes)` reads the calls below `except`, `faults_calls(0, classes)` the others. The numbers lie in
 * memory shared with forked children. With FAULTS_NO_PROC in the environment, or after
 * `faults_hide_proc()`, nothing below /proc exists. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { REMOVE = 1, STORE = 2, CLOSE = 4, READ = 8, MAP = 16 };
enum {
    ONLY_COUNT = 0, /* all calls below `prefix`, each by its classes and by whether it is below `except` */
    KILL_BEFORE = -1,
    KILL_BEHIND = -2,
    CUT = -3,    /* halves the file of the call, before it */
    CHANGE = -4, /* inverts the byte in the middle of the file of the call, before it */
    FULL = -5,   /* every call from the n-th on fails with ENOSPC */
};

static char prefix[PATH_MAX], except[PATH_MAX];
static int classes, action, hides_proc;
static long fault_at;
static atomic_long *calls;
enum { ALL_CLASSES = 32 };
static atomic_long (*counts)[ALL_CLASSES];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    size_t size = sizeof *calls + 2 * sizeof *counts;
    calls = REAL(mmap)(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counts = (void *)(calls + 1);
    hides_proc = getenv("FAULTS_NO_PROC") != NULL;
}

void faults_arm(const char *folder, const char *but, int which, long at, int what) {
    atomic_store(calls, 0);
    for (int class = 0; class < 2 * ALL_CLASSES; class++) atomic_store(&counts[0][class], 0);
    classes = which;
    fault_at = at;
    action = what;
    snprintf(except, sizeof except, "%s", but);
    snprintf(prefix, sizeof prefix, "%s", folder);
}

long faults_calls(int is_excepted, int which) {
    long sum = 0;
    for (int class = 0; class < ALL_CLASSES; class++)
        if (class & which) sum += atomic_load(&counts[is_excepted][class]);
    return sum;
}

void faults_hide_proc(void) { hides_proc = 1; }

static int is_hidden(const char *path) {
    return hides_proc && path && strncmp(path, "/proc", 5) == 0 && (path[5] == '/' || path[5] == 0);
}

static int is_excepted(const char *path) { return except[0] && strncmp(path, except, strlen(except)) == 0; }

/* Whether the path is meant, which is then written whole to `whole`. */
static int below(const char *path, char *whole) {
    if (!prefix[0] || !path) return 0;
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
    } else {
        char here[PATH_MAX / 2];
        if (!getcwd(here, sizeof here)) return 0;
        snprintf(whole, PATH_MAX, "%s/%.2000s", here, path);
    }
    return strncmp(whole, prefix, strlen(prefix)) == 0 && (action == ONLY_COUNT || !is_excepted(whole));
}

static int below_fd(int fd, char *whole) {
    char link[64], path[PATH_MAX];
    if (!prefix[0] || fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = REAL(readlink)(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    /* A pipe has no path. */
    return path[0] == '/' && below(path, whole);
}

static int real_open(const char *path, int flags) { return REAL(open64)(path, flags); }

static void spoil(const char *path) {
    struct stat status;
    int fd = real_open(path, O_RDWR);
    if (fd < 0) return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        off_t middle = status.st_size / 2;
        char byte = 0;
        if (action == CUT) {
            if (REAL(ftruncate64)(fd, middle)) abort();
        } else if (REAL(pread64)(fd, &byte, 1, middle) == 1) {
            byte = (char)~byte;
            if (REAL(pwrite64)(fd, &byte, 1, middle) != 1) abort();
        }
    }
    REAL(close)(fd);
}

/* Whether this call is to fail, with errno set; does to the process or the file what is asked for. */
static int strikes(int class, const char *path) {
    if (!(class & classes)) return 0;
    if (action == ONLY_COUNT) {
        atomic_fetch_add(&counts[is_excepted(path)][class], 1);
        return 0;
    }
    long number = atomic_fetch_add(calls, 1) + 1;
    if (action == FULL && number >= fault_at) {
        errno = ENOSPC;
        return 1;
    }
    if (number != fault_at) return 0;
    if (action == KILL_BEFORE) kill(getpid(), SIGKILL);
    if (action == CUT || action == CHANGE) spoil(path);
    if (action <= 0) return 0;
    errno = action;
    return 1;
}

static void behind(int class) {
    if ((class & classes) && action == KILL_BEHIND && atomic_load(calls) == fault_at) kill(getpid(), SIGKILL);
}

/* No test loses its power, which alone tells a flushed file from another one. */
static int unflushed(int fd) {
    struct stat status;
    if (fstat(fd, &status)) return -1;
    /* Pipes and devices refuse it. */
    return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? 0 : REAL(fsync)(fd);
}

/* `found`: whether the call is meant; it may use `whole`. `anyway`: what is done even where the call fails. */
#define WRAP(type, name, parameters, arguments, class, found, anyway) \
    WRAP_AS(type, name, parameters, REAL(name) arguments, class, found, anyway)
#define WRAP_AS(type, name, parameters, call, class, found, anyway)   \
    type name parameters {                                            \
        char whole[PATH_MAX];                                         \
        int meant = (found) ? (class) : 0;                            \
        if (meant && strikes(meant, whole)) {                         \
            int number = errno;                                       \
            anyway;                                                   \
            errno = number;                                           \
            return (type)-1;                                          \
        }                                                             \
        type result = call;                                           \
        int number = errno;                                           \
        if (meant) behind(meant);                                     \
        errno = number;                                               \
        return result;                                                \
    }
#define NOTHING
#define FD below_fd(fd, whole)
#define PATH below(path, whole)

WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), STORE, FD, NOTHING)
WRAP(ssize_t, writev, (int fd, const struct iovec *data, int n), (fd, data, n), STORE, FD, NOTHING)
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), STORE, FD, NOTHING)
WRAP(ssize_t, sendfile64, (int fd, int from, off64_t *at, size_t n), (fd, from, at, n), STORE, FD, NOTHING)
WRAP(ssize_t, copy_file_range, (int from, off64_t *at, int fd, off64_t *to, size_t n, unsigned flags),
     (from, at, fd, to, n, flags), STORE, FD, NOTHING)
WRAP_AS(int, fsync, (int fd), unflushed(fd), STORE, FD, NOTHING)
WRAP_AS(int, fdatasync, (int fd), unflushed(fd), STORE, FD, NOTHING)
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size), STORE, FD, NOTHING)
WRAP(int, truncate64, (const char *path, off64_t size), (path, size), STORE, PATH, NOTHING)
WRAP(int, rename, (const char *from, const char *path), (from, path), STORE, PATH, NOTHING)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), STORE, PATH, NOTHING)
WRAP(int, unlink, (const char *path), (path), REMOVE, PATH, NOTHING)
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), REMOVE, PATH || FD, NOTHING)
WRAP(int, rmdir, (const char *path), (path), REMOVE, PATH, NOTHING)
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode), REMOVE, PATH, NOTHING)
WRAP(int, close, (int fd), (fd), CLOSE, FD, REAL(close)(fd))
WRAP(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), READ, FD, NOTHING)
WRAP(ssize_t, pread64, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at), READ, FD, NOTHING)
WRAP(void *, mmap, (void *to, size_t size, int protection, int flags, int fd, off_t at),
     (to, size, protection, flags, fd, at), MAP, FD, NOTHING)
WRAP(void *, mmap64, (void *to, size_t size, int protection, int flags, int fd, off64_t at),
     (to, size, protection, flags, fd, at), MAP, FD, NOTHING)

#define OPEN(name, first, argument)                                                        \
    int name(first const char *path, int flags, ...) {                                     \
        char whole[PATH_MAX];                                                              \
        va_list rest;                                                                      \
        va_start(rest, flags);                                                             \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;            \
        va_end(rest);                                                                      \
        if (is_hidden(path)) {                                                             \
            errno = ENOENT;                                                                \
            return -1;                                                                     \
        }                                                                                  \
        int class = !PATH ? 0 : flags & (O_WRONLY | O_RDWR | O_CREAT) ? STORE : READ;      \
        if (class && strikes(class, whole)) return -1;                                     \
        int result = REAL(name)(argument path, flags, mode);                               \
        int number = errno;                                                                \
        if (class) behind(class);                                                          \
        errno = number;                                                                    \
        return result;                                                                     \
    }
#define FOLDER int folder,
#define ITS_FOLDER folder,
OPEN(open, NOTHING, NOTHING)
OPEN(open64, NOTHING, NOTHING)
OPEN(openat, FOLDER, ITS_FOLDER)
OPEN(openat64, FOLDER, ITS_FOLDER)

#define HIDE(type, failure, name, parameters, arguments) \
    type name parameters {                               \
        if (is_hidden(path)) {                           \
            errno = ENOENT;                              \
            return failure;                              \
        }                                                \
        return REAL(name) arguments;                     \
    }
HIDE(int, -1, stat, (const char *path, struct stat *status), (path, status))
HIDE(int, -1, stat64, (const char *path, struct stat64 *status), (path, status))
HIDE(int, -1, lstat, (const char *path, struct stat *status), (path, status))
HIDE(int, -1, access, (const char *path, int mode), (path, mode))
HIDE(ssize_t, -1, readlink, (const char *path, char *data, size_t size), (path, data, size))
HIDE(DIR *, NULL, opendir, (const char *path), (path))
HIDE(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
HIDE(FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
