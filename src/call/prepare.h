// Prepared calls: the struct, and the functions that the files of src/call share.
#ifndef SPYI_CALL_PREPARE_H
#define SPYI_CALL_PREPARE_H

#include "call/call.h"

struct spy_prepared {
    spyi_object object;
    spy_function *function;
    spyi_plan *plan; // one reference; NULL while compiling or after a failure
    bool running;    // the thread has been started and not yet joined
    bool queued;     // the call waits for a free thread after a reload, or for one that makes the same plan
    spyi_thread thread;
    spyi_outside outside; // the device's record of the thread's work
    spyi_atomic finished; // set to 1 by the thread at its end
    spyi_values values;   // copies that the thread reads
    spyi_kept_options kept;
    spyi_plan *made;   // the plan that the thread made
    spy_status status; // the result of the last compilation
    spyi_text error;
    spyi_text made_error;
    spy_status made_status;
    // The last compilation was for a reload: the next call may bring arguments of other types.
    bool renewed;
    // Generation of the module's code that the plan, or the failure, belongs to. Joining a thread updates it.
    uint32_t generation;
    spy_prepared *previous, *next;
};

// snapshot.c: copies the values; false when out of memory. The caller then frees the part that was copied,
// too.
SPYI_FN bool spyi_copy_values(const spyi_values *from, spyi_values *to);
SPYI_FN void spyi_free_copies(spyi_values *values);

// prepare.c: makes all variants that a call with these values needs.
SPYI_FN spy_status spyi_variants_make(spyi_plan *plan, const spyi_values *values, spyi_text *error);

// Starts a thread that compiles the call for p->values and the module's current code; false means that no
// thread could be started.
SPYI_FN bool spyi_prepare_start(spy_prepared *p);
// Joins the thread, which has finished, and takes over the plan that it made. The caller has entered the
// device.
SPYI_FN void spyi_prepare_join(spy_prepared *p);
// Waits outside of the device until the thread has finished, then joins it.
SPYI_FN void spyi_prepare_wait(spy_prepared *p);
// Makes the plan and its variants on the calling thread, for `values` and the module's current code.
SPYI_FN spy_status spyi_prepare_now(spy_prepared *p, spyi_values *values, spyi_text *error);
// Copies the values for the next compile thread; false means that memory ran out, and no thread can be
// started.
SPYI_FN bool spyi_prepared_remember(spy_prepared *p, const spyi_values *values);
SPYI_FN bool spyi_prepared_outdated(const spy_prepared *p);
SPYI_FN const spy_call_options *spyi_prepared_options(const spy_prepared *p);

// prepared.c; the caller has entered the device. Only spyi_prepared_finish_all() waits.
SPYI_FN void spyi_prepared_reloaded(spy_device *device);       // starts threads that compile the new code
SPYI_FN void spyi_prepared_collect(spy_device *device);        // joins the threads that have finished
SPYI_FN bool spyi_prepared_renewing(const spy_device *device); // returns whether a thread compiles reloaded
                                                               // code
SPYI_FN bool spyi_prepared_compiles(struct spy_prepared *prepared); // returns whether the call's thread still
                                                                    // compiles
SPYI_FN void spyi_prepared_finish_all(spy_device *device);          // joins all compile threads
SPYI_FN void spyi_prepared_free(struct spy_prepared *prepared);
SPYI_FN void spyi_prepared_free_all(spy_device *device);

// attach.c: registers the functions of src/call at the device.
SPYI_FN void spyi_calls_attach(spy_device *device);

#endif // SPYI_CALL_PREPARE_H
