/*
 * conv2d as matrix products, on images that lie channels last: y = patches · Wᵀ, dW = dyᵀ · patches, dpatches = dy · W
 * (kernels/windows.cu). A batch is cut into pieces of some images, so that the patches of a piece are still in the
 * GPU's cache when the product reads them and their memory stays small. Of a 1×1 convolution the image itself is the patches.
 *
 * bias and relu are added in one pass over the product; with a maxpool of tiles behind it that pass does all three, and
 * the convolution's own output, the largest tensor of such a network, is never kept.
 */
#include "kernels/cuda.h"

#include <limits.h>
#include <stdlib.h>

/* In the emulation small, so that its tests cut batches too. */
#ifdef KERNELS_EMULATED
enum { PIECE_BYTES = 64 << 10 };
#else
enum { PIECE_BYTES = 32 << 20 }; /* an A100 has 40 MB of it, an H200 50 MB */
#endif

enum { DEPTH_MULTIPLE = 8, LARGEST_POOL = 16 };

struct cuda_conv {
    struct kernel_windows windows;
    struct kernel_windows pool; /* where one is done at once */
    int filters;
    int places;  /* of an output image */
    bool direct; /* the image is its patches */
    int images;  /* in a piece */
    /* Of the pool's outputs: where its maximum lies. */
    int32_t *which;
    /* The filters as forward packed them, for backward; NULL: they are used as they lie. */
    void *packed;
    /* The batch's patches (its rounded input, where that is them), kept for backward where they are one piece; else NULL. */
    void *patches;
};

bool cuda_fuses_pool(const struct stage_spec *conv, const struct layer_spec *pool)
{
    (void)conv;
    int size = pool->kernel[0];
    return size <= LARGEST_POOL && pool->kernel[1] == size && pool->stride[0] == size &&
           pool->stride[1] == size && pool->padding[0] == 0 && pool->padding[1] == 0;
}

static struct kernel_windows windows_of(const struct layer_spec *l)
{
    struct kernel_windows w = {.channels = l->in.channels,
                               .height = l->in.height,
                               .width = l->in.width,
                               .out_height = l->out.height,
                               .out_width = l->out.width,
                               .groups = l->groups};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = l->kernel[i];
        w.stride[i] = l->stride[i];
        w.padding[i] = l->padding[i];
        w.dilation[i] = l->dilation[i];
    }
    int depth = w.channels / w.groups * w.kernel[0] * w.kernel[1];
    w.depth = (depth + DEPTH_MULTIPLE - 1) / DEPTH_MULTIPLE * DEPTH_MULTIPLE;
    return w;
}

static bool halves_of(const struct stage *s)
{
    return s->cuda->options & GPU_BF16;
}

/* Of an operand. */
static size_t element_size(const struct stage *s)
{
    return halves_of(s) ? sizeof(uint16_t) : sizeof(float);
}

/* How far apart rows of patches and of a filter lie: without room for zeros where the image is its patches. */
static int depth_of(const struct cuda_conv *c)
{
    return c->direct ? c->windows.channels : c->windows.depth;
}

/* How the passes go about it. */
static void plan(const struct stage *s, struct cuda_conv *c)
{
    const struct layer_spec *l = s->layer;
    struct kernel_windows *w = &c->windows;
    int size = s->spec.pool;
    *w = windows_of(l);
    c->filters = l->out.channels;
    c->places = l->out.height * l->out.width;
    c->direct = w->kernel[0] == 1 && w->kernel[1] == 1 && w->stride[0] == 1 && w->stride[1] == 1 &&
                w->padding[0] == 0 && w->padding[1] == 0 && w->groups == 1;
    size_t image = (size_t)c->places * (size_t)w->groups * (size_t)w->depth * element_size(s),
           images = PIECE_BYTES / image;
    c->images = c->direct || images > (size_t)s->spec.batch ? s->spec.batch : images < 1 ? 1 : (int)images;
    c->pool = (struct kernel_windows){.channels = c->filters,
                                      .height = l->out.height,
                                      .width = l->out.width,
                                      .out_height = s->spec.out.height,
                                      .out_width = s->spec.out.width,
                                      .kernel = {size, size},
                                      .stride = {size, size},
                                      .dilation = {1, 1},
                                      .groups = 1};
}

