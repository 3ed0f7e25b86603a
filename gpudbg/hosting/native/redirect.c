/* Programs that have a runtime linked into them: its functions are led to those of this library.

   The library is loaded before a program's own constructors run.  Where the program's symbol table
   names functions of the runtime that lie in the program itself, each begins with a jump from then
   on.  A program without a symbol table keeps its runtime, which asks the driver for more than
   public facts say (exports.c). */
#define _GNU_SOURCE
#include "state.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define JUMP_BYTES 14

struct file {
    const unsigned char *at;
    size_t size;
};

static int open_file(const char *name, struct file *file)
{
    struct stat state;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &state) || state.st_size < (off_t)sizeof(Elf64_Ehdr)) {
        close(fd);
        return -1;
    }
    file->size = state.st_size;
    file->at = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return file->at == MAP_FAILED ? -1 : 0;
}

/* jmp *0(%rip), then the address. */
static void lead(unsigned char *from, const void *to)
{
    static const unsigned char jump[6] = {0xFF, 0x25, 0, 0, 0, 0};
    uintptr_t page = sysconf(_SC_PAGESIZE), begin = (uintptr_t)from & -page;
    uintptr_t end = ((uintptr_t)from + JUMP_BYTES + page - 1) & -page;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC))
        return;
    memcpy(from, jump, sizeof jump);
    memcpy(from + sizeof jump, &to, sizeof to);
    mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC);
}

static int is_runtime(const char *name)
{
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

static void redirect(const struct file *file, uintptr_t base)
{
    const Elf64_Ehdr *head = (const void *)file->at;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shoff + (uint64_t)head->e_shnum * sizeof(Elf64_Shdr) > file->size)
        return;
    const Elf64_Shdr *sections = (const void *)(file->at + head->e_shoff);
    for (int n = 0; n < head->e_shnum; n++) {
        const Elf64_Shdr *table = &sections[n];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum ||
            table->sh_offset + table->sh_size > file->size)
            continue;
        const Elf64_Shdr *names = &sections[table->sh_link];
        if (names->sh_offset + names->sh_size > file->size)
            continue;
        const Elf64_Sym *symbols = (const void *)(file->at + table->sh_offset);
        for (uint64_t s = 0; s < table->sh_size / sizeof *symbols; s++) {
            const Elf64_Sym *symbol = &symbols[s];
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
                symbol->st_size < JUMP_BYTES || symbol->st_name >= names->sh_size)
                continue;
            const char *name = (const char *)file->at + names->sh_offset + symbol->st_name;
            void *ours = is_runtime(name) ? host_function(name, 1 << 30) : NULL;
            if (ours != NULL)
                lead((unsigned char *)base + symbol->st_value, ours);
        }
    }
}

static int first(struct dl_phdr_info *info, size_t size, void *base)
{
    *(uintptr_t *)base = info->dlpi_addr;
    return 1; /* the program itself */
}

__attribute__((constructor)) static void begin(void)
{
    uintptr_t base = 0;
    struct file file;
#ifdef __x86_64__
    if (getenv("GPUDBG_EXEC_FD") == NULL || open_file("/proc/self/exe", &file))
        return;
    dl_iterate_phdr(first, &base);
    redirect(&file, base);
    munmap((void *)file.at, file.size);
#endif
}
