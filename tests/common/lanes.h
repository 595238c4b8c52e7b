// Lanes: the threads of a GPU's group, as contexts that take turns on one thread of the CPU.
//
// swapcontext() asks the system for the signal mask at each turn, _longjmp() does not: a lane begins by setcontext(), and all its later
// turns are jumps.
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

typedef struct lane_context {
    ucontext_t first;
    jmp_buf again;
    bool started;
} lane_context;

// Makes a lane that calls begin() on the stack at its first turn. begin() must not return.
static inline void lane_make(lane_context *l, void (*begin)(void), char *stack, size_t stack_size) {
    (void)getcontext(&l->first);
    l->first.uc_stack.ss_sp = stack;
    l->first.uc_stack.ss_size = stack_size;
    l->first.uc_link = NULL;
    makecontext(&l->first, begin, 0);
    l->started = false;
}

// Lets lane `to` go on. Returns when another lane lets `from` go on, which is the lane that calls, or the place outside of all lanes.
static inline void lane_switch(lane_context *from, lane_context *to) {
    from->started = true;
    if (_setjmp(from->again) != 0) return;
    if (to->started) _longjmp(to->again, 1);
    to->started = true;
    (void)setcontext(&to->first);
}
