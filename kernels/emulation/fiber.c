#include "kernels/emulation/fiber.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { FIBER_STACK = 512 << 10 };
#else
enum { FIBER_STACK = 128 << 10 };
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#define FIBER_UCONTEXT 1
#include <ucontext.h>
#endif

struct fiber {
    void *stack_pointer; /* while it does not run */
    unsigned char *stack;
    size_t bytes;
    void (*run)(void *argument);
    void *argument;
#ifdef FIBER_UCONTEXT
    ucontext_t context;
#endif
#ifdef FIBER_ASAN
    void *fake_stack;
#endif
    bool borrowed; /* the stack is the caller's */
};

#ifndef FIBER_UCONTEXT
/* Saves the registers a call must keep on the stack, puts its address into *from and goes on with the stack `to`. */
void fiber_swap(void **from, void *to) __attribute__((visibility("hidden")));
/* What a new stack begins with: calls the function in one kept register with the argument in another. */
void fiber_begin(void) __attribute__((visibility("hidden")));
#endif

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl fiber_swap\n.hidden fiber_swap\n.type fiber_swap, @function\n"
        "fiber_swap:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size fiber_swap, .-fiber_swap\n"
        ".globl fiber_begin\n.hidden fiber_begin\n.type fiber_begin, @function\n"
        "fiber_begin:\n"
        "    movq %r12, %rdi\n    callq *%r13\n    ud2\n"
        ".size fiber_begin, .-fiber_begin\n");
/* As fiber_swap takes them off again. */
struct saved {
    void *r15, *r14, *r13, *r12, *rbx, *rbp, *go_on,
        *unused[2]; /* calls are made with the stack on 16 bytes */
};
static void prepare(struct saved *s, void (*run)(void *), void *argument)
{
    s->r13 = (void *)(uintptr_t)run;
    s->r12 = argument;
    s->go_on = (void *)(uintptr_t)fiber_begin;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl fiber_swap\n.hidden fiber_swap\n.type fiber_swap, %function\n"
        "fiber_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n    ret\n"
        ".size fiber_swap, .-fiber_swap\n"
        ".globl fiber_begin\n.hidden fiber_begin\n.type fiber_begin, %function\n"
        "fiber_begin:\n"
        "    mov x0, x19\n    blr x20\n    brk #1\n"
        ".size fiber_begin, .-fiber_begin\n");
struct saved {
    void *x19, *x20, *x21_to_x29[9], *x30;
    double d8_to_d15[8];
};
static void prepare(struct saved *s, void (*run)(void *), void *argument)
{
    s->x19 = argument;
    s->x20 = (void *)(uintptr_t)run;
    s->x30 = (void *)(uintptr_t)fiber_begin;
}
#endif

static void enter(void *fiber)
{
    struct fiber *f = fiber;
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    f->run(f->argument);
}

#ifdef FIBER_UCONTEXT
/* makecontext hands over ints: a pointer comes in two halves. */
static void begin_halves(unsigned high, unsigned low)
{
    enter((struct fiber *)(((uintptr_t)high << 16 << 16) | low));
}
#endif

void fiber_reset(struct fiber *f)
{
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(f->stack, f->bytes);
    f->fake_stack = NULL;
#endif
#ifdef FIBER_UCONTEXT
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = f->bytes;
    f->context.uc_link = NULL;
    makecontext(&f->context, (void (*)(void))begin_halves, 2, (unsigned)((uintptr_t)f >> 16 >> 16),
                (unsigned)(uintptr_t)f);
#else
    struct saved *s = (struct saved *)(void *)(f->stack + f->bytes - sizeof *s);
    *s = (struct saved){0};
    prepare(s, enter, f);
    f->stack_pointer = s;
#endif
}

struct fiber *fiber_new(void (*run)(void *argument), void *argument)
{
    struct fiber *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    size_t guard =
        (size_t)sysconf(_SC_PAGESIZE); /* below the stack: running over it ends the process at once */
    unsigned char *room =
        mmap(NULL, guard + FIBER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        free(f);
        return NULL;
    }
    mprotect(room, guard, PROT_NONE);
    f->stack = room + guard;
    f->bytes = FIBER_STACK;
    f->run = run;
    f->argument = argument;
    fiber_reset(f);
    return f;
}

struct fiber *fiber_of_caller(void)
{
    struct fiber *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->borrowed = true;
#ifdef FIBER_ASAN /* which wants to know where it is; asking takes long */
    pthread_attr_t attributes;
    void *stack = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &stack, &f->bytes);
        pthread_attr_destroy(&attributes);
    }
    f->stack = stack;
#endif
    return f;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->bytes);
#endif
#ifdef FIBER_UCONTEXT
    swapcontext(&from->context, &to->context);
#else
    fiber_swap(&from->stack_pointer, to->stack_pointer);
#endif
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

const void *fiber_stack(const struct fiber *f, size_t *bytes)
{
    *bytes = f->bytes;
    return f->stack;
}

void fiber_free(struct fiber *f)
{
    if (!f)
        return;
    if (f->stack && !f->borrowed) {
        size_t guard = (size_t)sysconf(_SC_PAGESIZE);
        munmap(f->stack - guard, guard + f->bytes);
    }
    free(f);
}
