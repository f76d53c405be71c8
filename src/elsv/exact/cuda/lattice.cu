// Sweeps over the lattice of states of two or three arms, on a GPU (see elsv/exact/cuda/__init__.py).
//
// A layer holds all states after m pulls, numbered as in elsv/lattice/numbering.py: blocks (n1, n2, n3) in
// lexicographic order, each a dense array of the successes [s1][s2][s3]. The blocks with one n1 are a group.
// Two arms are three of which the first is never pulled: one group, n1 = 0.
//
// With weights, `later` holds Y = W V of layer m + 1 and a pull needs no division,
//     W(s) q(s, i) = r_i W(s + success_i) + Y(s + success_i) + Y(s + failure_i);
// without, it holds V and arm i succeeds with probability (a_i + s_i) / (a_i + b_i + n_i). A null `later`
// stands for zeros: nothing is earned after the last step.
//
// No kernel shares memory within a block of threads or waits for another thread, so that this file can also be
// compiled for a CPU, one thread after the other (KERNEL and the built-in variables come from a header then).

#ifndef KERNEL
#define KERNEL(name, parameters, arguments) extern "C" __global__ void name parameters
#define INLINE __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define PRAGMA(text) _Pragma(#text)
#define UNROLL_BY(count) PRAGMA(unroll count)
#endif

typedef long long Int;
typedef const double* __restrict__ Doubles;
typedef const Int* __restrict__ Ints;

#define ARMS 3
#ifndef ROWS
#define ROWS 8     // of a weights tile: numbers of successes of the second arm
#define COLUMNS 8  // of a weights tile: numbers of successes of the third arm
#define NODES_AT_ONCE 2
#endif
#define PADDED 8   // rows of the arms' tables are padded to a multiple of this many numbers
// TIE, the tolerance of the tie rule, stands in front of this source: elsv/exact/cuda/sweeps.py puts it there.

// Where the numbers of the arms lie in `arms`.
#define REWARD(i) arms[i]
#define ALPHA(i) arms[ARMS + (i)]
#define BETA(i) arms[2 * ARMS + (i)]
#define SCALE arms[3 * ARMS]

struct Block {
    Int n1, n2, n3;
    Int here, end;        // numbers of its first state and of the one after its last
    Int lost[ARMS];       // number of the first state of block n + e_i in the next layer
};

struct Place {
    int s[ARMS];
    Int n[ARMS];
    Int lost[ARMS], won[ARMS];  // numbers of the states that follow
};

INLINE Int triangle(Int n) { return n * (n + 1) / 2; }

// States of a group before its block n2; `left` pulls are shared by the second and the third arm.
INLINE Int before_block(Int n1, Int n2, Int left) {
    return (n1 + 1) * ((left + 2) * triangle(n2) - n2 * (n2 + 1) * (2 * n2 + 1) / 6);
}

// Number of the first state of block (n1, n2) in layer m; groups[m * width + n1] is that of group n1.
INLINE Int block_start(Ints groups, Int width, Int m, Int n1, Int n2) {
    return groups[m * width + n1] + before_block(n1, n2, m - n1);
}

INLINE void enter(Block& block, Ints groups, Int width, Int m) {
    block.n3 = m - block.n1 - block.n2;
    block.here = block_start(groups, width, m, block.n1, block.n2);
    block.end = block.here + (block.n1 + 1) * (block.n2 + 1) * (block.n3 + 1);
    block.lost[0] = block_start(groups, width, m + 1, block.n1 + 1, block.n2);
    block.lost[1] = block_start(groups, width, m + 1, block.n1, block.n2 + 1);
    block.lost[2] = block_start(groups, width, m + 1, block.n1, block.n2);
}

// Find the block of state `number` of layer m.
INLINE void find(Block& block, Ints groups, Int width, Int m, Int number) {
    Int low = 0, high = m + 1;
    while (high - low > 1) {
        const Int middle = (low + high) / 2;
        if (groups[m * width + middle] <= number) low = middle; else high = middle;
    }
    block.n1 = low;
    const Int left = m - low, inside = number - groups[m * width + low];
    low = 0, high = left + 1;
    while (high - low > 1) {
        const Int middle = (low + high) / 2;
        if (before_block(block.n1, middle, left) <= inside) low = middle; else high = middle;
    }
    block.n2 = low;
    enter(block, groups, width, m);
}

