/*
 * Mixed precision (P. Micikevicius et al., Mixed precision training, ICLR 2018): convolutions and matrix products take their
 * operands in bf16 and sum in fp32. Parameters, gradients, and what layers hand on stay fp32; operands are rounded on
 * their way into a primitive. bf16 has the exponent of fp32, so that no loss has to be scaled. Only where the processor
 * multiplies bf16 itself: anywhere else it would be slower than fp32.
 */
#include "engine/nn/cpu.h"

#include <stdlib.h>

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    switch (isa) {
    case dnnl_cpu_isa_sse41: return "SSE4.1";
    case dnnl_cpu_isa_avx: return "AVX";
    case dnnl_cpu_isa_avx2: return "AVX2";
    case dnnl_cpu_isa_avx2_vnni: return "AVX2 with VNNI";
    case dnnl_cpu_isa_avx512_core: return "AVX-512";
    case dnnl_cpu_isa_avx512_core_vnni: return "AVX-512 with VNNI";
    default: return "other instructions";
    }
}

bool backend_cpu_use_bf16(struct backend *b, struct error *e)
{
    struct cpu *cpu = b->self;
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    if ((isa & dnnl_cpu_isa_avx512_core_bf16) != dnnl_cpu_isa_avx512_core_bf16)
        return error_set(
            e, ERROR_MISSING,
            "this processor cannot multiply bf16: that takes the instructions AVX512_BF16 or AMX, and it "
            "has %s; use dtype fp32",
            isa_name(isa));
    cpu->operands = dnnl_bf16;
    return true;
}

/* --- matrix products --- */

/* A matrix as it lies in memory, rows `ld` apart; transposed: seen with rows and columns exchanged. */
static bool matrix_describe(dnnl_memory_desc_t *md, dnnl_data_type_t type, bool transposed, dnnl_dim_t rows,
                            dnnl_dim_t columns, dnnl_dim_t ld, struct error *e)
{
    dnnl_dims_t extent = {rows, columns}, strides = {transposed ? 1 : ld, transposed ? ld : 1};
    return cpu_check(dnnl_memory_desc_init_by_strides(md, 2, extent, type, strides), "describe a matrix", e);
}

/* An operand rounded to `type`, without gaps, the way round it lies in memory. */
static bool operand_round(struct cpu *cpu, struct cpu_buffer **copy, dnnl_memory_desc_t *md,
                          dnnl_data_type_t type, bool transposed, dnnl_dim_t rows, dnnl_dim_t columns,
                          const float *from, dnnl_dim_t ld, struct error *e)
{
    dnnl_memory_desc_t full;
    return matrix_describe(&full, dnnl_f32, transposed, rows, columns, ld, e) &&
           matrix_describe(md, type, transposed, rows, columns, transposed ? rows : columns, e) &&
           (*copy = cpu_buffer_take(cpu, dnnl_memory_desc_get_size(md), e)) &&
           cpu_reorder_once(cpu, &full, from, md, (*copy)->data, e);
}

static bool multiply(struct cpu *cpu, const dnnl_memory_desc_t mds[3], void *const data[3], struct error *e)
{
    static const int names[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t args[3] = {{0}};
    bool ok =
        cpu_check(dnnl_matmul_desc_init(&desc, &mds[0], &mds[1], NULL, &mds[2]), "describe a product", e) &&
        cpu_check(dnnl_primitive_desc_create(&pd, &desc, NULL, cpu->engine, NULL), "plan a product", e) &&
        cpu_check(dnnl_primitive_create(&primitive, pd), "make a product", e);
    for (int i = 0; i < 3; i++) {
        args[i].arg = names[i];
        ok = ok && cpu_check(dnnl_memory_create(&args[i].memory, &mds[i], cpu->engine, data[i]),
                             "bind a matrix", e);
    }
    ok = ok && cpu_check(dnnl_primitive_execute(primitive, cpu->stream, 3, args), "multiply matrices", e);
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(args[i].memory);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    return ok;
}

bool cpu_multiply_as(struct cpu *cpu, dnnl_data_type_t type, const struct cpu_product *p, struct error *e)
{
    dnnl_memory_desc_t mds[3];
    struct cpu_buffer *a = NULL, *b = NULL;
    bool ok = operand_round(cpu, &a, &mds[0], type, p->transpose_a, p->rows, p->depth, p->a, p->lda, e) &&
              operand_round(cpu, &b, &mds[1], type, p->transpose_b, p->depth, p->columns, p->b, p->ldb, e) &&
              matrix_describe(&mds[2], dnnl_f32, false, p->rows, p->columns, p->ldc, e) &&
              multiply(cpu, mds, (void *const[3]){a->data, b->data, p->c}, e);
    cpu_buffer_drop(a);
    cpu_buffer_drop(b);
    return ok;
}

bool cpu_multiply(struct cpu *cpu, const struct cpu_product *p, struct error *e)
{
    if (cpu->operands != dnnl_f32)
        return cpu_multiply_as(cpu, cpu->operands, p, e);
    return cpu_check(dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->rows, p->columns,
                                p->depth, 1, p->a, p->lda, p->b, p->ldb, 0, p->c, p->ldc),
                     "multiply matrices", e);
}
