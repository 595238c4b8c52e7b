// The kinds of work that the library has.
#include "backend/work.h"

SPYI_FN const spyi_work_kind *spyi_work_dispatch(void) {
    static const spyi_work_kind kind = { SPYI_WORK_DISPATCH, "dispatch" };
    return &kind;
}

SPYI_FN const spyi_work_kind *spyi_work_copy(void) {
    static const spyi_work_kind kind = { SPYI_WORK_COPY, "copy" };
    return &kind;
}

SPYI_FN const spyi_work_kind *spyi_work_fill(void) {
    static const spyi_work_kind kind = { SPYI_WORK_FILL, "fill" };
    return &kind;
}

SPYI_FN const spyi_work_kind *spyi_work_upload(void) {
    static const spyi_work_kind kind = { SPYI_WORK_UPLOAD, "upload" };
    return &kind;
}

SPYI_FN const spyi_work_kind *spyi_work_label(void) {
    static const spyi_work_kind kind = { SPYI_WORK_LABEL, "label" };
    return &kind;
}

SPYI_FN const spyi_work_kind *spyi_work_time_mark(void) {
    static const spyi_work_kind kind = { SPYI_WORK_TIME_MARK, "timestamp" };
    return &kind;
}

SPYI_FN const spyi_work_kind *spyi_work_time_store(void) {
    static const spyi_work_kind kind = { SPYI_WORK_TIME_STORE, "store of timestamps" };
    return &kind;
}

SPYI_FN spy_status spyi_work_unsupported(const struct spyi_backend *backend, const spyi_work *work,
                                         spyi_text *error) {
    spyi_text_add(error, "%s: the backend '%s' does not support it", work->kind->name, backend->name);
    return SPY_ERROR_UNSUPPORTED;
}