// Go on to the block of state `number`, which is not before the present one.
INLINE void advance(Block& block, Ints groups, Int width, Int m, Int number) {
    if (number < block.end) return;
    if (number - block.end > 4 * (block.end - block.here)) {
        find(block, groups, width, m, number);
        return;
    }
    while (number >= block.end) {
        if (block.n3 > 0) {
            block.n2 += 1;
        } else {
            block.n1 += 1;
            block.n2 = 0;
        }
        enter(block, groups, width, m);
    }
}

INLINE void locate(Place& place, const Block& block, Int number) {
    const unsigned inside = (unsigned)(number - block.here);
    const unsigned third = (unsigned)block.n3 + 1, second = (unsigned)block.n2 + 1;
    const unsigned row = inside / third;
    place.s[2] = (int)(inside - row * third);
    place.s[0] = (int)(row / second);
    place.s[1] = (int)(row - place.s[0] * second);
    place.n[0] = block.n1, place.n[1] = block.n2, place.n[2] = block.n3;
    place.lost[0] = block.lost[0] + inside;
    place.lost[1] = block.lost[1] + inside + (Int)place.s[0] * third;
    place.lost[2] = block.lost[2] + inside + row;
    place.won[0] = place.lost[0] + (Int)second * third;
    place.won[1] = place.lost[1] + third;
    place.won[2] = place.lost[2] + 1;
}

// Every arm there is, unrolled so that what is known of each stays in registers.
#define EACH_ARM(i) UNROLL for (int i = 0; i < ARMS; i++) if (i >= first)

// Worth of pulling arm i (times W, if weighted).
INLINE double pull(int i, const Place& place, Doubles later, Doubles weights, Doubles arms) {
    if (weights) {
        const double earned = REWARD(i) * weights[place.won[i]];
        return later ? earned + later[place.won[i]] + later[place.lost[i]] : earned;
    }
    const double p = (ALPHA(i) + place.s[i]) / (ALPHA(i) + BETA(i) + place.n[i]);
    if (!later) return p * REWARD(i);
    return p * (REWARD(i) + later[place.won[i]]) + (1.0 - p) * later[place.lost[i]];
}

// The same for an arm that is known only at run time.
INLINE double pull_chosen(int arm, const Place& place, Doubles later, Doubles weights, Doubles arms) {
    Place chosen;
    chosen.s[0] = place.s[0], chosen.n[0] = place.n[0];
    chosen.won[0] = place.won[0], chosen.lost[0] = place.lost[0];
    UNROLL for (int i = 1; i < ARMS; i++) {
        chosen.s[0] = arm == i ? place.s[i] : chosen.s[0];
        chosen.n[0] = arm == i ? place.n[i] : chosen.n[0];
        chosen.won[0] = arm == i ? place.won[i] : chosen.won[0];
        chosen.lost[0] = arm == i ? place.lost[i] : chosen.lost[0];
    }
    const double own[] = {REWARD(arm), 0.0, 0.0, ALPHA(arm), 0.0, 0.0, BETA(arm)};
    return pull(0, chosen, later, weights, own);
}

// Best expected reward of a single pull (times W, if weighted).
INLINE double best_pull(const Place& place, Doubles weights, Doubles arms, Int first) {
    double best = 0.0;
    EACH_ARM(i) best = fmax(best, pull(i, place, nullptr, weights, arms));
    return best;
}

INLINE double weight_of(const Place& place, Doubles weights) {
    return weights ? weights[place.won[2]] + weights[place.lost[2]] : 1.0;
}

INLINE double least_within(double best, double size) { return isinf(best) ? best : best - TIE * size; }

// First arm with at least the score `least`.
INLINE int first_from(const double* scores, double least, Int first) {
    int arm = ARMS - 1;
    UNROLL for (int i = ARMS - 2; i >= 0; i--) arm = i >= first && scores[i] >= least ? i : arm;
    return arm;
}

