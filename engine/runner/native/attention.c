// Attention of one row over the blocks of its request.
#include <math.h>
#include "decode.h"
#include "lanes.h"
#include "numbers.h"

// A row's K and V, all KV heads of both one after the other, into its slot.
void write_kv(const Step *step, int layer, int row, const float *key, int num_numbers) {
    void *cache = step->kv_caches[layer];
    const int64_t first = step->places[layer]->slots[row] * num_numbers;
    narrow(step->cache_kind, key, num_numbers, cache, first);
    narrow(step->cache_kind, key + num_numbers, num_numbers, cache, first + step->value_offset);
}

static float dot(const float *x, const float *y, int count) {
    Floats sum = all(0);
    int i = 0;
    for (; i + LANES <= count; i += LANES) sum += floats_at(x + i) * floats_at(y + i);
    float total = sum_of(sum);
    for (; i < count; i++) total += x[i] * y[i];
    return total;
}

static void add_times(float *out, float factor, const float *x, int count) {
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        *(Floats *)(out + i) = floats_at(out + i) + floats_at(x + i) * factor;
    for (; i < count; i++) out[i] += factor * x[i];
}

// Scores -> weights that add up to 1. `scores` has room up to the next multiple of LANES.
static void softmax(float *scores, int count) {
    float top = scores[0];
    for (int i = 1; i < count; i++) top = scores[i] > top ? scores[i] : top;
    for (int i = count; i % LANES; i++) scores[i] = -INFINITY;
    Floats sum = all(0);
    for (int i = 0; i < count; i += LANES) {
        const Floats weights = exp_of(floats_at(scores + i) - top);
        *(Floats *)(scores + i) = weights;
        sum += weights;
    }
    const float total = sum_of(sum);  // e^-87 for each score that fills up: nothing
    for (int i = 0; i < count; i++) scores[i] /= total;
}

// The heads of `task` = row * num_kv_heads + kv_head. The block table says where a token lies:
//
//     block = block_table[token / block_size], offset = token % block_size
//
// Slots beyond the request's tokens may hold anything, even NaN: nothing reads them.
void attend(const Model *model, const Step *step, int layer, int task, const float *query,
            float *out, float *scores) {
    const int row = task / model->num_kv_heads, kv_head = task % model->num_kv_heads;
    const int size = model->head_size, group = model->num_heads / model->num_kv_heads;
    const Places *places = step->places[layer];
    const int32_t *table = places->block_tables + places->table_starts[row];
    const int first = places->first_tokens[row], end = places->num_tokens[row];
    const int count = end - first, room = (count + LANES - 1) / LANES * LANES;
    const void *cache = step->kv_caches[layer];
    float wide[size];

    for (int token = first; token < end; token++) {
        const int64_t block = table[token / places->block_size];
        const int64_t slot = block * places->block_size + token % places->block_size;
        const int64_t key = (slot * model->num_kv_heads + kv_head) * size;
        widen(step->cache_kind, cache, key, size, wide);
        for (int head = 0; head < group; head++)
            scores[head * room + token - first] =
                dot(query + head * size, wide, size) * model->scale;
    }
    for (int head = 0; head < group; head++) {
        softmax(scores + head * room, count);
        for (int i = 0; i < size; i++) out[head * size + i] = 0;
    }
    for (int token = first; token < end; token++) {
        const int64_t block = table[token / places->block_size];
        const int64_t slot = block * places->block_size + token % places->block_size;
        const int64_t value = (slot * model->num_kv_heads + kv_head) * size + step->value_offset;
        widen(step->cache_kind, cache, value, size, wide);
        for (int head = 0; head < group; head++)
            add_times(out + head * size, scores[head * room + token - first], wide, size);
    }
}
