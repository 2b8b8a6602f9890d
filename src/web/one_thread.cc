// The functions of threads that the C++ library asks for, where there is one thread: it never waits for another, and
// starts none.

#include <pthread.h>

#include <cerrno>
#include <cstddef>

extern "C" {

int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) { return EAGAIN; }
int pthread_join(pthread_t, void**) { return EINVAL; }
int pthread_detach(pthread_t) { return EINVAL; }
pthread_t pthread_self() { return {}; }

// What the C++ library keeps for each thread is kept for the threads that it starts.
int pthread_key_create(pthread_key_t*, void (*)(void*)) { return 0; }
int pthread_setspecific(pthread_key_t, const void*) { return 0; }

int pthread_mutex_init(pthread_mutex_t*, const pthread_mutexattr_t*) { return 0; }
int pthread_mutex_destroy(pthread_mutex_t*) { return 0; }
int pthread_mutex_lock(pthread_mutex_t*) { return 0; }
int pthread_mutex_trylock(pthread_mutex_t*) { return 0; }
int pthread_mutex_unlock(pthread_mutex_t*) { return 0; }

int pthread_cond_destroy(pthread_cond_t*) { return 0; }
int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*) { return EINVAL; }
int pthread_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*) { return ETIMEDOUT; }
int pthread_cond_signal(pthread_cond_t*) { return 0; }
int pthread_cond_broadcast(pthread_cond_t*) { return 0; }

}  // extern "C"
