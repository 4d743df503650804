import { parseArgs } from "node:util";
import { watchOutput } from "#daemon/command-line/lost-output.ts";
import {
  atoms,
  countFrames,
  buildMessage,
  shapeMethods,
  type Atom,
  type MessageShape,
} from "#gateway/testing/message-shapes.ts";
import { watchTurns, type TurnTimes } from "#gateway/testing/turn-watch.ts";
import { judge, print, formatVerdicts } from "./gateway/table.ts";
import { createRandom } from "../support/seeded-random.ts";
import { describeLoad, saveResults } from "./save-results.ts";

process.once("exit", watchOutput(process.stdout));

/**
 * Searches for the message that blocks the gateway's thread longest in one event loop tick: first every filling in
 * every frame of every method, then small changes of the worst ones. `--steps` of the search, `--seconds` for all of it
 * (then the first messages are chosen at random, and the unmeasured ones are reported), `--shown` lines, `--seed` to
 * repeat a run, `--save` for `docs/benchmarks.md`.
 */
const { values } = parseArgs({
  options: {
    steps: { type: "string", default: "400" },
    seconds: { type: "string", default: "Infinity" },
    shown: { type: "string", default: "12" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    save: { type: "boolean", default: false },
  },
});

const load = describeLoad();

/** Max size of a message (`limits.bodyBytes`), and the target. */
const bodyBytes = 5_242_880;
const targetMs = 5;
/** Number of measurements of a shape; other load on the machine can only increase a time. */
const runs = 9;
const quickMs = 2;
/** Number of shapes for which changes are tried. */
const kept = 24;
/**
 * Shares of the time for each filling in each frame, and for their changes; the rest is for confirming the worst ones.
 */
const endOfFirst = 0.6;
const endOfSteps = 0.9;

type MeasuredShape = Readonly<{ shape: MessageShape; bytes: number; times: TurnTimes }>;

/** A shape that was measured `runs` times: the best time is the message's own cost; the others include load and garbage collection. */
type ConfirmedShape = MeasuredShape & Readonly<{ medianMs: number; worstMs: number }>;

const measure = watchTurns();
const random = createRandom(Number(values.seed));
const names = Object.keys(atoms) as Atom[];

const startedMs = performance.now();
const isPast = (part: number) => performance.now() - startedMs > Number(values.seconds) * 1_000 * part;
const every = listFirstShapes();
const all: MeasuredShape[] = [];
for (const shape of values.seconds === "Infinity" ? every : shuffle(every)) {
  if (isPast(endOfFirst)) break;
  all.push(await measureShape(shape));
}
let worst = all.sort(compareTurns).slice(0, kept);
let steps = 0;
for (; steps < Number(values.steps) && !isPast(endOfSteps); steps += 1) {
  const from = worst[Math.floor(random() ** 2 * worst.length)];
  if (from !== undefined)
    worst = [...worst, await measureShape(changeShape(from.shape))].sort(compareTurns).slice(0, kept);
}
const searched = `${all.length} of ${every.length} shapes, ${steps} steps`;
const confirmed: ConfirmedShape[] = [];
for (const { shape, bytes } of worst) confirmed.push(await confirm(shape, bytes));
confirmed.sort(compareTurns);
print(
  `longest turn of one message, worst first (${searched}, seed ${values.seed})`,
  confirmed.slice(0, Number(values.shown)).map(({ shape, bytes, times, medianMs, worstMs }) => ({
    "turn ms": times.longestMs.toFixed(2),
    "median ms": medianMs.toFixed(2),
    "worst ms": worstMs.toFixed(2),
    "all ms": times.allMs.toFixed(1),
    bytes,
    answer: times.responseText.includes('"error"') ? times.responseText.slice(0, 90) : "served",
    shape: JSON.stringify(shape),
  })),
);
const figure = confirmed[0]?.times.longestMs ?? Number.NaN;
const measurements = judge([{ what: "worst accepted message: ms of one turn", figure, target: { most: targetMs } }]);
print("worst message", formatVerdicts(measurements));
if (values.save) await saveResults(new Map([["worst message", measurements]]), load, { how: searched });

function compareTurns(one: MeasuredShape, other: MeasuredShape): number {
  return other.times.longestMs - one.times.longestMs;
}

/** Returns the best of several runs of a message, made smaller until it fits into `bodyBytes`. */
async function measureShape(shape: MessageShape): Promise<MeasuredShape> {
  const body = buildMessage(shape);
  if (body.length > bodyBytes)
    return measureShape({ ...shape, bytes: shape.bytes * 0.9, items: Math.max(1, shape.items >> 1) });
  let best = await measure(body);
  // A message that is fast once needs no second measurement.
  for (let run = 1; run < runs && best.longestMs > quickMs; run += 1) {
    const times = await measure(body);
    if (times.longestMs < best.longestMs) best = times;
  }
  return { shape, bytes: body.length, times: best };
}

/** Measures a message that was among the worst `runs` times, however fast it is. */
async function confirm(shape: MessageShape, bytes: number): Promise<ConfirmedShape> {
  const body = buildMessage(shape);
  const times: TurnTimes[] = [];
  for (let run = 0; run < runs; run += 1) times.push(await measure(body));
  times.sort((one, other) => one.longestMs - other.longestMs);
  const [best = { longestMs: Number.NaN, allMs: Number.NaN, responseText: "" }] = times;
  const at = (share: number) => times[Math.floor((runs - 1) * share)]?.longestMs ?? Number.NaN;
  return { shape, bytes, times: best, medianMs: at(0.5), worstMs: at(1) };
}

/** Lists each filling in each frame, at sizes around the limits, alone and in batches. */
function listFirstShapes(): readonly MessageShape[] {
  return shapeMethods.flatMap((method) =>
    Array.from({ length: countFrames(method) }, (_, frame) =>
      names.flatMap((atom) =>
        [
          { bytes: 4_000, items: 100 },
          { bytes: 130_000, items: 1 },
          { bytes: 520_000, items: 1 },
        ].map((size): MessageShape => ({ method, frame, atoms: [atom, atom], ratio: 1, spaces: 0, ...size })),
      ),
    ).flat(),
  );
}

function changeShape(shape: MessageShape): MessageShape {
  const pick = <T>(from: readonly T[], otherwise: T) => from[Math.floor(random() * from.length)] ?? otherwise;
  const [first, second] = shape.atoms;
  switch (Math.floor(random() * 6)) {
    case 0:
      return { ...shape, atoms: [first, pick(names, second)] };
    case 1:
      return { ...shape, ratio: 1 + Math.floor(random() * 50) };
    case 2:
      return { ...shape, spaces: Math.floor(random() ** 3 * 200) };
    case 3:
      return { ...shape, bytes: Math.max(10, shape.bytes * (0.5 + random())) };
    case 4:
      return { ...shape, items: Math.min(1_000, Math.max(1, Math.round(shape.items * (0.5 + random() * 1.5)))) };
    default:
      return { ...shape, frame: Math.floor(random() * countFrames(shape.method)) };
  }
}

function shuffle<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
