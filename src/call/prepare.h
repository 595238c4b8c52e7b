// Prepared calls, as their files share them.
#ifndef SPYI_CALL_PREPARE_H
#define SPYI_CALL_PREPARE_H

#include "call/call.h"

struct spy_prepared {
    spyi_object object;
    spy_function *function;
    spyi_plan *plan; // one reference; NULL while compiling or after a failure
    bool running;    // a thread has not been joined yet
    bool queued;     // for a thread, after a reload
    spyi_thread thread;
    spyi_outside outside; // the thread's
    spyi_atomic finished; // set by the thread at its end
    spyi_values values;   // copies for threads
    spyi_kept_options kept;
    spyi_plan *made;   // by the thread
    spy_status status; // of the last compilation
    spyi_text error;
    spyi_text made_error;
    spy_status made_status;
    bool renewed;        // the last compilation was for a reload: the next call may bring other arguments
    uint32_t generation; // of the module that the plan, or the failure, is of; the thread's own while it runs
    spy_prepared *previous, *next;
};

// snapshot.c
// false: out of memory; what there is must be freed nevertheless.
SPYI_FN bool spyi_copy_values(const spyi_values *from, spyi_values *to);
SPYI_FN void spyi_free_copies(spyi_values *values);

// prepare.c
// Makes all variants that a call with these values needs.
SPYI_FN spy_status spyi_variants_make(spyi_plan *plan, const spyi_values *values, spyi_text *error);

// Starts a thread that compiles the call for its values and the module's code of today; false: there is none to be had.
SPYI_FN bool spyi_prepare_start(spy_prepared *p);
// After its thread has finished: takes over what that made. Inside the device.
SPYI_FN void spyi_prepare_join(spy_prepared *p);
// Leaves the device until the thread has finished, then joins it.
SPYI_FN void spyi_prepare_wait(spy_prepared *p);
// The plan and its variants on this thread, for the arguments at hand and the module's code of today.
SPYI_FN spy_status spyi_prepare_now(spy_prepared *p, spyi_values *values, spyi_text *error);
// What a thread will compile the next time. false: out of memory, and no thread will.
SPYI_FN bool spyi_prepared_remember(spy_prepared *p, const spyi_values *values);
SPYI_FN bool spyi_prepared_outdated(const spy_prepared *p);
SPYI_FN const spy_call_options *spyi_prepared_options(const spy_prepared *p);

// prepared.c: all within the device, without waiting but where it is said
SPYI_FN void spyi_prepared_reloaded(spy_device *device); // has threads compile the new code of prepared calls
SPYI_FN void spyi_prepared_collect(spy_device *device);  // takes over what threads have finished
SPYI_FN bool spyi_prepared_renewing(const spy_device *device);      // a thread compiles new code of one
SPYI_FN bool spyi_prepared_compiles(struct spy_prepared *prepared); // its thread has not ended yet
SPYI_FN void spyi_prepared_finish_all(spy_device *device); // waits for all compile threads; the device goes
SPYI_FN void spyi_prepared_free(struct spy_prepared *prepared);
SPYI_FN void spyi_prepared_free_all(spy_device *device);

// attach.c
SPYI_FN void spyi_calls_attach(spy_device *device);

#endif // SPYI_CALL_PREPARE_H
