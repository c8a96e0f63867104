// One step: every row through every layer.
//
//     the tokens' embeddings; then in every layer
//
//     norm | QKV | turn Q and K, write K and V | attend | o, added to the row
//     norm | gate and up, silu(gate) * up | down, added to the row
//
// Loops over outputs or heads are shared out to the threads; between them one thread does what takes
// less time than waking another.
#include <math.h>
#include <stdlib.h>
#include "decode.h"
#include "lanes.h"
#include "numbers.h"

#define ROWS_AT_ONCE 4

// What the tasks of a step see.
typedef struct {
    const Model *model;
    const Step *step;
    int layer;
    const Matrix *weight, *up;  // of this loop; `up` beside the gate
    Input input;
    float *out;  // [num_rows, stride]
    int64_t stride;
    int num_rows;
    const float *heads;  // [num_rows, qkv]: what attention starts from
    int64_t heads_stride;
    float *scores;  // [num_threads, room]
    int64_t scores_room;
} Work;

// One row's norm: hidden / root mean square * weight.
static void norm(const Model *model, const float *hidden, const float *weight, float *out) {
    const int size = model->hidden_size;
    float squares = 0;
    Floats sum = all(0);
    int i = 0;
    for (; i + LANES <= size; i += LANES) sum += floats_at(hidden + i) * floats_at(hidden + i);
    for (; i < size; i++) squares += hidden[i] * hidden[i];
    squares += sum_of(sum);
    const float inverse = 1.0f / sqrtf(squares / (float)size + model->epsilon);
    for (i = 0; i < size; i++) out[i] = hidden[i] * inverse * weight[i];
}

static int outputs_in(const Matrix *weight, int panel) {
    const int left = weight->num_outputs - panel * PANEL;
    return left < PANEL ? left : PANEL;
}

static int rows_from(const Work *work, int row) {
    const int left = work->num_rows - row;
    return left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
}

// weight * rows for one panel of outputs, put into `out` or added to what stands there: the residual.
static void multiply_panel(const Work *work, int panel, int adds) {
    float found[ROWS_AT_ONCE * PANEL];
    for (int row = 0; row < work->num_rows; row += ROWS_AT_ONCE) {
        const int num_rows = rows_from(work, row);
        multiply(work->weight, panel, &work->input, row, num_rows, found);
        for (int r = 0; r < num_rows; r++) {
            float *out = work->out + (row + r) * work->stride + panel * PANEL;
            for (int i = 0; i < outputs_in(work->weight, panel); i++)
                out[i] = adds ? out[i] + found[r * PANEL + i] : found[r * PANEL + i];
        }
    }
}

static void put_panel(const void *context, int panel, int thread) {
    (void)thread;
    multiply_panel(context, panel, 0);
}

static void add_panel(const void *context, int panel, int thread) {
    (void)thread;
    multiply_panel(context, panel, 1);
}

// out = silu(gate * rows) * (up * rows), with silu(x) = x / (1 + e^-x).
static void gate_panel(const void *context, int panel, int thread) {
    const Work *work = context;
    (void)thread;
    float gates[ROWS_AT_ONCE * PANEL], ups[ROWS_AT_ONCE * PANEL];
    for (int row = 0; row < work->num_rows; row += ROWS_AT_ONCE) {
        const int num_rows = rows_from(work, row);
        multiply(work->weight, panel, &work->input, row, num_rows, gates);
        multiply(work->up, panel, &work->input, row, num_rows, ups);
        for (int i = 0; i < num_rows * PANEL; i += LANES) {
            const Floats gate = floats_at(gates + i);
            *(Floats *)(ups + i) *= gate / (1.0f + exp_of(-gate));
        }
        for (int r = 0; r < num_rows; r++)
            for (int i = 0; i < outputs_in(work->weight, panel); i++)
                work->out[(row + r) * work->stride + panel * PANEL + i] = ups[r * PANEL + i];
    }
}

static void attend_task(const void *context, int task, int thread) {
    const Work *work = context;
    const Model *model = work->model;
    const int row = task / model->num_kv_heads, kv_head = task % model->num_kv_heads;
    const int64_t place = kv_head * (model->num_heads / model->num_kv_heads) * model->head_size;
    attend(model, work->step, work->layer, task, work->heads + row * work->heads_stride + place,
           work->out + row * work->stride + place, work->scores + thread * work->scores_room);
}

// Rotary embedding of one row's Q and K heads: x * cosine + (halves of x swapped) * sine.
static void turn(const Model *model, const Step *step, int row, float *heads) {
    const int size = model->head_size, half = size / 2;
    const float *cosine = step->cosines + step->positions[row] * size;
    const float *sine = step->sines + step->positions[row] * size;
    for (int head = 0; head < model->num_heads + model->num_kv_heads; head++, heads += size)
        for (int i = 0; i < half; i++) {
            const float first = heads[i], second = heads[half + i];
            heads[i] = first * cosine[i] + second * sine[i];
            heads[half + i] = second * cosine[half + i] + first * sine[half + i];
        }
}

// Memory of one step, in one piece.
typedef struct {
    float *hidden, *normed, *heads, *attended, *wide, *scaled, *sums, *scores;
    int64_t heads_stride, attended_stride, wide_stride, scores_room;
} Room;