static bool conv_create(struct stage *s, struct error *e)
{
    struct cuda *cuda = s->cuda;
    struct cuda_conv *c = s->own = calloc(1, sizeof *c);
    if (!c)
        return error_set(e, ERROR_FAILED, "there is not enough memory for a convolution");
    plan(s, c);
    size_t depth = (size_t)c->windows.depth, rows = (size_t)c->places * (size_t)s->spec.batch,
           filters = (size_t)c->filters * depth * element_size(s),
           patches = rows * (size_t)c->windows.groups * (size_t)depth_of(c) * element_size(s);
    bool packs = !c->direct || halves_of(s), keeps = packs && s->spec.backward && c->images == s->spec.batch;
    if (rows * (size_t)c->filters > INT_MAX)
        return error_set(e, ERROR_INPUT,
                         "a batch of %d is more than a convolution here can count; use a smaller batch",
                         s->spec.batch);
    return (!packs || (c->packed = cuda_memory_new(cuda, filters, "a convolution's filters", e))) &&
           (!keeps || (c->patches = cuda_memory_new(cuda, patches, "a convolution's patches", e))) &&
           (s->spec.pool == 0 ||
            (c->which = cuda_memory_new(cuda, s->elements * sizeof *c->which, "a pool's maxima", e)));
}

static void conv_destroy(struct stage *s)
{
    struct cuda_conv *c = s->own;
    if (!c)
        return;
    cuda_memory_free(c->which);
    cuda_memory_free(c->packed);
    cuda_memory_free(c->patches);
    free(c);
}

/* A piece of the batch at work: its images, and where their rows begin in arrays of the output's channels. */
struct piece {
    int first, images, rows;
    size_t out_at;
};

static struct piece piece_at(const struct stage *s, int first)
{
    const struct cuda_conv *c = s->own;
    int left = s->spec.batch - first, images = left < c->images ? left : c->images;
    return (struct piece){.first = first,
                          .images = images,
                          .rows = images * c->places,
                          .out_at = (size_t)first * (size_t)c->places * (size_t)c->filters};
}

/* Memory of a pass, given back together. */
struct conv_rooms {
    struct cuda_buffer *patches, *gradient, *whole;
};

static void rooms_drop(const struct conv_rooms *r)
{
    cuda_buffer_drop(r->patches);
    cuda_buffer_drop(r->gradient);
    cuda_buffer_drop(r->whole);
}

/* Filters as rows like patches, as operands of a product. */
static const void *filters_of(const struct cuda_conv *c, const float *weights)
{
    return c->packed ? c->packed : weights;
}

static void pack_filters(const struct stage *s, const float *weights)
{
    const struct cuda_conv *c = s->own;
    if (c->direct && c->packed)
        kernel_round(weights, c->packed, s->layer->tensors[0].elements, s->cuda->stream);
    else if (c->packed)
        kernel_pack_weights(weights, c->packed, &c->windows, c->filters, halves_of(s), s->cuda->stream);
}

/* The piece's patches, as operands of a product; in backward those that forward left. NULL: memory is short. */
static const void *patches_of(struct stage *s, const struct piece *p, bool kept, struct conv_rooms *r,
                              struct error *e)
{
    const struct cuda_conv *c = s->own;
    const struct kernel_windows *w = &c->windows;
    const float *in =
        s->inputs[0]->value + (size_t)p->first * (size_t)w->height * (size_t)w->width * (size_t)w->channels;
    if (c->direct && !halves_of(s))
        return in;
    void *patches = c->patches;
    if (!patches) {
        size_t n = (size_t)c->images * (size_t)c->places * (size_t)w->groups * (size_t)depth_of(c);
        if (!r->patches && !(r->patches = cuda_buffer_take(s->cuda, n * sizeof(float), e)))
            return NULL;
        patches = r->patches->data;
    }
    if (kept && c->patches)
        return patches;
    if (c->direct)
        kernel_round(in, patches, (size_t)p->rows * (size_t)w->channels, s->cuda->stream);
    else
        kernel_patches(in, patches, w, p->images, halves_of(s), s->cuda->stream);
    return patches;
}

