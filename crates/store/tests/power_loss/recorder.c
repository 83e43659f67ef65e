// Preloaded into a process: writes down, in one order, what the process does to the files below a folder, and lets some
// of its writes and syncs fail.
//
//   CORACLE_RECORDER_ROOT    the folder, absolute; what is written to the file ROOT.said is written down as said
//   CORACLE_RECORDER_OUTPUT  the file that gets the entries
//   CORACLE_RECORDER_FAULT   "write|sync ERRNO FIRST COUNT": calls FIRST to FIRST + COUNT - 1 of that kind fail
//
// An entry: kind u32, length of the name u32, inode u64, offset u64, length of the data u64, name, data.
// Names are relative to the folder. An entry is written after the call has succeeded, and one lock is held over both:
// what a sync makes durable is what stands before it.
//
// As on Linux, a sync that fails does so once for every open file, and what it should have written is not tried again.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE = 1, MKDIR, WRITE, TRUNCATE, RENAME, UNLINK, RMDIR, SYNC, SYNC_FOLDER, SYNC_FAILED, SAID };

enum { MAX_FILES = 4096, MAX_FAILURES = 64 };

static char root[PATH_MAX];
static char said[PATH_MAX + 8];
static size_t root_length;
static int output = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static int fault_on_sync = -1, fault_errno;
static long fault_first, fault_count, fault_calls;

// Which inodes had a sync that failed, and how many of these failures each open file has been told of.
static struct { ino_t inode; unsigned failures; } failed[MAX_FAILURES];
static unsigned told[MAX_FILES];

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("CORACLE_RECORDER_ROOT"), *file = getenv("CORACLE_RECORDER_OUTPUT");
    const char *fault = getenv("CORACLE_RECORDER_FAULT");
    if (!folder || !file) return;
    snprintf(root, sizeof root, "%s", folder);
    snprintf(said, sizeof said, "%s.said", folder);
    root_length = strlen(root);
    output = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    char kind[16];
    if (fault && sscanf(fault, "%15s %d %ld %ld", kind, &fault_errno, &fault_first, &fault_count) == 4)
        fault_on_sync = strcmp(kind, "sync") == 0;
}

// The path of `name`, as open calls give it, below the folder; 0 if it is elsewhere.
static int below(int folder, const char *name, char *path, const char **relative) {
    if (output < 0) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        char link[64];
        if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, path, PATH_MAX - 1);
        if (length < 0) return 0;
        snprintf(path + length, PATH_MAX - (size_t)length, "/%s", name);
    }
    if (strncmp(path, root, root_length) != 0) return 0;
    if (path[root_length] == 0) *relative = "";
    else if (path[root_length] == '/') *relative = path + root_length + 1;
    else return 0;
    return 1;
}

// Whether an open file is below the folder (1), is what is said (2), or neither (0).
static int concerns(int file, char *path, const char **relative) {
    if (output < 0 || file < 0) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strcmp(path, said) == 0) return 2;
    return below(AT_FDCWD, path, path + PATH_MAX, relative);
}

static ino_t inode(int file) {
    struct stat found;
    return fstat(file, &found) == 0 ? found.st_ino : 0;
}

static void put(const void *bytes, size_t length) {
    const char *from = bytes;
    while (length > 0) {
        ssize_t done = syscall(SYS_write, output, from, length);
        if (done <= 0) _exit(99);
        from += done;
        length -= (size_t)done;
    }
}

static void entry(enum kind kind, const char *name, ino_t inode, uint64_t offset, const void *data, size_t length) {
    struct { uint32_t kind, name_length; uint64_t inode, offset, length; } head = {
        kind, (uint32_t)strlen(name), inode, offset, length,
    };
    put(&head, sizeof head);
    put(name, head.name_length);
    put(data, length);
}

static int fails(int sync) {
    if (fault_on_sync != sync) return 0;
    long call = fault_calls++;
    return call >= fault_first && call < fault_first + fault_count;
}

static unsigned failures_of(ino_t inode) {
    for (int index = 0; index < MAX_FAILURES; index++)
        if (failed[index].inode == inode) return failed[index].failures;
    return 0;
}

static void count_failure(ino_t inode) {
    for (int index = 0; index < MAX_FAILURES; index++) {
        if (failed[index].inode == inode || failed[index].inode == 0) {
            failed[index].inode = inode;
            failed[index].failures++;
            return;
        }
    }
    _exit(98);
}

