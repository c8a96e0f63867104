// A few rows times a weight, with the weight as it is stored and everything else in float32.
//
// What such a product waits for is the memory that holds the weight, so the weight is laid out to be
// read from front to back once. PANEL outputs stand side by side, input by input:
//
//     output      0   1   2  ..  31 |  0   1   2  ..  31 |
//     inputs    0,1 0,1 0,1     0,1 | 2,3 2,3 2,3     2,3 | ..     a word each: two bfloat16
//
// One input of a row, repeated in all lanes, meets eight outputs in one instruction, and no sum has
// to be taken across lanes. An output's sum runs from the first input to the last, whichever thread
// computes it.
//
// Weights in groups (a GGUF's Q4_0, Q4_1, Q8_0): weight = scale * q + minimum, for 32 inputs. A
// group is `bits` words of q per output, and then a word with scale and minimum in float16.
#include "decode.h"
#include "lanes.h"

#define GROUP 32
#define VECTORS (PANEL / LANES)
#define ROWS_AT_ONCE 4
#define AHEAD 4096  // bytes: far enough to be there in time

int num_panels(const Matrix *weight) { return (weight->num_outputs + PANEL - 1) / PANEL; }

INLINE int words_of_pair(int kind) { return kind == FLOAT32 ? 2 * PANEL : PANEL; }

// Eight outputs' weights of an even input, or of the odd one after it.
INLINE Floats pair_part(const int kind, const uint32_t *at, const int is_odd) {
    if (kind == FLOAT32) return floats_at((const float *)at + (is_odd ? PANEL : 0));
    const Words words = words_at(at);
    if (kind == BFLOAT16) return is_odd ? bfloat16_high(words) : bfloat16_low(words);
    return is_odd ? float16_high(words) : float16_low(words);
}

INLINE void fetch_ahead(const uint32_t *at, int num_words) {
    for (int word = 0; word < num_words; word += 16)  // a cache line
        __builtin_prefetch((const char *)(at + word) + AHEAD);
}

// `rows` rows times `vectors` vectors of outputs, which all fit into registers.
INLINE void dense(const int kind, const int vectors, const int rows, const uint32_t *at,
                  const Input *input, const float *x, int num_inputs, float *out) {
    Floats sums[VECTORS][ROWS_AT_ONCE];
    UNROLL for (int v = 0; v < vectors; v++)
        UNROLL for (int r = 0; r < rows; r++) sums[v][r] = all(0);
    for (int i = 0; i < num_inputs; i += 2, at += words_of_pair(kind)) {
        fetch_ahead(at, words_of_pair(kind));
        UNROLL for (int is_odd = 0; is_odd < 2; is_odd++) {
            Floats weights[VECTORS];
            UNROLL for (int v = 0; v < vectors; v++)
                weights[v] = pair_part(kind, at + v * LANES, is_odd);
            UNROLL for (int r = 0; r < rows; r++) {
                const Floats one = all(x[r * input->stride + i + is_odd]);
                UNROLL for (int v = 0; v < vectors; v++) sums[v][r] += weights[v] * one;
            }
        }
    }
    UNROLL for (int v = 0; v < vectors; v++)
        UNROLL for (int r = 0; r < rows; r++)
            *(Floats *)(out + r * PANEL + v * LANES) = sums[v][r];
}

INLINE int words_of_group(int bits) { return (bits + 1) * PANEL; }

// One row: sum(weight * x) = scale * sum(q * x) + minimum * sum(x), group by group. A q is taken
// where it stands in its word, 2^(bits * field) too large; its x was made as much smaller before.
INLINE void grouped_row(const int bits, const uint32_t *at, const Input *input, int num_inputs,
                        float *out) {
    const int num_fields = 32 / bits;
    Floats sums[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) sums[v] = all(0);
    const float *x = input->scaled;
    for (int group = 0; group < num_inputs / GROUP; group++, at += words_of_group(bits)) {
        fetch_ahead(at, words_of_group(bits));
        Floats products[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) products[v] = all(0);
        UNROLL for (int word = 0; word < bits; word++, x += num_fields) {
            Words words[VECTORS];
            UNROLL for (int v = 0; v < VECTORS; v++)
                words[v] = words_at(at + word * PANEL + v * LANES);
            UNROLL for (int field = 0; field < num_fields; field++) {
                const Floats one = all(x[field]);
                UNROLL for (int v = 0; v < VECTORS; v++) {
                    const uint32_t mask = ((1u << bits) - 1) << (bits * field);
                    Words q = words[v] & mask;
                    if (field == num_fields - 1) q >>= 32 - bits;  // else it would be negative
                    products[v] += __builtin_convertvector((Ints)q, Floats) * one;
                }
            }
        }
        const Floats sum = all(input->sums[group]);
        UNROLL for (int v = 0; v < VECTORS; v++) {
            const Words both = words_at(at + bits * PANEL + v * LANES);
            sums[v] += products[v] * float16_low(both) + float16_high(both) * sum;
        }
    }
    UNROLL for (int v = 0; v < VECTORS; v++) *(Floats *)(out + v * LANES) = sums[v];
}

