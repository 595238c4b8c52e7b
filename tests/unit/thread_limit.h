// Threads that cannot be started: pthread_create() of this program, in the C library's place. For one .c file of a test.
#ifndef THREAD_LIMIT_H
#define THREAD_LIMIT_H

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static int start_tries;      // of this program, in all
static int start_limit = -1; // so many more can be started; negative: any number

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*func)(void *), void *arg) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    __atomic_add_fetch(&start_tries, 1, __ATOMIC_RELAXED);
    if (start_limit == 0) return 11; // EAGAIN
    if (start_limit > 0) start_limit--;
    memcpy(&create, &symbol, sizeof create);
    return create(thread, attributes, func, arg);
}

#endif // THREAD_LIMIT_H
