#define _GNU_SOURCE
#include "CTillProgram.h"

#ifdef __linux__

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int unmap_code(struct dl_phdr_info *object, size_t size, void *page_size) {
    (void)size;
    uintptr_t mask = *(const uintptr_t *)page_size - 1;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        // Pages of a segment that is never written hold what the file holds. All others would lose their content.
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        uintptr_t end = (start + segment->p_memsz) & ~mask;
        start &= ~mask;
        // Fails for the kernel's own object, which is no file; it has one page.
        if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void till_unmap_code(void) {
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(unmap_code, &page_size);
}

#else

void till_unmap_code(void) {}

#endif
