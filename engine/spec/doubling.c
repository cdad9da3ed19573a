/*
 * doubling.c - the allreduces in which partners are 1, 2, 4 ... ranks away, as schedules.
 *
 * Recursive doubling: in each round a rank and its partner exchange all they have and both add. log2 N rounds of the
 * whole buffer: the least rounds, for short vectors. Halving doubling (R. Rabenseifner's algorithm): first partners
 * N/2, N/4 ... 1 away exchange halves of what is left and each sums the half it keeps, then the same exchanges
 * backwards gather the sums: 2(N-1)/N of the buffer a rank in 2 log2 N rounds.
 *
 * Where N is no power of two, the 2(N - P) first ranks fold in pairs (P the largest power below): the even one
 * hands its buffer to the odd one, sits out, and is given the result at the end.
 */
#include "engine/spec/schedule.h"

struct fold {
    int power;  /* of two: so many ranks take part */
    int folded; /* pairs */
};

static struct fold fold_of(int ranks)
{
    struct fold f = {.power = 1};
    while (2 * f.power <= ranks)
        f.power *= 2;
    f.folded = ranks - f.power;
    return f;
}

/* The rank that takes part as number i. */
static int rank_of(const struct fold *f, int i)
{
    return i < f->folded ? 2 * i + 1 : i + f->folded;
}

static void add_fold(struct schedule *s, const struct fold *f, bool begin)
{
    int round = s->rounds;
    for (int i = 0; i < f->folded; i++)
        schedule_add(s, (struct transfer){
                            .round = round,
                            .from = begin ? 2 * i : 2 * i + 1,
                            .to = begin ? 2 * i + 1 : 2 * i,
                            .length = s->length,
                            .reduce = begin,
                            .phase = begin ? PHASE_REDUCE : PHASE_BROADCAST,
                        });
}

bool schedule_recursive_doubling(struct schedule *s, int ranks, size_t length, struct error *e)
{
    struct fold f = fold_of(ranks);
    size_t most = (size_t)(ranks > 0 ? ranks : 0) * 33;
    if (!schedule_begin(s, "recursive_doubling", ranks, length, 1, most, e))
        return false;
    add_fold(s, &f, true);
    for (int distance = 1; distance < f.power; distance *= 2) {
        int round = s->rounds;
        for (int i = 0; i < f.power; i++)
            schedule_add(s, (struct transfer){
                                .round = round,
                                .from = rank_of(&f, i),
                                .to = rank_of(&f, i ^ distance),
                                .length = length,
                                .reduce = true,
                                .phase = PHASE_REDUCE,
                            });
    }
    add_fold(s, &f, false);
    return true;
}

/* What participant i has left before the exchange over `distance`: 2 distance of the power's pieces. */
static void exchange(struct schedule *s, const struct fold *f, int distance, bool reduce)
{
    int round = s->rounds;
    for (int i = 0; i < f->power; i++) {
        int partner = i ^ distance;
        /* Halving: the partner's half of what both have left; doubling: what i has the sum of. */
        int piece = (reduce ? partner : i) / distance * distance;
        size_t begin = chunk_offset(s->length, f->power, piece);
        size_t end = chunk_offset(s->length, f->power, piece + distance);
        schedule_add(s, (struct transfer){
                            .round = round,
                            .from = rank_of(f, i),
                            .to = rank_of(f, partner),
                            .chunk = piece,
                            .offset = begin,
                            .length = end - begin,
                            .reduce = reduce,
                            .phase = reduce ? PHASE_REDUCE_SCATTER : PHASE_ALLGATHER,
                        });
    }
}

bool schedule_halving_doubling(struct schedule *s, int ranks, size_t length, struct error *e)
{
    struct fold f = fold_of(ranks);
    size_t most = (size_t)(ranks > 0 ? ranks : 0) * 66;
    if (!schedule_begin(s, "halving_doubling", ranks, length, f.power, most, e))
        return false;
    add_fold(s, &f, true);
    for (int distance = f.power / 2; distance >= 1; distance /= 2)
        exchange(s, &f, distance, true);
    for (int distance = 1; distance < f.power; distance *= 2)
        exchange(s, &f, distance, false);
    add_fold(s, &f, false);
    return true;
}
