// Records which functions of a server run after its start. scripts/order-functions loads it into `till serve`
// (LD_PRELOAD).
//
// When the server unmaps the code of its start (CTillProgram), each function gets a breakpoint. A function that reaches
// it is noted and loses it, so only the first call is slow.
//
// FUNCTION_OFFSETS names a file with the offset of each function in the program, 64 bits each, ascending.
// FUNCTIONS_RUN names the file to write when the server ends: the offset of each function that ran, a line each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { breakpoint = 0xcc };  // The instruction int3.

static uintptr_t program;  // Where the program is in memory.
static const uint64_t *offsets;
static size_t count;
static unsigned char *first_bytes, *ran;

static volatile unsigned char *entry(size_t function) {
    return (volatile unsigned char *)(program + offsets[function]);
}

static void fail(const char *what) {
    fprintf(stderr, "record-functions: %s\n", what);
    _exit(1);
}

static int note_program(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    program = info->dlpi_addr;
    return 1;  // The first entry is the program itself.
}

// Two threads may reach a breakpoint at once: the second finds the first byte in its place and just runs it.
static void reached(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t offset = (uint64_t)registers[REG_RIP] - 1 - program;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (offsets[middle] < offset) low = middle + 1; else high = middle;
    }
    if (low == count || offsets[low] != offset) {
        signal(SIGTRAP, SIG_DFL);  // A trap of the program's own ends it.
        return;
    }
    *entry(low) = first_bytes[low];
    ran[low] = 1;
    registers[REG_RIP] -= 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FUNCTION_OFFSETS");
    if (!path) return;
    unsetenv("LD_PRELOAD");  // Programs that the server starts are not recorded.
    int file = open(path, O_RDONLY | O_CLOEXEC);
    off_t length = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    if (length < 8) fail("FUNCTION_OFFSETS cannot be read");
    count = (size_t)length / 8;
    offsets = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, file, 0);
    first_bytes = malloc(count);
    ran = calloc(count, 1);
    if (offsets == MAP_FAILED || !first_bytes || !ran) fail("no memory");
    dl_iterate_phdr(note_program, NULL);
}

static void set_breakpoints(void) {
    uintptr_t first = (uintptr_t)entry(0) & ~(uintptr_t)4095, end = (uintptr_t)entry(count - 1) + 1;
    if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE | PROT_EXEC)) fail("the code cannot be written to");
    for (size_t function = 0; function < count; function++) first_bytes[function] = *entry(function);
    struct sigaction action = {.sa_sigaction = reached, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    for (size_t function = 0; function < count; function++) *entry(function) = breakpoint;
}

// In place of the C library's: the server calls it for its own code when its start is over.
int madvise(void *address, size_t length, int advice) {
    static int (*original)(void *, size_t, int);
    if (!original) original = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");
    int result = original(address, length, advice);
    uintptr_t from = (uintptr_t)address, code = count ? (uintptr_t)entry(0) : 0;
    if (advice == MADV_DONTNEED && count && code >= from && code - from < length) set_breakpoints();
    return result;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FUNCTIONS_RUN");
    if (!path || !count) return;
    FILE *file = fopen(path, "w");
    if (!file) fail("FUNCTIONS_RUN cannot be written");
    for (size_t function = 0; function < count; function++) {
        if (ran[function]) fprintf(file, "%llx\n", (unsigned long long)offsets[function]);
    }
    if (fclose(file)) fail("FUNCTIONS_RUN cannot be written");
}