static int open_at(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    const char *relative;
    if (!below(folder, name, path, &relative)) return (int)syscall(SYS_openat, folder, name, flags, mode);
    pthread_mutex_lock(&order);
    int there = faccessat(folder, name, F_OK, 0) == 0;
    int file = (int)syscall(SYS_openat, folder, name, flags, mode);
    int error = errno;
    if (file >= 0 && (flags & O_CREAT) && !there) entry(CREATE, relative, inode(file), 0, "", 0);
    else if (file >= 0 && (flags & O_TRUNC)) entry(TRUNCATE, "", inode(file), 0, "", 0);
    if (file >= 0 && file < MAX_FILES) told[file] = failures_of(inode(file));
    pthread_mutex_unlock(&order);
    errno = error;
    return file;
}

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = mode_of(flags, rest); \
        va_end(rest); \
        return open_at(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = mode_of(flags, rest); \
        va_end(rest); \
        return open_at(folder, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

static ssize_t write_at(int file, const void *data, size_t length, off_t offset, int positioned) {
    char path[2 * PATH_MAX];
    const char *relative;
    int concerned = concerns(file, path, &relative);
    if (!concerned)
        return positioned ? syscall(SYS_pwrite64, file, data, length, offset) : syscall(SYS_write, file, data, length);
    pthread_mutex_lock(&order);
    ssize_t done;
    if (concerned == 1 && fails(0)) {
        errno = fault_errno;
        done = -1;
    } else if (positioned) {
        done = syscall(SYS_pwrite64, file, data, length, offset);
    } else {
        done = syscall(SYS_write, file, data, length);
        offset = lseek(file, 0, SEEK_CUR) - done;
    }
    int error = errno;
    if (done > 0 && concerned == 2) entry(SAID, "", 0, 0, data, (size_t)done);
    else if (done > 0) entry(WRITE, "", inode(file), (uint64_t)offset, data, (size_t)done);
    pthread_mutex_unlock(&order);
    errno = error;
    return done;
}

ssize_t write(int file, const void *data, size_t length) { return write_at(file, data, length, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t length, off_t offset) { return write_at(file, data, length, offset, 1); }
ssize_t pwrite64(int file, const void *data, size_t length, off_t offset) { return write_at(file, data, length, offset, 1); }

ssize_t writev(int file, const struct iovec *parts, int count) {
    char path[2 * PATH_MAX];
    const char *relative;
    if (!concerns(file, path, &relative)) return syscall(SYS_writev, file, parts, count);
    // A short write is a right answer to a gathered one.
    for (int part = 0; part < count; part++)
        if (parts[part].iov_len > 0) return write_at(file, parts[part].iov_base, parts[part].iov_len, 0, 0);
    return 0;
}

static int truncate_to(int file, off_t length) {
    char path[2 * PATH_MAX];
    const char *relative;
    if (!concerns(file, path, &relative)) return (int)syscall(SYS_ftruncate, file, length);
    pthread_mutex_lock(&order);
    int outcome = (int)syscall(SYS_ftruncate, file, length);
    int error = errno;
    if (outcome == 0) entry(TRUNCATE, "", inode(file), (uint64_t)length, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return outcome;
}

int ftruncate(int file, off_t length) { return truncate_to(file, length); }
int ftruncate64(int file, off_t length) { return truncate_to(file, length); }

static int sync_by(long call, int file) {
    char path[2 * PATH_MAX];
    const char *relative;
    struct stat found;
    if (!concerns(file, path, &relative) || fstat(file, &found) != 0) return (int)syscall(call, file);
    pthread_mutex_lock(&order);
    int folder = S_ISDIR(found.st_mode), outcome = 0, error = 0;
    if (!folder && fails(1)) {
        count_failure(found.st_ino);
        entry(SYNC_FAILED, "", found.st_ino, 0, "", 0);
    }
    unsigned failures = failures_of(found.st_ino);
    if (!folder && file < MAX_FILES && told[file] < failures) {
        told[file] = failures;
        outcome = -1;
        error = fault_errno;
    } else if (folder) {
        entry(SYNC_FOLDER, relative, 0, 0, "", 0);
    } else {
        entry(SYNC, "", found.st_ino, 0, "", 0);
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return outcome;
}

int fsync(int file) { return sync_by(SYS_fsync, file); }
int fdatasync(int file) { return sync_by(SYS_fdatasync, file); }

static int rename_at(int from_folder, const char *from, int to_folder, const char *to) {
    char from_path[PATH_MAX], to_path[PATH_MAX];
    const char *from_name, *to_name;
    int concerned = below(from_folder, from, from_path, &from_name) && below(to_folder, to, to_path, &to_name);
    if (!concerned) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    pthread_mutex_lock(&order);
    int outcome = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    int error = errno;
    if (outcome == 0) entry(RENAME, from_name, 0, 0, to_name, strlen(to_name));
    pthread_mutex_unlock(&order);
    errno = error;
    return outcome;
}

int rename(const char *from, const char *to) { return rename_at(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return rename_at(from_folder, from, to_folder, to);
}

static int remove_at(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    const char *relative;
    if (!below(folder, name, path, &relative)) return (int)syscall(SYS_unlinkat, folder, name, flags);
    pthread_mutex_lock(&order);
    int outcome = (int)syscall(SYS_unlinkat, folder, name, flags);
    int error = errno;
    if (outcome == 0) entry(flags & AT_REMOVEDIR ? RMDIR : UNLINK, relative, 0, 0, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return outcome;
}

int unlink(const char *name) { return remove_at(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return remove_at(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int folder, const char *name, int flags) { return remove_at(folder, name, flags); }

int mkdir(const char *name, mode_t mode) {
    char path[PATH_MAX];
    const char *relative;
    if (!below(AT_FDCWD, name, path, &relative)) return (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    pthread_mutex_lock(&order);
    int outcome = (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    int error = errno;
    if (outcome == 0) entry(MKDIR, relative, 0, 0, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return outcome;
}
