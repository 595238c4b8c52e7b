// Streams that the program captures into a CUDA graph (cuStreamBeginCapture; torch.cuda.graph). What goes to
// such a stream does not run then. It runs at each launch of the program's graph, of which the device hears
// nothing. So, while the stream is being captured:
//
// - Work belongs to no batch. No event of the device is recorded in the stream or waited for from it: CUDA
//   refuses both, and the capture becomes invalid.
// - What the work uses stays as it is until the device is released: the pool's memory, the pages with
//   parameters, and kernels.
// - Nothing can be read back or waited for; errors say why.
// - The device's earlier work is done before the capture begins to get work, by a wait of the host, because
//   the graph cannot wait for it.
//
// Other calls of the driver that take part in no stream, such as cuMemAlloc, are forbidden by default while
// any thread captures. They are made between spyi_cuda_relax() and spyi_cuda_restore().
#include "cuda/internal.h"

SPYI_FN bool spyi_cuda_is_captured(const spyi_cuda_gpu *gpu, spyi_cu_stream stream) {
    int state = 0;
    return stream != gpu->own_stream &&
           (gpu->cu.StreamIsCapturing(stream, &state) != SPYI_CU_OK || state != 0);
}

SPYI_FN void spyi_cuda_watch(spyi_gpu *base) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu), captured = spyi_cuda_is_captured(gpu, gpu->stream);
    gpu->base.recording = gpu->base.captured = captured;
    spyi_cuda_leave(gpu, pushed);
}

SPYI_FN spy_status spyi_cuda_check_captured(spyi_cuda_gpu *gpu, const char *what, spyi_text *error) {
    spyi_watch(&gpu->base);
    if (SPYI_LIKELY(!gpu->base.captured)) return SPY_OK;
    spyi_text_add(error,
                  "cannot %s a stream that is being captured: its work runs when the program launches the "
                  "CUDA graph",
                  what);
    return SPY_ERROR_UNSUPPORTED;
}

// >>what outlives the device's use of it

SPYI_FN void spyi_cuda_keep_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel) {
    kernel->next_kept = gpu->kept_kernels;
    gpu->kept_kernels = kernel;
}

SPYI_FN void spyi_cuda_free_kept(spyi_cuda_gpu *gpu) {
    while (gpu->kept_kernels != NULL) {
        spyi_cuda_kernel *kernel = gpu->kept_kernels;
        gpu->kept_kernels = kernel->next_kept;
        spyi_cuda_free_kernel(gpu, kernel);
    }
    spyi_cuda_free_pages(gpu, &gpu->kept_pages);
}
