// Numbers of the cache and of embeddings, from and to float32.
#pragma once
#include <stdint.h>
#include "decode.h"

static inline float bits_to_float(uint32_t bits) {
    union { uint32_t bits; float number; } both = {bits};
    return both.number;
}

static inline uint32_t float_to_bits(float number) {
    union { float number; uint32_t bits; } both = {number};
    return both.bits;
}

// Stored numbers to float32.
static inline void widen(int kind, const void *stored, int64_t first, int count, float *out) {
    const uint16_t *halves = (const uint16_t *)stored + first;
    if (kind == FLOAT32) {
        for (int i = 0; i < count; i++) out[i] = ((const float *)stored)[first + i];
    } else if (kind == BFLOAT16) {
        for (int i = 0; i < count; i++) out[i] = bits_to_float((uint32_t)halves[i] << 16);
    } else {
        for (int i = 0; i < count; i++) {
            const int32_t high = (int32_t)((uint32_t)halves[i] << 16);
            out[i] = bits_to_float((uint32_t)(high >> 3) & 0x8fffe000u) * 0x1p112f;
        }
    }
}

// To the nearest number that can be stored, of two equally near the even one.
static inline void narrow(int kind, const float *numbers, int count, void *stored, int64_t first) {
    if (kind == FLOAT32) {
        for (int i = 0; i < count; i++) ((float *)stored)[first + i] = numbers[i];
    } else if (kind == BFLOAT16) {
        for (int i = 0; i < count; i++) {
            const uint32_t bits = float_to_bits(numbers[i]);
            ((uint16_t *)stored)[first + i] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
        }
    } else {
        for (int i = 0; i < count; i++) ((_Float16 *)stored)[first + i] = (_Float16)numbers[i];
    }
}
