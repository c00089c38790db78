/* A disk that fails on order: preloaded into a gateway, it stands before the system's write calls.
 *
 * FAULTS_CONTROL names a file that the campaign (disk.py) maps, too: what is to fail, from which
 * operation on, how often; and what has happened so far. Only the files of the store
 * (store.sqlite*) and the segments of the audit log (*.audit) are on this disk.
 *
 * A sync that fails with UNSYNCED drops what was written since the last good one, as systems do:
 * the file keeps its length, its octets are what they were, zeros where there were none; and the
 * next sync succeeds. A SLOW one answers after slow_us, or when the disk is mended. CUT is a power
 * cut: so it is with all files, and the process is gone.
 *
 * The wall clock is here, too: it is wall_s seconds off.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STORE = 1, AUDIT = 2 };
enum { NONE, FULL, BROKEN, SHORT, UNSYNCED, SLOW, CUT };

struct control {
    int64_t fault, parts, from, times, slow_us; /* written by the campaign */
    int64_t store_operations, audit_operations, failed;
    int64_t wall_s; /* written by the campaign */
};

struct written { /* since the last good sync of its file */
    dev_t device;
    ino_t inode;
    off_t offset;
    size_t length, kept;
    char *before;
    struct written *older;
};

static struct control *control;
static struct written *undo;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_ftruncate)(int, off_t);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS_CONTROL");
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        control = mapped;
}

static int part_of(int file)
{
    char link[64], path[4096];
    if (!control)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    if (!name)
        return 0;
    if (!strncmp(name, "/store.sqlite", 13))
        return STORE;
    return length > 6 && !strcmp(path + length - 6, ".audit") ? AUDIT : 0;
}

static void settle(int file, int drop);

static void power_cut(void)
{
    while (undo) {
        int file = -1;
        struct stat status;
        for (int number = 3; number < 1024 && file < 0; number++)
            if (!fstat(number, &status) && status.st_ino == undo->inode
                && status.st_dev == undo->device)
                file = number;
        struct written *before = undo;
        if (file >= 0)
            settle(file, 1);
        if (undo == before) /* closed meanwhile */
            undo = undo->older;
    }
    _exit(9);
}

/* What is to become of this operation: a fault, or NONE. */
static int due(int part, int syncs, int writes)
{
    int64_t number = part == STORE ? ++control->store_operations : ++control->audit_operations;
    int fault = (int)control->fault;
    if (fault == NONE || !(control->parts & part) || number <= control->from || control->times <= 0)
        return NONE;
    if (fault == CUT)
        power_cut();
    if ((fault == UNSYNCED || fault == SLOW) && !syncs)
        return NONE;
    if (fault == SHORT && !writes)
        return NONE;
    if (fault == SLOW) {
        for (int64_t left = control->slow_us; left > 0 && control->fault == SLOW; left -= 10000) {
            struct timespec pause = {0, (left < 10000 ? left : 10000) * 1000};
            nanosleep(&pause, NULL);
        }
        return NONE;
    }
    control->times--;
    control->failed++;
    return fault;
}

static void remember(int file, off_t offset, size_t length)
{
    struct stat status;
    struct written *one = calloc(1, sizeof *one);
    if (!one || fstat(file, &status)) {
        free(one);
        return;
    }
    one->device = status.st_dev;
    one->inode = status.st_ino;
    one->offset = offset;
    one->length = length;
    one->before = malloc(length);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int again = open(path, O_RDONLY | O_CLOEXEC); /* this one may be open for writing only */
    if (again >= 0) {
        ssize_t kept = pread(again, one->before, length, offset);
        one->kept = kept > 0 ? (size_t)kept : 0;
        close(again);
    }
    one->older = undo;
    undo = one;
}

/* Forget what was written to a file, or (drop) have it never been written. */
static void settle(int file, int drop)
{
    struct stat status;
    char path[64];
    int again = -1;
    if (fstat(file, &status))
        return;
    if (drop) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        again = open(path, O_WRONLY | O_CLOEXEC);
    }
    for (struct written **at = &undo; *at;) {
        struct written *one = *at;
        if (one->device != status.st_dev || one->inode != status.st_ino) {
            at = &one->older;
            continue;
        }
        if (again >= 0) { /* the latest first */
            char *octets = calloc(1, one->length);
            size_t length = one->length;
            memcpy(octets, one->before, one->kept);
            if (one->offset + (off_t)length > status.st_size)
                length = one->offset < status.st_size ? (size_t)(status.st_size - one->offset) : 0;
            if (length)
                real_pwrite(again, octets, length, one->offset);
            free(octets);
        }
        *at = one->older;
        free(one->before);
        free(one);
    }
    if (again >= 0)
        close(again);
}

static int code_of(int fault) { return fault == FULL || fault == SHORT ? ENOSPC : EIO; }

static ssize_t put(int file, const void *octets, size_t length, off_t offset, int positioned)
{
    int part = part_of(file);
    if (!part)
        return positioned ? real_pwrite(file, octets, length, offset)
                          : real_write(file, octets, length);
    pthread_mutex_lock(&mutex);
    int fault = due(part, 0, 1);
    ssize_t result = -1;
    int code = code_of(fault);
    if (fault == SHORT && length > 1) {
        length /= 2;
        fault = NONE;
    }
    if (fault == NONE) {
        struct stat status;
        if (!positioned && (fcntl(file, F_GETFL) & O_APPEND))
            offset = fstat(file, &status) ? 0 : status.st_size;
        else if (!positioned)
            offset = lseek(file, 0, SEEK_CUR);
        remember(file, offset, length);
        result = positioned ? real_pwrite(file, octets, length, offset)
                            : real_write(file, octets, length);
        code = errno;
    }
    pthread_mutex_unlock(&mutex);
    errno = code;
    return result;
}

static int synced(int file, int (*real)(int))
{
    int part = part_of(file);
    if (!part)
        return real(file);
    pthread_mutex_lock(&mutex);
    int fault = due(part, 1, 0);
    int result = fault == NONE ? real(file) : -1;
    int code = fault == NONE ? errno : code_of(fault);
    if (fault == NONE || fault == UNSYNCED)
        settle(file, fault == UNSYNCED);
    pthread_mutex_unlock(&mutex);
    errno = code;
    return result;
}

static int cut(int file, off_t length)
{
    int part = part_of(file);
    if (!part)
        return real_ftruncate(file, length);
    pthread_mutex_lock(&mutex);
    int fault = due(part, 0, 0);
    int result = fault == NONE ? real_ftruncate(file, length) : -1;
    int code = fault == NONE ? errno : code_of(fault);
    pthread_mutex_unlock(&mutex);
    errno = code;
    return result;
}

ssize_t write(int file, const void *octets, size_t length) { return put(file, octets, length, 0, 0); }
ssize_t pwrite(int file, const void *octets, size_t length, off_t offset)
{
    return put(file, octets, length, offset, 1);
}
ssize_t pwrite64(int file, const void *octets, size_t length, off64_t offset)
{
    return put(file, octets, length, offset, 1);
}
int fsync(int file) { return synced(file, real_fsync); }
int fdatasync(int file) { return synced(file, real_fdatasync); }
int ftruncate(int file, off_t length) { return cut(file, length); }
int ftruncate64(int file, off64_t length) { return cut(file, length); }

int clock_gettime(clockid_t which, struct timespec *time)
{
    if (!real_clock) /* another library's constructor */
        real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_clock(which, time);
    if (which == CLOCK_REALTIME && control)
        time->tv_sec += control->wall_s;
    return result;
}
