// The likeliest tokens of each row of logits, and their logarithms of probabilities.
//
//     once through the row       the largest logits; of equal ones the lower id comes first
//     and once more              normaliser = log(sum of e^logit)
//
// The row is still in the processor's cache from the matrix product that wrote it.
#include <math.h>
#include "decode.h"
#include "lanes.h"

#define CHUNK 128  // logits that are looked at one by one only if the largest is among the likeliest

// The largest of a chunk; -INFINITY if there are only those, INFINITY if one is that or no number.
static float largest_of(const float *chunk) {
    Floats top = all(-INFINITY);
    Words is_number = ~(Words){0};
    UNROLL
    for (int i = 0; i < CHUNK; i += LANES) {
        const Floats x = floats_at(chunk + i);
        const Words is_more = (Words)(x > top);
        top = (Floats)((is_more & (Words)x) | (~is_more & (Words)top));
        is_number &= (Words)(x < INFINITY);
    }
    float largest = -INFINITY;
    for (int lane = 0; lane < LANES; lane++) {
        if (!is_number[lane]) return INFINITY;
        if (top[lane] > largest) largest = top[lane];
    }
    return largest;
}

static float sum_of_powers(const float *chunk, float largest) {
    Floats even = all(0), odd = all(0);
    for (int i = 0; i < CHUNK; i += 2 * LANES) {
        even += exp_of(floats_at(chunk + i) - largest);
        odd += exp_of(floats_at(chunk + i + LANES) - largest);
    }
    return sum_of(even + odd);
}

// `chunk` of a row, or the row's end filled up to a whole chunk: with e^-87, next to nothing.
static const float *chunk_of(const float *row, int start, int end, float *filled) {
    if (end - start >= CHUNK) return row + start;
    for (int i = 0; i < CHUNK; i++) filled[i] = start + i < end ? row[start + i] : -INFINITY;
    return filled;
}

// Into their place among those found before, which all have lower ids.
static int insert(int32_t *ids, float *values, int num_found, int count, int32_t id, float value) {
    if (num_found == count && !(value > values[count - 1])) return num_found;
    int place = num_found < count ? num_found : count - 1;
    for (; place > 0 && value > values[place - 1]; place--) {
        ids[place] = ids[place - 1];
        values[place] = values[place - 1];
    }
    ids[place] = id;
    values[place] = value;
    return num_found < count ? num_found + 1 : count;
}

static void find_in_row(const void *context, int index, int thread) {
    const Likeliest *given = context;
    (void)thread;
    const int end = given->vocab_size, count = given->count;
    const float *row = given->logits + (int64_t)index * end;
    int32_t *ids = given->ids + (int64_t)index * count;
    float *values = given->logprobs + (int64_t)index * count, filled[CHUNK];
    float largest = -INFINITY;
    int num_found = 0;
    for (int start = 0; start < end; start += CHUNK) {
        const float top = largest_of(chunk_of(row, start, end, filled));
        if (top > largest) largest = top;
        if (num_found == count && !(top > values[count - 1])) continue;
        for (int id = start; id < end && id < start + CHUNK; id++)
            num_found = insert(ids, values, num_found, count, id, row[id]);
    }
    if (isinf(largest)) {
        given->normalisers[index] = NAN;
        return;
    }
    double sum = 0;
    for (int start = 0; start < end; start += CHUNK)
        sum += sum_of_powers(chunk_of(row, start, end, filled), largest);
    const float normaliser = (float)(largest + log(sum));
    given->normalisers[index] = normaliser;
    for (int i = 0; i < count; i++) values[i] -= normaliser;
}

int likeliest(const Likeliest *given) {
    begin_sharing(given->num_threads < given->num_rows ? given->num_threads : given->num_rows);
    share_out(find_in_row, given, given->num_rows);
    end_sharing();
    for (int row = 0; row < given->num_rows; row++)
        if (isnan(given->normalisers[row])) return 1;
    return 0;
}
