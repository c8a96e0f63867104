// Eight numbers at once, in the compiler's own vector types: any processor has some form of them.
#pragma once
#include <stdint.h>

#define LANES 8
#define PANEL 32  // outputs of a weight that stand side by side: four vectors
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE Floats floats_at(const float *p) { return *(const Floats *)p; }
INLINE Words words_at(const uint32_t *p) { return *(const Words *)p; }
INLINE Floats all(float x) { return (Floats){0} + x; }

INLINE float sum_of(Floats x) {
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// A word holds two bfloat16. Each is the upper half of a float32 already.
INLINE Floats bfloat16_low(Words w) { return (Floats)(w << 16); }
INLINE Floats bfloat16_high(Words w) { return (Floats)(w & 0xffff0000u); }

// float16 has 5 bits of exponent where float32 has 8: moved there it is 2^112 too small.
INLINE Floats float16_high(Words w) {
    return (Floats)((Words)((Ints)w >> 3) & 0x8fffe000u) * 0x1p112f;
}
INLINE Floats float16_low(Words w) { return float16_high(w << 16); }

INLINE Floats at_least(Floats x, float low) {
    const Words is_more = (Words)(x > low);
    return (Floats)((is_more & (Words)x) | (~is_more & (Words)all(low)));
}

// e^x = 2^n * e^r with n whole and |r| <= ln(2) / 2, where a short series is enough; from
// e^-87 to e^87.
INLINE Floats exp_of(Floats x) {
    x = -at_least(-at_least(x, -87.0f), -87.0f);
    const Floats shifted = x * 1.44269504f + 0x1.8p23f;  // its last bits are n
    const Floats n = shifted - 0x1.8p23f;
    const Floats r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln(2) in two parts
    Floats series = all(1.0f / 5040);
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    const Words power = ((Words)shifted << 23) + (127u << 23);
    return series * (Floats)power;
}