static float *make_room(const Model *model, const Step *step, int num_threads, Room *room) {
    const int64_t rows = step->num_rows, hidden = model->hidden_size;
    const int64_t kv = (int64_t)model->num_kv_heads * model->head_size;
    int64_t longest = 0;
    for (int layer = 0; layer < model->num_layers; layer++)
        for (int row = 0; row < rows; row++)
            if (step->places[layer]->num_tokens[row] > longest)
                longest = step->places[layer]->num_tokens[row];
    room->attended_stride = (int64_t)model->num_heads * model->head_size;
    room->heads_stride = room->attended_stride + 2 * kv;
    room->wide_stride = model->layers[0].gate.num_outputs;
    room->scores_room = (longest + LANES) * (model->num_heads / model->num_kv_heads);
    const int64_t widest = hidden + room->heads_stride + room->wide_stride;
    const int64_t parts[] = {
        rows * hidden, rows * hidden, rows * room->heads_stride, rows * room->attended_stride,
        rows * room->wide_stride, widest, widest, num_threads * room->scores_room,
    };
    float **places[] = {&room->hidden, &room->normed, &room->heads, &room->attended,
                        &room->wide,   &room->scaled, &room->sums,  &room->scores};
    int64_t total = 0;
    for (int i = 0; i < 8; i++) total += parts[i];
    float *memory = malloc((size_t)total * sizeof(float));
    float *next = memory;
    for (int i = 0; i < 8; next += parts[i++]) *places[i] = next;
    return memory;
}

// Share out out (=, += ..) weight * rows.
static void product(Work *work, Task task, const Matrix *weight, const Room *room) {
    work->weight = weight;
    ready(&work->input, weight, work->num_rows, room->scaled, room->sums);
    share_out(task, work, num_panels(weight));
}

static void rows_in(Work *work, const float *rows, int64_t stride) {
    work->input.rows = rows;
    work->input.stride = stride;
}

static void rows_out(Work *work, float *out, int64_t stride) {
    work->out = out;
    work->stride = stride;
}

static void norm_rows(const Work *work, const float *weight, const Room *room) {
    const int64_t size = work->model->hidden_size;
    for (int row = 0; row < work->num_rows; row++)
        norm(work->model, room->hidden + row * size, weight, room->normed + row * size);
}

static int knows_all_tokens(const Step *step) {
    for (int row = 0; row < step->num_rows; row++)
        if (step->input_ids[row] < 0 || step->input_ids[row] >= step->vocab_size) return 0;
    return 1;
}

static void embed(const Model *model, const Step *step, float *hidden) {
    const int64_t size = model->hidden_size;
    for (int row = 0; row < step->num_rows; row++)
        widen(step->embedding_kind, step->embeddings, step->input_ids[row] * size, (int)size,
              hidden + row * size);
}

static void attention_of(Work *work, const Layer *layer, const Room *room) {
    const Model *model = work->model;
    const Step *step = work->step;
    const int kv = model->num_kv_heads * model->head_size;
    norm_rows(work, layer->norm, room);
    rows_in(work, room->normed, model->hidden_size);
    rows_out(work, room->heads, room->heads_stride);
    product(work, put_panel, &layer->qkv, room);
    for (int row = 0; row < step->num_rows; row++) {  // all are written before any is read
        float *heads = room->heads + row * room->heads_stride;
        turn(model, step, row, heads);
        write_kv(step, work->layer, row, heads + room->attended_stride, kv);
    }
    rows_out(work, room->attended, room->attended_stride);
    share_out(attend_task, work, step->num_rows * model->num_kv_heads);
    rows_in(work, room->attended, room->attended_stride);
    rows_out(work, room->hidden, model->hidden_size);
    product(work, add_panel, &layer->o, room);
}

static void feed_forward(Work *work, const Layer *layer, const Room *room) {
    const Model *model = work->model;
    norm_rows(work, layer->norm_again, room);
    rows_in(work, room->normed, model->hidden_size);
    rows_out(work, room->wide, room->wide_stride);
    work->up = &layer->up;
    product(work, gate_panel, &layer->gate, room);
    rows_in(work, room->wide, room->wide_stride);
    rows_out(work, room->hidden, model->hidden_size);
    product(work, add_panel, &layer->down, room);
}

// Logits of the rows that sample.
static void head_of(Work *work, const Room *room) {
    const Model *model = work->model;
    const Step *step = work->step;
    for (int i = 0; i < step->num_samples; i++)
        norm(model, room->hidden + step->sample_rows[i] * model->hidden_size, model->last_norm,
             room->normed + (int64_t)i * model->hidden_size);
    work->num_rows = step->num_samples;
    rows_in(work, room->normed, model->hidden_size);
    rows_out(work, step->logits, model->head.num_outputs);
    product(work, put_panel, &model->head, room);
}

int interface_version(void) { return INTERFACE; }

int decode_step(const Model *model, const Step *step) {
    if (!knows_all_tokens(step)) return NO_SUCH_TOKEN;
    Room room;
    const int num_threads = begin_sharing(step->num_threads);
    float *memory = make_room(model, step, num_threads, &room);
    const int has_room = memory != 0;
    if (has_room) {
        Work work = {.model = model, .step = step, .num_rows = step->num_rows};
        work.heads = room.heads;
        work.heads_stride = room.heads_stride;
        work.scores = room.scores;
        work.scores_room = room.scores_room;
        embed(model, step, room.hidden);
        for (work.layer = 0; work.layer < model->num_layers; work.layer++) {
            attention_of(&work, &model->layers[work.layer], &room);
            feed_forward(&work, &model->layers[work.layer], &room);
        }
        if (step->num_samples) head_of(&work, &room);
    }
    end_sharing();
    free(memory);
    return has_room ? 0 : NO_MEMORY;
}
