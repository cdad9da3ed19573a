#include "kernels/cuda.h"
#include "kernels/cuda_blas.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct cuda_op *const ops_of_kinds[LAYER_KINDS] = {
    [LAYER_CONV2D] = &cuda_op_conv2d,
    [LAYER_MAXPOOL] = &cuda_op_maxpool,
    [LAYER_AVGPOOL] = &cuda_op_avgpool,
    [LAYER_GLOBAL_AVGPOOL] = &cuda_op_global_avgpool,
    [LAYER_BATCHNORM] = &cuda_op_batchnorm,
    [LAYER_LAYERNORM] = &cuda_op_layernorm,
    [LAYER_DROPOUT] = &cuda_op_dropout,
    [LAYER_RELU] = &cuda_op_relu,
    [LAYER_LEAKY_RELU] = &cuda_op_activation,
    [LAYER_GELU] = &cuda_op_activation,
    [LAYER_TANH] = &cuda_op_activation,
    [LAYER_SIGMOID] = &cuda_op_activation,
    [LAYER_DENSE] = &cuda_op_dense,
    [LAYER_EMBEDDING] = &cuda_op_embedding,
    [LAYER_SIMPLE_RNN] = &cuda_op_simple_rnn,
    [LAYER_LSTM] = &cuda_op_lstm,
    [LAYER_FLATTEN] = &cuda_op_flatten,
    [LAYER_RESHAPE] = &cuda_op_flatten,
    [LAYER_ADD] = &cuda_op_add,
    [LAYER_CONCAT] = &cuda_op_concat,
};
/* clang-format on */

static bool fuses_relu(const struct layer_spec *layer)
{
    return ops_of_kinds[layer->kind] && ops_of_kinds[layer->kind]->fuses_relu;
}

/* --- stages --- */

static size_t shape_elements(struct model_shape shape)
{
    return (size_t)shape.channels * (size_t)shape.height * (size_t)shape.width;
}

static void stage_free(struct stage *s)
{
    if (!s)
        return;
    cudaStreamSynchronize(s->cuda->stream); /* nothing that is still to be done may find its memory gone */
    cuda_record_free(s);
    cuda_losses_free(s);
    if (s->op->destroy)
        s->op->destroy(s);
    cuda_input_free(s);
    cuda_buffer_drop(s->grad_buffer);
    if (!s->value_shared)
        cuda_memory_free(s->value);
    free(s);
}

static bool stage_make(struct stage *s, struct error *e)
{
    if (s->elements > INT_MAX)
        return error_set(
            e, ERROR_INPUT,
            "a batch of %d makes %zu elements here, and a GPU's kernels count to %d; use a smaller batch",
            s->spec.batch, s->elements, INT_MAX);
    return (!s->op->create || s->op->create(s, e)) &&
           (s->value || (s->value = cuda_memory_new(s->cuda, s->elements * sizeof(float),
                                                    "what its layers put out", e))) &&
           (s->layer || cuda_input_new(s, e));
}

static bool stage_new(struct backend *b, const struct stage_spec *spec, struct stage *const *inputs,
                      struct stage **stage, struct error *e)
{
    struct stage *s = calloc(1, sizeof *s);
    *stage = NULL;
    if (!s)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    s->backend = b;
    s->cuda = b->self;
    s->spec = *spec;
    s->layer = spec->layer;
    s->op = spec->layer ? ops_of_kinds[spec->layer->kind] : &cuda_op_input;
    if (!s->op) {
        error_set(e, ERROR_FAILED, "the CUDA backend cannot compute this kind of layer");
        free(s);
        return false;
    }
    s->input_count = spec->layer ? spec->layer->input_count : 0;
    for (int i = 0; i < s->input_count; i++)
        s->inputs[i] = inputs[i];
    s->elements = (size_t)spec->batch * shape_elements(spec->out);
    s->channels_last = spec->out.kind == SHAPE_IMAGE && spec->out.channels > 1 &&
                       (size_t)spec->out.height * (size_t)spec->out.width > 1;
    if (!stage_make(s, e)) {
        stage_free(s);
        return false;
    }
    *stage = s;
    return true;
}

static bool forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    if (!s->cuda->capturing) {
        for (int i = 0; i < s->input_count; i++)
            if (s->inputs[i]->input && !cuda_input_send(s->inputs[i], e))
                return false;
        if (!cuda_step_set(s->cuda, c, -1, e))
            return false;
    }
    return s->op->forward(s, c, e) && cuda_launched("a layer", e);
}

/* --- gradients --- */