// Several rows share each weight, so it is worth making it whole: scale * q + minimum.
INLINE void grouped(const int bits, const int rows, const uint32_t *at, const Input *input,
                    const float *x, int num_inputs, float *out) {
    const int num_fields = 32 / bits;
    Floats sums[2][ROWS_AT_ONCE];
    UNROLL for (int v = 0; v < 2; v++) UNROLL for (int r = 0; r < rows; r++) sums[v][r] = all(0);
    for (int group = 0; group < num_inputs / GROUP; group++, at += words_of_group(bits)) {
        fetch_ahead(at, words_of_group(bits));
        Floats scales[2], minima[2];
        UNROLL for (int v = 0; v < 2; v++) {
            const Words both = words_at(at + bits * PANEL + v * LANES);
            scales[v] = float16_low(both);
            minima[v] = float16_high(both);
        }
        for (int word = 0; word < bits; word++) {
            Words words[2];
            UNROLL for (int v = 0; v < 2; v++) words[v] = words_at(at + word * PANEL + v * LANES);
            for (int field = 0; field < num_fields; field++, x++) {
                Floats weights[2];
                UNROLL for (int v = 0; v < 2; v++) {
                    const Words q = words[v] & ((1u << bits) - 1);
                    weights[v] = __builtin_convertvector((Ints)q, Floats) * scales[v] + minima[v];
                    words[v] >>= bits;
                }
                UNROLL for (int r = 0; r < rows; r++) {
                    const Floats one = all(x[r * input->stride]);
                    UNROLL for (int v = 0; v < 2; v++) sums[v][r] += weights[v] * one;
                }
            }
        }
    }
    UNROLL for (int v = 0; v < 2; v++)
        UNROLL for (int r = 0; r < rows; r++)
            *(Floats *)(out + r * PANEL + v * LANES) = sums[v][r];
}

// Few rows take the whole panel at once; more take one half after the other, to fit into registers.
INLINE void tile(const int kind, const int rows, const uint32_t *at, const Input *input,
                 const float *x, int num_inputs, float *out) {
    const int bits = kind == FOUR_BIT ? 4 : 8;
    const int vectors = rows <= 2 ? VECTORS : VECTORS / 2;
    if (kind < FOUR_BIT) {
        for (int i = 0; i < PANEL; i += vectors * LANES)
            dense(kind, vectors, rows, at + i, input, x, num_inputs, out + i);
    } else if (rows == 1 && input->scaled) {
        grouped_row(bits, at, input, num_inputs, out);
    } else {
        for (int i = 0; i < PANEL; i += 2 * LANES)
            grouped(bits, rows, at + i, input, x, num_inputs, out + i);
    }
}

#define FOR_KIND(NAME, KIND)                                                                     \
    static void NAME(int rows, const uint32_t *at, const Input *input, const float *x,           \
                     int num_inputs, float *out) {                                               \
        if (rows == 1) tile(KIND, 1, at, input, x, num_inputs, out);                             \
        if (rows == 2) tile(KIND, 2, at, input, x, num_inputs, out);                             \
        if (rows == 3) tile(KIND, 3, at, input, x, num_inputs, out);                             \
        if (rows == 4) tile(KIND, 4, at, input, x, num_inputs, out);                             \
    }
FOR_KIND(by_float32, FLOAT32)
FOR_KIND(by_bfloat16, BFLOAT16)
FOR_KIND(by_float16, FLOAT16)
FOR_KIND(by_four_bit, FOUR_BIT)
FOR_KIND(by_eight_bit, EIGHT_BIT)

static int64_t words_of_panel(const Matrix *weight) {
    const int64_t num_inputs = weight->num_inputs;
    switch (weight->kind) {
        case FOUR_BIT: return num_inputs / GROUP * words_of_group(4);
        case EIGHT_BIT: return num_inputs / GROUP * words_of_group(8);
        default: return num_inputs / 2 * words_of_pair(weight->kind);
    }
}

// Outputs panel * PANEL and following of up to ROWS_AT_ONCE rows: out[num_rows][PANEL].
void multiply(const Matrix *weight, int panel, const Input *input, int first_row, int num_rows,
              float *out) {
    static void (*const by_kind[])(int, const uint32_t *, const Input *, const float *, int,
                                   float *) = {
        by_float32, by_bfloat16, by_float16, by_four_bit, by_eight_bit,
    };
    const uint32_t *at = weight->panels + panel * words_of_panel(weight);
    const float *x = input->rows + first_row * input->stride;
    by_kind[weight->kind](num_rows, at, input, x, weight->num_inputs, out);
    if (weight->bias == 0) return;
    for (int i = 0; i < PANEL && panel * PANEL + i < weight->num_outputs; i++)
        for (int r = 0; r < num_rows; r++) out[r * PANEL + i] += weight->bias[panel * PANEL + i];
}

// For a single row and a weight in groups: what grouped_row needs of the row, once for all panels.
void ready(Input *input, const Matrix *weight, int num_rows, float *scaled, float *sums) {
    input->scaled = input->sums = 0;
    if (num_rows > 1 || weight->kind < FOUR_BIT) return;
    const int bits = weight->kind == FOUR_BIT ? 4 : 8, num_fields = 32 / bits;
    float factors[LANES];
    for (int i = 0; i < LANES; i++) {
        const int field = i % num_fields;
        factors[i] = field < num_fields - 1 ? 1.0f / (float)(1u << (bits * field)) : 1.0f;
    }
    for (int group = 0; group < weight->num_inputs / GROUP; group++) {
        Floats sum = all(0);
        for (int i = group * GROUP; i < (group + 1) * GROUP; i += LANES) {
            const Floats x = floats_at(input->rows + i);
            *(Floats *)(scaled + i) = x * floats_at(factors);
            sum += x;
        }
        sums[group] = sum_of(sum);
    }
    input->scaled = scaled;
    input->sums = sums;
}