INLINE double largest(const double* scores, Int first) {
    double best = scores[ARMS - 1];
    EACH_ARM(i) best = fmax(best, scores[i]);
    return best;
}

// First arm whose score ties with the best, ties being relative to the scores or to `unit` rewards.
INLINE int first_best(const double* scores, double unit, Int first) {
    const double best = largest(scores, first);
    return first_from(scores, least_within(best, fmax(unit, fabs(best))), first);
}

// Every sweep goes over the states low … high - 1 of layer m; a thread takes every blockDim-th of its part.
#define SWEEP_PARAMETERS \
    Int m, Int low, Int high, Int each, Int first, Ints groups, Int width, Doubles arms, Doubles later, \
    const double* weights, Int shift, double* out
#define SWEEP_ARGUMENTS m, low, high, each, first, groups, width, arms, later, weights, shift, out

// Weights of the next layer begin at its state `shift`; `out` at state `low` of this one.
#define SWEEP_BEGIN \
    const Int begin = low + (Int)blockIdx.x * blockDim.x * each; \
    Int number = begin + threadIdx.x; \
    if (number >= high) return; \
    const Int end = begin + (Int)blockDim.x * each < high ? begin + (Int)blockDim.x * each : high; \
    Doubles w = weights ? weights - shift : nullptr; \
    Block block; \
    find(block, groups, width, m, number); \
    for (; number < end; number += blockDim.x) { \
        Place place; \
        advance(block, groups, width, m, number); \
        locate(place, block, number);
#define SWEEP_END }

// The best arm: the Bayes optimum.
KERNEL(sweep_best, (SWEEP_PARAMETERS), (SWEEP_ARGUMENTS)) {
    SWEEP_BEGIN
    double best = 0.0;  // no worth is negative
    EACH_ARM(i) best = fmax(best, pull(i, place, later, w, arms));
    out[number - low] = best;
    SWEEP_END
}

// The arm with the largest reward times entry of its table; table i begins at offsets[i].
KERNEL(sweep_table, (SWEEP_PARAMETERS, Doubles tables, Ints offsets),
       (SWEEP_ARGUMENTS, tables, offsets)) {
    SWEEP_BEGIN
    double scores[ARMS];
    EACH_ARM(i) scores[i] = REWARD(i) * tables[offsets[i] + triangle(place.n[i]) + place.s[i]];
    out[number - low] = pull_chosen(first_best(scores, SCALE, first), place, later, w, arms);
    SWEEP_END
}

// The arm whose outcomes gain most: tables of what a success, a failure and another arm's pull are worth per
// reward, `size` apart. Ties are judged by all that a pull is worth, what arms share included.
KERNEL(sweep_gain, (SWEEP_PARAMETERS, Doubles tables, Ints offsets, Int size),
       (SWEEP_ARGUMENTS, tables, offsets, size)) {
    SWEEP_BEGIN
    double scores[ARMS], shared = 0.0;
    EACH_ARM(i) {
        const Int at = offsets[i] + triangle(place.n[i]) + place.s[i];
        const double p = (ALPHA(i) + place.s[i]) / (ALPHA(i) + BETA(i) + place.n[i]);
        const double won = w ? w[place.won[i]] : p, lost = w ? w[place.lost[i]] : 1.0 - p;
        scores[i] = REWARD(i) * (tables[at] * won + tables[at + size] * lost);
        shared += REWARD(i) * tables[at + 2 * size];
    }
    const double weight = weight_of(place, w), best = largest(scores, first);
    const double least = least_within(best, fmax(SCALE * weight, fabs(best + weight * shared)));
    out[number - low] = pull_chosen(first_from(scores, least, first), place, later, w, arms);
    SWEEP_END
}

// `times` the best expected reward of a single pull; `later` is not read.
KERNEL(sweep_commit, (SWEEP_PARAMETERS, double times), (SWEEP_ARGUMENTS, times)) {
    SWEEP_BEGIN
    out[number - low] = times * best_pull(place, w, arms, first);
    SWEEP_END
}

// One arm, or `times` the best single pull if that is more (0: never).
KERNEL(sweep_stop, (SWEEP_PARAMETERS, Int arm, double times), (SWEEP_ARGUMENTS, arm, times)) {
    SWEEP_BEGIN
    const double on = pull_chosen((int)arm, place, later, w, arms);
    out[number - low] = times > 0.0 ? fmax(on, times * best_pull(place, w, arms, first)) : on;
    SWEEP_END
}

// The best arm where each goes on by itself: `each_arm` holds the next layer's worth of arm i, `size` apart.
KERNEL(sweep_step, (SWEEP_PARAMETERS, Doubles each_arm, Int size), (SWEEP_ARGUMENTS, each_arm, size)) {
    SWEEP_BEGIN
    double scores[ARMS];
    EACH_ARM(i) scores[i] = pull(i, place, each_arm + (i - first) * size, w, arms);
    out[number - low] = largest(scores, first);
    SWEEP_END
}

// The arm that is best by `ahead`, what a search found in the next layer.
KERNEL(sweep_search, (SWEEP_PARAMETERS, Doubles ahead), (SWEEP_ARGUMENTS, ahead)) {
    SWEEP_BEGIN
    double scores[ARMS];
    EACH_ARM(i) scores[i] = pull(i, place, ahead, w, arms);
    const int arm = first_best(scores, SCALE * weight_of(place, w), first);
    out[number - low] = pull_chosen(arm, place, later, w, arms);
    SWEEP_END
}

// The same where the search does not see all that is left: `stops` holds the next layer's worth of pulling arm i
// on, `size` apart. Where no arm wins back by that a part of what one pull costs, against committing (`times` the
// best single pull), all is settled, and the best single pull decides; where many pulls of one
// arm gain several times as much as the search, they do.
KERNEL(sweep_plan, (SWEEP_PARAMETERS, Doubles ahead, Doubles stops, Int size, double times, double recovered,
                    double outweigh, double equal),
       (SWEEP_ARGUMENTS, ahead, stops, size, times, recovered, outweigh, equal)) {
    SWEEP_BEGIN
    const double best = best_pull(place, w, arms, first), committed = times * best;
    double longer[ARMS], scores[ARMS];
    bool settled = true;
    EACH_ARM(i) {
        longer[i] = pull(i, place, stops + (i - first) * size, w, arms);
        scores[i] = pull(i, place, nullptr, w, arms);
        settled &= !(longer[i] - committed > -recovered * (best - scores[i]) + equal * committed);
    }
    if (!settled) {
        EACH_ARM(i) scores[i] = pull(i, place, ahead, w, arms);
        const double few = fmax(largest(scores, first) - committed, 0.0);
        if (largest(longer, first) - committed > outweigh * few + equal * committed) {
            EACH_ARM(i) scores[i] = longer[i];
        }
    }
    const int arm = first_best(scores, SCALE * weight_of(place, w), first);
    out[number - low] = pull_chosen(arm, place, later, w, arms);
    SWEEP_END
}

// The tables of n pulls of an arm begin there, [node][successes], in rows of this many numbers.
INLINE Int row_of(Int n) { return (n / PADDED + 1) * PADDED; }
INLINE Int of_pulls(Int n, Int nodes) {
    const Int rows = n / PADDED;
    return nodes * PADDED * (rows + 1) * (PADDED / 2 * rows + n % PADDED);
}

// W of groups low … high - 1 of layer m, out[0] being that of the first state: the sum over all nodes of the
// product of the arms' tables. A thread adds up a tile of ROWS by COLUMNS states, whose table entries are read two at a
// time. prefix[left * width + n2] is how many tiles come before block n2 of a
// group for each s1, and tiles[m * width + n1] before group n1.
KERNEL(weigh, (Int m, Int low, Int high, Ints groups, Int width, Ints tiles, Ints prefix, Int nodes,
               Doubles before, Doubles middle, Doubles behind, double* out),
       (m, low, high, groups, width, tiles, prefix, nodes, before, middle, behind, out)) {
    const Int tile = tiles[m * width + low] + (Int)blockIdx.x * blockDim.x + threadIdx.x;
    if (tile >= tiles[m * width + high]) return;
    Int n1 = low, stop = high;
    while (stop - n1 > 1) {
        const Int half = (n1 + stop) / 2;
        if (tiles[m * width + half] <= tile) n1 = half; else stop = half;
    }
    const Int left = m - n1;
    Int inside = tile - tiles[m * width + n1], n2 = 0;
    stop = left + 1;
    while (stop - n2 > 1) {
        const Int half = (n2 + stop) / 2;
        if ((n1 + 1) * prefix[left * width + half] <= inside) n2 = half; else stop = half;
    }
    inside -= (n1 + 1) * prefix[left * width + n2];
    const Int n3 = left - n2;
    const Int across = (n3 + COLUMNS) / COLUMNS, down = (n2 + ROWS) / ROWS;
    const Int s1 = inside / (across * down), pair = inside % across;
    const Int row = inside / across % down * ROWS;

    double sum[ROWS][COLUMNS];
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < COLUMNS; j++) sum[i][j] = 0.0;
    Doubles u = before + of_pulls(n1, nodes) + s1;
    const double2* f = (const double2*)(middle + of_pulls(n2, nodes) + row);
    const double2* l = (const double2*)(behind + of_pulls(n3, nodes)) + pair;
    const int apart = (int)across;  // neighbours read pairs of columns side by side
    const int first = (int)row_of(n1), second = (int)row_of(n2) / 2, third = (int)row_of(n3) / 2;
    UNROLL_BY(NODES_AT_ONCE) for (int g = 0; g < (int)nodes; g++) {
        double head[ROWS], tail[COLUMNS];
        UNROLL for (int j = 0; j < COLUMNS; j += 2) {
            const double2 two = l[g * third + j / 2 * apart];
            tail[j] = two.x, tail[j + 1] = two.y;
        }
        const double own = u[g * first];
        UNROLL for (int i = 0; i < ROWS; i += 2) {
            const double2 two = f[g * second + i / 2];
            head[i] = own * two.x, head[i + 1] = own * two.y;
        }
        UNROLL for (int i = 0; i < ROWS; i++)
            UNROLL for (int j = 0; j < COLUMNS; j++) sum[i][j] += head[i] * tail[j];
    }
    double* here = out + block_start(groups, width, m, n1, n2) - groups[m * width + low];
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            const Int column = 2 * (pair + j / 2 * across) + j % 2;
            if (row + i <= n2 && column <= n3)
                here[(s1 * (n2 + 1) + row + i) * (n3 + 1) + column] = sum[i][j];
        }
}

