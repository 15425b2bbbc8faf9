/* What does a process write into one folder, and what does it sync? For LD_PRELOAD.
 *
 * Every change of a file under $WRITES_FOLDER goes, once it is done, to the file $WRITES_LOG: when it began and ended
 * (CLOCK_MONOTONIC), which file, where, and the bytes. Files that end in -shm are left out: SQLite makes them anew.
 * Nothing is renamed, or written by other calls: whoever reads the log checks that it gives the files as they are.
 * One lock is held around a change and its record, so that the log has them in the order in which they happened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPENED = 1, WRITTEN, TRUNCATED, REMOVED, SYNCED };

struct record {
    int64_t begin, end, offset;
    uint32_t kind, path, size, none;
};

#define FILES 4096
static char *names[FILES]; /* by descriptor: its path within the folder */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_size;
static int logged = -1;

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("WRITES_LOG");
    folder = getenv("WRITES_FOLDER");
    if (!path || !folder) return;
    folder_size = strlen(folder);
    logged = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* The part of a path behind the folder ("." for itself), or NULL if it is elsewhere. */
static const char *within(const char *path) {
    size_t size;
    if (logged < 0 || !path || strncmp(path, folder, folder_size)) return NULL;
    if (!path[folder_size]) return ".";
    if (path[folder_size] != '/') return NULL;
    size = strlen(path);
    if (size >= 4 && !strcmp(path + size - 4, "-shm")) return NULL;
    return path + folder_size + 1;
}

static void note(int kind, const char *path, int64_t began, int64_t offset, const void *data, size_t size) {
    struct record head = {began, now(), offset, (uint32_t)kind, (uint32_t)strlen(path), (uint32_t)size, 0};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)data, size}};
    ssize_t whole = (ssize_t)(sizeof head + head.path + size);
    if (syscall(SYS_writev, logged, parts, 3) != whole) abort(); /* a log with gaps would prove nothing */
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define LOCKED(call, test, record) \
    do { \
        int kept; \
        int64_t began; \
        pthread_mutex_lock(&lock); \
        began = now(); \
        done = call; \
        kept = errno; \
        if (test) record; \
        (void)began; \
        errno = kept; \
        pthread_mutex_unlock(&lock); \
    } while (0)

static int opened(int descriptor, const char *path, int flags, int64_t began) {
    const char *name = within(path);
    if (descriptor < 0 || descriptor >= FILES || !name) return descriptor;
    free(names[descriptor]);
    names[descriptor] = strdup(name);
    if (flags & O_CREAT) note(OPENED, name, began, 0, NULL, 0);
    if (flags & O_TRUNC) note(TRUNCATED, name, began, 0, NULL, 0);
    return descriptor;
}

#define OPEN(symbol) \
    int symbol(const char *path, int flags, ...) { \
        REAL(int, #symbol, const char *, int, ...); \
        int done; \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        if (!within(path)) return real(path, flags, mode); \
        LOCKED(real(path, flags, mode), done >= 0, opened(done, path, flags, began)); \
        return done; \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(symbol) \
    int symbol(int at, const char *path, int flags, ...) { \
        REAL(int, #symbol, int, const char *, int, ...); \
        int done; \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        if (!within(path)) return real(at, path, flags, mode); \
        LOCKED(real(at, path, flags, mode), done >= 0, opened(done, path, flags, began)); \
        return done; \
    }
OPENAT(openat)
OPENAT(openat64)

static const char *name_of(int descriptor) {
    return descriptor >= 0 && descriptor < FILES ? names[descriptor] : NULL;
}

int close(int descriptor) {
    REAL(int, "close", int);
    if (name_of(descriptor)) {
        pthread_mutex_lock(&lock);
        free(names[descriptor]);
        names[descriptor] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return real(descriptor);
}

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    ssize_t done;
    if (!name_of(descriptor)) return real(descriptor, data, size);
    LOCKED(real(descriptor, data, size), done > 0,
           note(WRITTEN, names[descriptor], began, lseek(descriptor, 0, SEEK_CUR) - done, data, (size_t)done));
    return done;
}

#define PWRITE(symbol, type) \
    ssize_t symbol(int descriptor, const void *data, size_t size, type offset) { \
        REAL(ssize_t, #symbol, int, const void *, size_t, type); \
        ssize_t done; \
        if (!name_of(descriptor)) return real(descriptor, data, size, offset); \
        LOCKED(real(descriptor, data, size, offset), done > 0, \
               note(WRITTEN, names[descriptor], began, offset, data, (size_t)done)); \
        return done; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(symbol, type) \
    int symbol(int descriptor, type size) { \
        REAL(int, #symbol, int, type); \
        int done; \
        if (!name_of(descriptor)) return real(descriptor, size); \
        LOCKED(real(descriptor, size), !done, note(TRUNCATED, names[descriptor], began, size, NULL, 0)); \
        return done; \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(symbol) \
    int symbol(int descriptor) { \
        REAL(int, #symbol, int); \
        int done; \
        if (!name_of(descriptor)) return real(descriptor); \
        LOCKED(real(descriptor), !done, note(SYNCED, names[descriptor], began, 0, NULL, 0)); \
        return done; \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    int done;
    if (!within(path)) return real(path);
    LOCKED(real(path), !done, note(REMOVED, within(path), began, 0, NULL, 0));
    return done;
}