static bool conv_forward(struct stage *s, const struct pass_context *context, struct error *e)
{
    const struct cuda_conv *c = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    const float *bias = s->layer->bias ? context->parameters + t[1].offset : NULL;
    int groups = c->windows.groups, depth = depth_of(c), batch = s->spec.batch;
    struct conv_rooms r = {0};
    const void *filters = filters_of(c, context->parameters + t[0].offset);
    bool ok = true;
    float *out = s->value;
    pack_filters(s, context->parameters + t[0].offset);
    if (s->spec.pool > 0) {
        size_t whole = (size_t)batch * (size_t)c->places * (size_t)c->filters;
        ok = (r.whole = cuda_buffer_take(s->cuda, whole * sizeof(float), e));
        out = ok ? r.whole->data : NULL;
    }
    for (int first = 0; ok && first < batch; first += c->images) {
        struct piece p = piece_at(s, first);
        const void *patches = patches_of(s, &p, false, &r, e);
        struct cuda_product product = {.a = patches,
                                       .lda = groups * depth,
                                       .b = filters,
                                       .ldb = depth,
                                       .transpose_b = true,
                                       .c = out + p.out_at,
                                       .ldc = c->filters,
                                       .rows = p.rows,
                                       .columns = c->filters / groups,
                                       .depth = depth,
                                       .halves = halves_of(s),
                                       .count = groups,
                                       .step_a = (size_t)depth,
                                       .step_b = (size_t)(c->filters / groups) * (size_t)depth,
                                       .step_c = (size_t)(c->filters / groups)};
        ok = patches && cuda_multiply(s->cuda, &product, e);
    }
    if (ok && s->spec.pool > 0)
        kernel_bias_maxpool(out, bias, s->value, c->which, &c->pool, batch, s->cuda->stream);
    else if (ok && (bias || s->spec.relu))
        kernel_bias_relu(out, bias, batch * c->places, c->filters, s->spec.relu, s->cuda->stream);
    rooms_drop(&r);
    return ok;
}

/* dW of a piece, added to that of the pieces before. */
static bool backward_weights(struct stage *s, const struct piece *p, const void *gradient, float *packed,
                             struct conv_rooms *r, struct error *e)
{
    const struct cuda_conv *c = s->own;
    int groups = c->windows.groups, depth = depth_of(c);
    const void *patches = patches_of(s, p, true, r, e);
    struct cuda_product product = {.a = gradient,
                                   .lda = c->filters,
                                   .transpose_a = true,
                                   .b = patches,
                                   .ldb = groups * depth,
                                   .c = packed,
                                   .ldc = depth,
                                   .rows = c->filters / groups,
                                   .columns = depth,
                                   .depth = p->rows,
                                   .add = p->first > 0,
                                   .halves = halves_of(s),
                                   .count = groups,
                                   .step_a = (size_t)(c->filters / groups),
                                   .step_b = (size_t)depth,
                                   .step_c = (size_t)(c->filters / groups) * (size_t)depth};
    return patches && cuda_multiply(s->cuda, &product, e);
}

/* dx of a piece: the gradients of its patches, then their sums; of a 1×1 convolution at once. patches: room for fp32. */
static bool backward_data(struct stage *s, const struct piece *p, const void *gradient, const void *filters,
                          float *patches, struct error *e)
{
    const struct cuda_conv *c = s->own;
    const struct kernel_windows *w = &c->windows;
    int groups = w->groups, depth = depth_of(c);
    size_t at = (size_t)p->first * (size_t)w->height * (size_t)w->width * (size_t)w->channels;
    float *grad_in = s->inputs[0]->grad + at;
    struct cuda_product product = {.a = gradient,
                                   .lda = c->filters,
                                   .b = filters,
                                   .ldb = depth,
                                   .c = c->direct ? grad_in : patches,
                                   .ldc = groups * depth,
                                   .rows = p->rows,
                                   .columns = depth,
                                   .depth = c->filters / groups,
                                   .add = c->direct && s->spec.accumulate[0],
                                   .halves = halves_of(s),
                                   .count = groups,
                                   .step_a = (size_t)(c->filters / groups),
                                   .step_b = (size_t)(c->filters / groups) * (size_t)depth,
                                   .step_c = (size_t)depth};
    if (!cuda_multiply(s->cuda, &product, e))
        return false;
    if (!c->direct)
        kernel_from_patches(patches, grad_in, w, p->images, s->spec.accumulate[0], s->cuda->stream);
    return true;
}

