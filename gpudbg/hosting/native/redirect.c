/* Programs that have a runtime linked into them: its functions are led to those of this library.

   The library is loaded before a program's own constructors run.  Where the symbol table of the
   program, or of a library that it opens later, names functions of the runtime that lie in the file
   itself, each begins with a jump from then on.  A file without a symbol table keeps its runtime,
   which asks the driver for more than its API (exports.c). */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define JUMP_BYTES 14
#define EXPORT __attribute__((visibility("default")))

/* Of the library that stands in for libcuda and libcudart. */
void *gpudbg_function(const char *name);

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

/* What registers a file's kernels when it is loaded, as nvcc and clang name it.  Where that has run
   before its calls were led here, it runs once more. */
#define MOST_REGISTRATIONS 1024
static void (*registrations[MOST_REGISTRATIONS])(void);
static unsigned registration_count;

static void note_registration(const char *name, uintptr_t at)
{
    int known = strstr(name, "__sti____cudaRegisterAll") != NULL ||
                !strcmp(name, "__cuda_module_ctor");
    if (known && registration_count < MOST_REGISTRATIONS)
        registrations[registration_count++] = (void (*)(void))at;
}

/* Names that mean something else in CUDA 13's runtime than in 12's, and what they mean there. */
static const char *const renamed[][2] = {
#include "renamed.h"
};

static void *function_of(const char *name, int newest)
{
    for (unsigned n = 0; newest && n < sizeof renamed / sizeof *renamed; n++)
        if (!strcmp(name, renamed[n][0]))
            return gpudbg_function(renamed[n][1]);
    return gpudbg_function(name);
}

/* Whether a file's runtime is CUDA 13's or newer: 12's has both versions of the properties, and
   11's no function by version. */
static int is_newest(const Elf64_Sym *symbols, uint64_t count, const char *names, uint64_t size)
{
    int older = 0, by_version = 0;
    for (uint64_t n = 0; n < count; n++)
        if (symbols[n].st_name < size && symbols[n].st_shndx != SHN_UNDEF) {
            older |= !strcmp(names + symbols[n].st_name, "cudaGetDeviceProperties_v2");
            by_version |= !strcmp(names + symbols[n].st_name, "cudaGetDriverEntryPointByVersion");
        }
    return by_version && !older;
}

static int is_runtime(const char *name)
{
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

static void redirect(const struct file *file, uintptr_t base, int was_initialized)
{
    const Elf64_Ehdr *head = (const void *)file->at;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shoff + (uint64_t)head->e_shnum * sizeof(Elf64_Shdr) > file->size)
        return;
    const Elf64_Shdr *sections = (const void *)(file->at + head->e_shoff);
    for (int n = 0; n < head->e_shnum; n++) {
        const Elf64_Shdr *table = &sections[n];
        if ((table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) ||
            table->sh_link >= head->e_shnum ||
            table->sh_offset + table->sh_size > file->size)
            continue;
        const Elf64_Shdr *names = &sections[table->sh_link];
        if (names->sh_offset + names->sh_size > file->size)
            continue;
        const Elf64_Sym *symbols = (const void *)(file->at + table->sh_offset);
        uint64_t count = table->sh_size / sizeof *symbols;
        int newest = is_newest(symbols, count, (const char *)file->at + names->sh_offset,
                               names->sh_size);
        for (uint64_t s = 0; s < count; s++) {
            const Elf64_Sym *symbol = &symbols[s];
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
                symbol->st_name >= names->sh_size)
                continue;
            const char *name = (const char *)file->at + names->sh_offset + symbol->st_name;
            if (was_initialized && table->sh_type == SHT_SYMTAB)
                note_registration(name, base + symbol->st_value);
            void *ours = is_runtime(name) ? function_of(name, newest) : NULL;
            if (ours != NULL && symbol->st_size >= JUMP_BYTES)
                lead((unsigned char *)base + symbol->st_value, ours);
        }
    }
}

/* Objects that have been seen, by where they lie. */
#define MOST_OBJECTS 4096
static uintptr_t seen[MOST_OBJECTS];
static unsigned seen_count;
static uintptr_t own;

static int is_new(uintptr_t base)
{
    for (unsigned n = 0; n < seen_count; n++)
        if (seen[n] == base)
            return 0;
    if (seen_count < MOST_OBJECTS)
        seen[seen_count++] = base;
    return 1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct file file;
    const char *name = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    if (!is_new(info->dlpi_addr) || info->dlpi_addr == own || name[0] != '/' ||
        open_file(name, &file))
        return 0;
    redirect(&file, info->dlpi_addr, *info->dlpi_name != 0);
    munmap((void *)file.at, file.size);
    return 0;
}

static void redirect_new_objects(void)
{
#ifdef __x86_64__
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (getenv("GPUDBG_EXEC_FD") == NULL)
        return;
    pthread_mutex_lock(&lock);
    dl_iterate_phdr(visit, NULL);
    while (registration_count)
        registrations[--registration_count]();
    pthread_mutex_unlock(&lock);
#endif
}

/* A name without a folder is searched for by the caller's own paths: that call stays the caller's,
   as a jump. */
EXPORT void *dlopen(const char *name, int mode)
{
    static void *(*real)(const char *, int);
    if (real == NULL)
        real = dlsym(RTLD_NEXT, "dlopen");
    if (name == NULL || strchr(name, '/') == NULL)
        return real(name, mode);
    void *made = real(name, mode);
    if (made != NULL)
        redirect_new_objects();
    return made;
}

__attribute__((constructor)) static void begin(void)
{
    Dl_info info;
    if (dladdr((void *)gpudbg_function, &info))
        own = (uintptr_t)info.dli_fbase;
    redirect_new_objects();
}
