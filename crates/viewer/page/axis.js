// Units that people read along the axis of time, and the ticks of all axes.

const MS = 1, S = 1000, MIN = 60 * S, H = 60 * MIN, DAY = 24 * H;
const STEPS = [...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * MS), ...[1, 2, 5, 10, 15, 30].map((n) => n * S), ...[1, 2, 5, 10, 15, 30].map((n) => n * MIN), ...[1, 2, 3, 6, 12].map((n) => n * H), ...[1, 2, 5, 10, 20, 50, 100].map((n) => n * DAY)];
const UNITS = [["d", DAY], ["h", H], ["min", MIN], ["s", S], ["ms", MS]];

/** A time in milliseconds in at most two units: `1 s`, `5 min`, `2 h 30 min`. */
export function spell(value) {
  const at = UNITS.findIndex(([, size]) => Math.abs(value) >= size);
  if (at < 0) return value === 0 ? "0" : `${Number(value.toPrecision(3))} ms`;
  const [unit, size] = UNITS[at], [smaller, less] = UNITS[at + 1] ?? [];
  if (unit === "ms" || unit === "s") return `${Number((value / size).toFixed(3))} ${unit}`;
  const whole = Math.floor(value / size), rest = Math.round((value - whole * size) / less);
  return rest ? `${whole} ${unit} ${rest} ${smaller}` : `${whole} ${unit}`;
}

/** Where ticks lie along an axis. */
export function ticksOf(view, width) {
  const span = view.to - view.from, most = Math.max(2, Math.floor(width / 90)), found = [];
  const power = 10 ** Math.floor(Math.log10(span / most)), rounds = [1, 2, 5, 10].map((factor) => factor * power);
  const isTime = view.name === "time" && span / most > MS;
  const step = (isTime ? STEPS : rounds).find((candidate) => span / candidate <= most) ?? power * 10;
  const least = view.name === "time" ? step : Math.max(1, Math.round(step));
  for (let value = Math.ceil(view.from / least) * least; value <= view.to; value += least) found.push(value);
  return found;
}
