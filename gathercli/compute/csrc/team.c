/* Threads that stay between calls. They are started when first wanted and then wait, which costs a
   call less than to start them; after a while without work they end, and with the process.

   A call never waits for a thread that has not begun: its caller does all that is left itself. */

#include "native.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#ifndef IDLE
#define IDLE 5 /* Seconds without work after which a thread ends. */
#endif
#define STACK (512 << 10)
#define MOST 256

typedef struct Task {
    struct Task *next;
    void (*work)(void *);
    void *argument;
    int wanted, active; /* Threads that may still begin, and those that have not ended. */
} Task;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Of all below. */
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static Task *tasks; /* Those with wanted > 0. */
static int members, busy; /* The threads, and those of them that work. */

/* Drop a task from the list, where it is in it. */
static void
withdraw(Task *task)
{
    for (Task **at = &tasks; *at; at = &(*at)->next)
        if (*at == task) {
            *at = task->next;
            return;
        }
}

static void *
member(void *nothing)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += IDLE;
        while (!tasks)
            if (pthread_cond_timedwait(&arrived, &lock, &until) == ETIMEDOUT && !tasks) {
                members--;
                pthread_mutex_unlock(&lock);
                return nothing;
            }
        Task *task = tasks;
        task->active++;
        busy++;
        if (--task->wanted == 0)
            withdraw(task);
        pthread_mutex_unlock(&lock);
        task->work(task->argument);
        pthread_mutex_lock(&lock);
        busy--;
        if (--task->active == 0)
            pthread_cond_broadcast(&left); /* The caller of each task looks at its own. */
    }
}

/* Start members until `wanted` of them are free, there are as many as may be, or the system has no
   more. */
static void
recruit(int wanted)
{
    int count = busy + wanted;
    for (const Task *task = tasks; task; task = task->next)
        count += task->wanted; /* They have not begun. */
    count = count < MOST ? count : MOST;
    sigset_t signals, before;
    pthread_attr_t attributes;
    if (members >= count || pthread_attr_init(&attributes))
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    /* Signals are for the threads of the interpreter, but for those of a thread's own faults. */
    sigfillset(&signals);
    for (const int *own = (const int[]){SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, 0}; *own; own++)
        sigdelset(&signals, *own);
    pthread_sigmask(SIG_SETMASK, &signals, &before);
    for (pthread_t thread; members < count; members++)
        if (pthread_create(&thread, &attributes, member, NULL))
            break;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* A child has the thread that forked alone, and no other's tasks. */
static void
after_fork_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&arrived, NULL);
    pthread_cond_init(&left, NULL);
    tasks = NULL;
    members = busy = 0;
}

static void
watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void
work_together(int helpers, void (*work)(void *), void *argument)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (helpers < 1) {
        work(argument);
        return;
    }
    pthread_once(&once, watch_forks);
    Task task = {NULL, work, argument, helpers, 0};
    pthread_mutex_lock(&lock);
    recruit(helpers);
    Task **end = &tasks;
    while (*end)
        end = &(*end)->next;
    *end = &task;
    if (helpers == 1)
        pthread_cond_signal(&arrived);
    else
        pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
    work(argument);
    pthread_mutex_lock(&lock);
    withdraw(&task);
    while (task.active)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}
