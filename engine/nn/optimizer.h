/*
 * optimizer.h - what makes a step out of a gradient g, for the parameters w at the learning rate η.
 *
 *   sgd    v ← μ·v + g + λ·w;  w ← w − η·v, nesterov: w ← w − η·(g + λ·w + μ·v)
 *   adam   m, v: running means of g + λ·w and of its square, corrected for their start at 0;
 *          w ← w − η·m/(√v + ε)
 *          D. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015
 *   adamw  adam of g alone, after w ← w − η·λ·w
 *          I. Loshchilov and F. Hutter, Decoupled weight decay regularization, ICLR 2019
 *   lars   a rate for each tensor: a = η·t·‖w‖/(‖g‖ + λ·‖w‖); v ← μ·v + a·(g + λ·w); w ← w − v
 *          Y. You, I. Gitman, B. Ginsburg, Large batch training of convolutional networks, 2017, algorithm 1
 *   lamb   adam's m and v of g; r = m/(√v + ε) + λ·w; for each tensor w ← w − η·‖w‖/‖r‖·r
 *          Y. You et al., Large batch optimization for deep learning: training BERT in 76 minutes, ICLR 2020,
 *          algorithm 2 with φ the identity
 *
 * sgd, adam and adamw are PyTorch's to the letter. In lars and lamb, as in their authors' code, tensors of
 * one dimension (biases, norms) keep the rate η and do not decay; where a norm is 0 the rate is η too.
 *
 * clip: where ‖g‖ over all tensors is larger, g is scaled to that norm first (R. Pascanu, T. Mikolov, Y.
 * Bengio, On the difficulty of training recurrent neural networks, ICML 2013). Whoever has the same gradients
 * takes the same step, bit by bit, whatever the number of threads: sums are taken in pieces of a fixed length
 * and in one order.
 */
#ifndef RINGSIDE_NN_OPTIMIZER_H
#define RINGSIDE_NN_OPTIMIZER_H

#include "engine/nn/backend.h"

enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_ADAMW, OPTIMIZER_LARS, OPTIMIZER_LAMB };

struct optimizer_spec {
    enum optimizer_kind kind;
    double momentum; /* sgd, lars */
    bool nesterov;   /* sgd */
    double weight_decay;
    double beta1, beta2, epsilon; /* adam, adamw, lamb */
    double trust;                 /* lars */
    double clip;                  /* 0: none */
};

/* A model's tensors are cut into pieces: the units of work, and of sums that must not depend on threads. */
enum { OPTIMIZER_PIECE = 2048 };
struct optimizer_piece {
    size_t offset;
    int elements, tensor;
};

/* Sums of squares: of the gradient, the parameters, lamb's direction r. */
struct optimizer_sums {
    double gradient, parameter, direction;
};

/* One step, as a backend carries it out. */
struct optimizer_step {
    const struct optimizer_spec *spec;
    double lr;
    long number; /* from 1: corrects the moments */
    float *parameters;
    const float *gradients;
    float *first, *second;                /* the moments; NULL where the kind has none */
    const struct optimizer_piece *pieces; /* in order, those of a tensor side by side */
    int piece_count, tensor_count;
    const bool *adapts;            /* by tensor: lars and lamb give it a rate of its own */
    struct optimizer_sums *sums;   /* room: one a piece ... */
    struct optimizer_sums *totals; /* ... and one a tensor */
    void **kept; /* the backend's: NULL at the first step, whatever it keeps at the following */
};

struct optimizer {
    struct optimizer_spec spec;
    struct backend *backend;
    size_t parameters;
    float *first, *second; /* the moments, in the backend's memory, 0 at first */
    float *host_first,
        *host_second; /* where the host sees them: the same, or copies once optimizer_to_host has made them */
    long steps;       /* taken so far */
    struct optimizer_piece *pieces;
    int piece_count, tensor_count;
    bool *adapts;
    struct optimizer_sums *sums, *totals;
    void *
        kept; /* what the backend has made of the pieces, and frees with itself; NULL before the first step */
};

/* A spec with the kind's usual coefficients, or ERROR_INPUT: name is none of sgd, adam, adamw, lars, lamb. */
bool optimizer_named(const char *name, struct optimizer_spec *spec, struct error *e);

/* Borrows the backend. NULL: memory is short. */
struct optimizer *optimizer_new(const struct optimizer_spec *spec, const struct model_spec *model,
                                struct backend *backend, struct error *e);
void optimizer_free(struct optimizer *o);

/* Gradients are those of the mean loss; *gradient_squares: the square of their norm, before clipping. */
bool optimizer_take_step(struct optimizer *o, double lr, float *parameters, const float *gradients,
                         double *gradient_squares, struct error *e);

/* The host's copies of the moments become what the backend has (made where there are none yet), or the other way round. */
bool optimizer_to_host(struct optimizer *o, struct error *e);
bool optimizer_to_backend(struct optimizer *o, struct error *e);

/*
 * What a checkpoint keeps beside `steps`: buffers in the layout of the parameters, with PyTorch's names. The host's copies,
 * behind optimizer_to_host.
 */
struct optimizer_state {
    const char *name; /* "momentum_buffer"; "exp_avg", "exp_avg_sq" */
    float *data;
};
/* How many there are, 0 to 2. */
int optimizer_state(const struct optimizer *o, struct optimizer_state state[2]);

#endif