bool cuda_grad_room(struct stage *s, struct error *e)
{
    if (s->grad)
        return true;
    if (!(s->grad_buffer = cuda_buffer_take(s->cuda, s->elements * sizeof(float), e)))
        return false;
    s->grad = s->grad_buffer->data;
    return true;
}

static bool backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    if (!s->cuda->capturing && !cuda_step_set(s->cuda, c, -1, e))
        return false;
    for (int i = 0; i < s->input_count; i++)
        if (s->spec.input_gradient[i] && !cuda_grad_room(s->inputs[i], e))
            return false;
    bool ok = s->op->backward(s, c, e) && cuda_launched("a layer's gradient", e);
    if (s->layer) {
        cuda_buffer_drop(s->grad_buffer);
        s->grad_buffer = NULL;
        s->grad = NULL;
    }
    return ok;
}

/* --- memory --- */

static float *memory_new(struct backend *b, size_t elements, struct error *e)
{
    return cuda_memory_new(b->self, elements * sizeof(float),
                           "parameters, gradients and the optimiser's state", e);
}

static void memory_free(struct backend *b, float *memory)
{
    struct cuda *cuda = b->self;
    if (memory)
        cudaStreamSynchronize(cuda->stream);
    cuda_memory_free(memory);
}

static bool copy(struct cuda *cuda, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                 struct error *e)
{
    return cuda_ok(cudaMemcpyAsync(to, from, bytes, kind, cuda->stream), "copying memory", e) &&
           cuda_wait(cuda, "computing what was asked for", e);
}

static bool copy_in(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    return copy(b->self, to, from, n * sizeof *to, cudaMemcpyHostToDevice, e);
}

static bool copy_out(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    return copy(b->self, to, from, n * sizeof *to, cudaMemcpyDeviceToHost, e);
}

static bool copy_within(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    const struct cuda *cuda = b->self;
    return cuda_ok(cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyDeviceToDevice, cuda->stream),
                   "copying memory", e);
}

static bool add_within(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    const struct cuda *cuda = b->self;
    kernel_copy(from, to, n, true, cuda->stream);
    return cuda_launched("a sum", e);
}

/* --- reading and writing from outside --- */

/* Between a stage's own layout and the plain one, which is the host's. */
static bool move_plain(struct stage *s, float *device, float *host, bool write, struct error *e)
{
    struct cuda *cuda = s->cuda;
    size_t bytes = s->elements * sizeof(float);
    int batch = s->spec.batch, channels = s->spec.out.channels,
        points = s->spec.out.height * s->spec.out.width;
    if (!s->channels_last)
        return write ? copy(cuda, device, host, bytes, cudaMemcpyHostToDevice, e)
                     : copy(cuda, host, device, bytes, cudaMemcpyDeviceToHost, e);
    struct cuda_buffer *plain = cuda_buffer_take(cuda, bytes, e);
    bool ok = plain;
    if (ok && write) {
        ok = copy(cuda, plain->data, host, bytes, cudaMemcpyHostToDevice, e);
        if (ok)
            kernel_to_channels_last(plain->data, device, batch, channels, points, false, cuda->stream);
    } else if (ok) {
        kernel_to_plain(device, plain->data, batch, channels, points, false, cuda->stream);
        ok = copy(cuda, host, plain->data, bytes, cudaMemcpyDeviceToHost, e);
    }
    cuda_buffer_drop(plain);
    return ok && cuda_launched("turning a tensor to its plain order", e);
}

static bool read_value(struct stage *s, float *out, struct error *e)
{
    return (!s->input || cuda_input_send(s, e)) && move_plain(s, s->value, out, false, e);
}

static bool read_gradient(struct stage *s, float *out, struct error *e)
{
    if (!s->grad)
        return error_set(e, ERROR_FAILED, "the gradient of this layer's output is not kept");
    return move_plain(s, s->grad, out, false, e);
}

static bool write_gradient(struct stage *s, const float *gradient, struct error *e)
{
    return cuda_grad_room(s, e) && move_plain(s, s->grad, (float *)gradient, true, e);
}

static bool read_internal(struct stage *s, const char *name, float *out, struct error *e)
{
    if (!s->op->read_internal)
        return error_set(e, ERROR_INPUT, "this layer has no values named \"%s\"", name);
    return s->op->read_internal(s, name, out, e);
}

static const char *implementation(const struct stage *s, enum pass pass)
{
    return s->op->implementation ? s->op->implementation(s, pass) : "";
}

/* --- opening and closing --- */

