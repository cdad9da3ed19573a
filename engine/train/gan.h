/*
 * gan.h - two networks against each other (I. Goodfellow et al., Generative adversarial nets, NeurIPS 2014).
 *
 * A step: the discriminator D learns to tell a batch of real images from as many that the generator G makes of noise,
 * by minimising -log D(x) - log(1 - D(G(z))); then G learns, through the D of now, to be taken for real, by minimising
 * -log D(G(z)), the non-saturating loss of that paper's section 3. Each has an allreduce and an optimiser of its own:
 * two allreduces a step. D sees both halves as one batch; where it has dropout or batchnorm, what it computes depends
 * on how the global batch is split (the gan of the course has neither).
 *
 * Images are scaled to [-1, 1], the range of G's tanh. Noise is normal, drawn for each sample from the seed and its
 * number in the run, so ranks × batch train what one rank with all of them would. Adam's first moment decays with 0.5,
 * not 0.9 (A. Radford, L. Metz, S. Chintala, Unsupervised representation learning with DCGANs, ICLR 2016): with 0.9 the
 * course's gan (batch 64, rate 2e-4) had collapsed after 5 000 steps, 81 % of its images one class to the CNN.
 */
#ifndef RINGSIDE_TRAIN_GAN_H
#define RINGSIDE_TRAIN_GAN_H

#include "engine/data/dataset.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/train/gradients.h"
#include "engine/train/telemetry.h"

struct trainer;

/* Whether the job's description is of two networks. */
bool gan_described(const json_t *description);

struct gan {
    struct model_spec model;           /* of the generator; that of the discriminator is the trainer's */
    struct network *generator, *judge; /* the judge: D again, with G's images only, and their gradient */
    struct optimizer *optimizer;       /* G's */
    struct gradients gradients;        /* G's, and one number behind them */
    float *judge_gradients;            /* not used: backward wants room for them, of the backend */
    float *images;                     /* G's output, and the gradient of it */
    float *answers;                    /* D's, of both halves */
    float *targets;                    /* 1 for real, 0 for generated */
    uint8_t *pixels;                   /* of an image */
};

/* Makes networks and optimisers in tr and tr->gan. gan_tear_down is fine after it failed. Collective. */
bool gan_set_up(struct trainer *tr, struct error *e);
void gan_tear_down(struct trainer *tr);

/* As trainer_step. */
bool gan_step(struct trainer *tr, int wants, int *want, struct error *e);

/* Whether the generator's work is shown after this step, before the first epoch has ended too. */
bool gan_shows(long step);

/*
 * gan_test.c. The figures on the first 2000 images of the test set, as many generated from fixed noise against them; the trainer's loss
 * becomes the sum of the two. Rank 0 emits what becomes of the first 16 noises as `sample` events. Collective.
 */
bool gan_test(struct trainer *tr, struct gan_figures *figures, struct error *e);

/* Images from -1 to 1 of a dataset, numbered by which. */
bool gan_real(const struct trainer *tr, const struct dataset *d, const uint32_t *which, int count, float *out,
              struct error *e);
/* What becomes of `count` (the batch at most) fixed noises from number `first` on; images has room for a batch. */
bool gan_generate(struct trainer *tr, long first, int count, float *images, struct error *e);
/* The sigmoid of what the discriminator puts out. */
double gan_probability(float answer);

#endif
