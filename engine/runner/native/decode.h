// A step of a few rows through a Llama-shaped decoder, over a paged KV cache.
//
//     step.c        the step itself: begin reading there
//     attention.c   one row, one KV head: through the block table
//     matrix.c      a few rows times a weight
//     likeliest.c   what the sampler asks of the logits
//     threads.c     sharing a loop out to the cores
//     lanes.h       eight numbers at once
//     numbers.h     numbers as they are stored
//
// Python (model.py) fills in the structures below and owns everything that they point to.
#pragma once
#include <stdint.h>

#define INTERFACE 4  // raised whenever a structure changes; Python compares

// How numbers are stored, in a weight or in the cache.
enum Kind { FLOAT32 = 0, BFLOAT16 = 1, FLOAT16 = 2, FOUR_BIT = 3, EIGHT_BIT = 4 };

// A weight [num_outputs, num_inputs], of which PANEL outputs stand side by side: see matrix.c.
typedef struct {
    int32_t kind;
    int32_t num_outputs, num_inputs;
    const uint32_t *panels;
    const float *bias;  // [num_outputs], or NULL
} Matrix;

typedef struct {
    const float *norm, *norm_again;  // [hidden_size]
    Matrix qkv, o, gate, up, down;
} Layer;

typedef struct {
    int32_t num_layers, hidden_size, num_heads, num_kv_heads, head_size;
    float epsilon;  // of the norms
    float scale;    // of q . k
    const Layer *layers;
    const float *last_norm;
    Matrix head;
} Model;

// Where the rows lie in the cache of one KV-cache group, and what they see under one window.
typedef struct {
    int32_t block_size;
    const int64_t *slots;         // [num_rows]: block_id * block_size + offset, for the row's K and V
    const int32_t *block_tables;  // one table after the other
    const int64_t *table_starts;  // [num_rows]: where the row's table begins
    const int32_t *first_tokens;  // [num_rows]: the first that the window shows
    const int32_t *num_tokens;    // [num_rows]: up to and with the row itself
} Places;

typedef struct {
    int32_t num_rows, num_samples, num_threads;
    int32_t cache_kind, embedding_kind;
    int32_t vocab_size;            // of the embeddings
    int64_t value_offset;          // numbers from a slot's K to its V
    void *const *kv_caches;        // by layer: [2, num_blocks, block_size, num_kv_heads, head_size]
    const Places *const *places;   // by layer
    const int64_t *input_ids;      // [num_rows], each below vocab_size or the step is refused
    const int64_t *positions;      // [num_rows]
    const int64_t *sample_rows;    // [num_samples]
    const void *embeddings;        // [vocab_size, hidden_size] in `embedding_kind`
    const float *cosines, *sines;  // [.., head_size], by position; sines of the first half negated
    float *logits;                 // [num_samples, vocab_size]
} Step;

typedef struct {
    int32_t num_rows, vocab_size, num_threads;
    int32_t count;        // of likeliest tokens; the vocabulary has as many at least
    const float *logits;  // [num_rows, vocab_size]
    int32_t *ids;         // [num_rows, count]
    float *logprobs;      // [num_rows, count], in falling order
    float *normalisers;   // [num_rows]: a token's logprob is its logit less this
} Likeliest;

// 0, or NO_MEMORY or NO_SUCH_TOKEN; then nothing was written.
enum { NO_MEMORY = 1, NO_SUCH_TOKEN = 2 };
int decode_step(const Model *model, const Step *step);

// 0, or 1 if a row has no softmax: a NaN, an infinity, or nothing above -infinity. Then what was
// written means nothing.
int likeliest(const Likeliest *given);

// attention.c
void write_kv(const Step *step, int layer, int row, const float *key, int num_numbers);
void attend(const Model *model, const Step *step, int layer, int task, const float *query,
            float *out, float *scores);

// matrix.c
int num_panels(const Matrix *weight);
typedef struct {
    const float *rows;
    int64_t stride;
    const float *scaled, *sums;  // of a single row for weights in groups: see `ready`
} Input;
void ready(Input *input, const Matrix *weight, int num_rows, float *scaled, float *sums);
void multiply(const Matrix *weight, int panel, const Input *input, int first_row, int num_rows,
              float *out);

// threads.c
typedef void (*Task)(const void *context, int index, int thread);
int begin_sharing(int num_threads);  // how many threads may call a task from now on
void share_out(Task task, const void *context, int num_tasks);
void end_sharing(void);