// Worth of every arm in some states of layer m, per unit of weight: counts[k] = (s1, s2, s3, n1, n2, n3). The
// weights of the states that follow are added up here; no nodes: independent arms.
KERNEL(score, (Int m, Int count, Int first, Ints groups, Int width, Doubles arms, Doubles later, Ints counts,
               Int nodes, Doubles before, Doubles middle, Doubles behind, double* out),
       (m, count, first, groups, width, arms, later, counts, nodes, before, middle, behind, out)) {
    const Int k = (Int)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    Ints s = counts + 2 * ARMS * k, n = s + ARMS;
    Block block;
    block.n1 = n[0], block.n2 = n[1];
    enter(block, groups, width, m);
    Place place;
    locate(place, block, block.here + (s[0] * (n[1] + 1) + s[1]) * (n[2] + 1) + s[2]);
    EACH_ARM(i) {
        if (nodes == 0) {
            out[ARMS * k + i] = pull(i, place, later, nullptr, arms);
            continue;
        }
        double won = 0.0, lost = 0.0;
        for (Int g = 0; g < nodes; g++) {
            double chance[ARMS], either[ARMS];
            UNROLL for (int j = 0; j < ARMS; j++) {
                Doubles table = j == 0 ? before : j == 1 ? middle : behind;
                const Int pulls = n[j] + (i == j);
                Doubles entry = table + of_pulls(pulls, nodes) + g * row_of(pulls) + s[j];
                either[j] = entry[0], chance[j] = i == j ? entry[1] : entry[0];
            }
            won += chance[0] * chance[1] * chance[2];
            lost += either[0] * either[1] * either[2];
        }
        const double after = later ? later[place.won[i]] + later[place.lost[i]] : 0.0;
        out[ARMS * k + i] = (REWARD(i) * won + after) / (won + lost);
    }
}
