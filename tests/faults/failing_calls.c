/* Preloaded into a process: calls of the C library that change files below a folder fail once `fail_at` has asked for it.
   Removals never fail, so what is left behind was not removed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static char under[4096];
static int at = -1, wrong, *seen; /* seen: shared with forked children */

/* Fail the `number`-th call below `folder`, from 1, with this error, in this process and its children; 0 only counts. */
void fail_at(const char *folder, int number, int error) {
    if (!seen) seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    strncpy(under, folder, sizeof under - 1);
    at = number, wrong = error, *seen = 0;
}

int calls_seen(void) { return *seen; }

static int fails(const char *path) {
    if (at < 0 || strncmp(path, under, strlen(under))) return 0;
    if (__atomic_add_fetch(seen, 1, __ATOMIC_SEQ_CST) != at) return 0;
    errno = wrong;
    return 1;
}

static int fails_in(int folder, const char *path) {
    char there[4096];
    if (path && path[0] == '/') return fails(path);
    if (folder == AT_FDCWD) return 0; /* the tests name files by absolute paths */
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = at < 0 ? -1 : readlink(link, there, sizeof there - 1);
    if (length < 0) return 0;
    there[length] = 0;
    return fails(there);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MODE va_list rest; va_start(rest, flags); mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; va_end(rest)

int open(const char *path, int flags, ...) { REAL(open); MODE; return flags & O_CREAT && fails(path) ? -1 : real(path, flags, mode); }
int open64(const char *path, int flags, ...) { REAL(open64); MODE; return flags & O_CREAT && fails(path) ? -1 : real(path, flags, mode); }
ssize_t write(int file, const void *data, size_t size) { REAL(write); return fails_in(file, NULL) ? -1 : real(file, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { REAL(pwrite); return fails_in(file, NULL) ? -1 : real(file, data, size, place); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t place) { REAL(pwrite64); return fails_in(file, NULL) ? -1 : real(file, data, size, place); }
int fsync(int file) { REAL(fsync); return fails_in(file, NULL) ? -1 : real(file); }
int ftruncate64(int file, off64_t size) { REAL(ftruncate64); return fails_in(file, NULL) ? -1 : real(file, size); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); return fails(path) ? -1 : real(path, mode); }
int chmod(const char *path, mode_t mode) { REAL(chmod); return fails(path) ? -1 : real(path, mode); }
int rename(const char *from, const char *to) { REAL(rename); return fails(to) ? -1 : real(from, to); }
int link(const char *from, const char *to) { REAL(link); return fails(to) ? -1 : real(from, to); }
int symlink(const char *from, const char *to) { REAL(symlink); return fails(to) ? -1 : real(from, to); }
