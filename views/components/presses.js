// Where the presses so far say the cursor ends: at a {position}, or {step, plus}: `plus` sub-steps after the end of `step`.
// Where a step ends that has not run is not known: what is pressed beyond follows in order, `then: [[unit, by], ..]`.
const goalOf = (player) => player.goal ?? { position: player.data.position };
const placeOf = (player, target) => (target.then ? null : target.position ?? (target.step < player.data.ends.length ? player.data.ends[target.step] + target.plus : null));
function beyond(from, unit, by) {
  const then = from.then ?? [], last = then.at(-1), goesOn = last?.[0] === unit && (last[1] > 0) === (by > 0);
  return { ...from, then: goesOn ? [...then.slice(0, -1), [unit, last[1] + by]] : [...then, [unit, by]] };
}

function bySubStep(player, by) {
  const { data } = player, from = goalOf(player), at = placeOf(player, from);
  if (at === null) return from.then ? beyond(from, "sub_step", by) : { step: from.step, plus: from.plus + by };
  const to = at + by;
  if (to < 0 || (to > data.last && !data.can_go_on)) return null;
  return { position: to };
}

function byStep(player, by) {
  const { data } = player, from = goalOf(player), at = placeOf(player, from), n = data.ends.length;
  if (at === null ? from.then || from.plus : at > data.last) return beyond(from, "step", by);
  if (by > 0) {
    if (at === null) return { step: from.step + 1, plus: 0 };
    const end = data.ends.findIndex((end) => end > at);
    if (end >= 0) return { position: data.ends[end] };
    if (data.can_go_on) return { step: n, plus: 0 };
    return at < data.last ? { position: data.last } : null;
  }
  if (at === null) return from.step > n ? { step: from.step - 1, plus: 0 } : { position: data.ends[n - 1] ?? 0 };
  if (at <= 0) return null;
  const before = data.ends.findLastIndex((end) => end < at);
  return { position: before < 0 ? 0 : data.ends[before] };
}