/* The gradient of the convolution's own output, in front of bias, relu and pool; the bias's is done with it. */
static float *own_gradient(struct stage *s, float *bias, struct conv_rooms *r, struct error *e)
{
    const struct cuda_conv *c = s->own;
    int batch = s->spec.batch, points = s->spec.out.height * s->spec.out.width;
    if (!cuda_through_relu(s, s->spec.relu ? s->value : NULL, bias, batch * points, c->filters, e))
        return NULL;
    if (s->spec.pool == 0)
        return s->grad;
    size_t whole = (size_t)batch * (size_t)c->places * (size_t)c->filters;
    if (!(r->whole = cuda_buffer_take(s->cuda, whole * sizeof(float), e)))
        return NULL;
    kernel_maxpool_backward(s->grad, c->which, r->whole->data, &c->pool, batch, false, s->cuda->stream);
    return r->whole->data;
}

static bool conv_backward(struct stage *s, const struct pass_context *context, struct error *e)
{
    const struct cuda_conv *c = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    float *plain = context->gradients + t[0].offset;
    size_t packed_bytes = (size_t)c->filters * (size_t)c->windows.depth * sizeof(float);
    struct conv_rooms r = {0}, data = {0};
    struct cuda_buffer *packed = NULL;
    float *own = own_gradient(s, s->layer->bias ? context->gradients + t[1].offset : NULL, &r, e);
    size_t n = (size_t)s->spec.batch * (size_t)c->places * (size_t)c->filters;
    const void *gradient = own ? cuda_operand(s->cuda, own, n, &r.gradient, e) : NULL;
    bool ok = gradient && (c->direct || (packed = cuda_buffer_take(s->cuda, packed_bytes, e)));
    for (int first = 0; ok && first < s->spec.batch; first += c->images) {
        struct piece p = piece_at(s, first);
        const char *part = (const char *)gradient + p.out_at * element_size(s);
        ok = backward_weights(s, &p, part, packed ? packed->data : plain, &r, e);
    }
    if (ok && packed)
        kernel_unpack_weights(packed->data, plain, &c->windows, c->filters, s->cuda->stream);
    cuda_buffer_drop(packed);
    if (ok && s->spec.input_gradient[0]) {
        size_t patches =
            (size_t)c->images * (size_t)c->places * (size_t)c->windows.groups * (size_t)c->windows.depth;
        const void *filters = filters_of(c, context->parameters + t[0].offset);
        ok = c->direct || (data.patches = cuda_buffer_take(s->cuda, patches * sizeof(float), e));
        for (int first = 0; ok && first < s->spec.batch; first += c->images) {
            struct piece p = piece_at(s, first);
            const char *part = (const char *)gradient + p.out_at * element_size(s);
            ok = backward_data(s, &p, part, filters, data.patches ? data.patches->data : NULL, e);
        }
    }
    rooms_drop(&data);
    rooms_drop(&r);
    return ok;
}

static const char *conv_implementation(const struct stage *s, enum pass pass)
{
    const struct cuda_conv *c = s->own;
    if ((pass == PASS_BACKWARD_DATA && !s->spec.input_gradient[0]) ||
        (pass == PASS_BACKWARD_WEIGHTS && !s->spec.backward))
        return "";
    return c->direct ? "cublas:1x1" : "patches+cublas";
}

const struct cuda_op cuda_op_conv2d = {.create = conv_create,
                                       .destroy = conv_destroy,
                                       .forward = conv_forward,
                                       .backward = conv_backward,
                                       .implementation = conv_implementation,
                                       .fuses_relu = true};