static void cuda_close(struct backend *b)
{
    struct cuda *cuda = b->self;
    if (!cuda) {
        free(b);
        return;
    }
    if (cuda->stream)
        cudaStreamSynchronize(cuda->stream);
    cuda_optimizer_free(cuda);
    while (cuda->buffers) {
        struct cuda_buffer *next = cuda->buffers->next;
        cuda_memory_free(cuda->buffers->data);
        free(cuda->buffers);
        cuda->buffers = next;
    }
    if (cuda->blas_handle)
        cuda->blas->destroy(cuda->blas_handle);
    cuda_memory_free(cuda->workspace);
    cuda_memory_free(cuda->step);
    if (cuda->uploads)
        cudaStreamDestroy(cuda->uploads);
    if (cuda->stream)
        cudaStreamDestroy(cuda->stream);
    free(cuda->blas);
    free(cuda);
    free(b);
}

static const struct backend_ops cuda_ops = {
    .name = "cuda",
    .memory_new = memory_new,
    .memory_free = memory_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy_within,
    .add = add_within,
    .fuses_relu = fuses_relu,
    .fuses_pool = cuda_fuses_pool,
    .stage_new = stage_new,
    .stage_free = stage_free,
    .input_data = cuda_input_data,
    .input_complete = cuda_input_complete,
    .forward = forward,
    .backward = backward,
    .loss = cuda_loss,
    .record_begin = cuda_record_begin,
    .record_end = cuda_record_end,
    .read = read_value,
    .read_gradient = read_gradient,
    .write_gradient = write_gradient,
    .read_internal = read_internal,
    .optimize = cuda_optimize,
    .implementation = implementation,
    .close = cuda_close,
};

static bool look_at_device(struct cuda *cuda, struct error *e)
{
    int major = 0, minor = 0;
    if (!cuda_ok(cudaSetDevice(cuda->device), "opening it", e) ||
        !cuda_ok(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, cuda->device),
                 "asking for its properties", e) ||
        !cuda_ok(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, cuda->device),
                 "asking for its properties", e) ||
        !cuda_ok(cudaDeviceGetAttribute(&cuda->multiprocessors, cudaDevAttrMultiProcessorCount, cuda->device),
                 "asking for its properties", e)) {
        if (e)
            e->kind = ERROR_MISSING;
        return false;
    }
    cuda->compute = 10 * major + minor;
    if ((cuda->options & GPU_BF16) && cuda->compute < 80)
        return error_set(e, ERROR_MISSING,
                         "this GPU cannot multiply bf16: that takes compute capability 8.0, and it has "
                         "%d.%d; use dtype fp32",
                         major, minor);
    return true;
}

/* cuBLAS takes what it needs from a workspace of ours: it must not ask for memory while a graph is recorded. */
#ifdef KERNELS_EMULATED
enum { WORKSPACE_BYTES = 64 << 10 };
#else
enum { WORKSPACE_BYTES = 32 << 20 };
#endif

static bool open_all(struct cuda *cuda, struct error *e)
{
    return cuda_blas_open(cuda->blas, e) &&
           cuda_ok(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), "making a stream", e) &&
           cuda_ok(cudaStreamCreateWithFlags(&cuda->uploads, cudaStreamNonBlocking), "making a stream", e) &&
           (cuda->workspace = cuda_memory_new(cuda, WORKSPACE_BYTES, "matrix products", e)) &&
           (cuda->step = cuda_memory_new(cuda, sizeof *cuda->step, "a step", e)) &&
           cuda_ok_blas(cuda->blas->create(&cuda->blas_handle), "opening it", e) &&
           cuda_ok_blas(cuda->blas->set_stream(cuda->blas_handle, cuda->stream), "take a stream", e) &&
           cuda_ok_blas(cuda->blas->set_workspace(cuda->blas_handle, cuda->workspace, WORKSPACE_BYTES),
                        "take its workspace", e);
}

struct backend *cuda_backend_open(int device, unsigned options, struct error *e)
{
    struct backend *b = calloc(1, sizeof *b);
    struct cuda *cuda = calloc(1, sizeof *cuda);
    struct cuda_blas *blas = calloc(1, sizeof *blas);
    if (!b || !cuda || !blas) {
        free(b);
        free(cuda);
        free(blas);
        error_set(e, ERROR_FAILED, "there is not enough memory to open the CUDA backend");
        return NULL;
    }
    *cuda = (struct cuda){.device = device, .options = options, .blas = blas};
    *b = (struct backend){.ops = &cuda_ops, .self = cuda, .threads = 1};
    if (!look_at_device(cuda, e) || !open_all(cuda, e)) {
        cuda_close(b);
        return NULL;
    }
    return b;
}

cudaStream_t cuda_backend_stream(struct backend *b)
{
    const struct cuda *cuda = b->self;
    return cuda->stream;
}
