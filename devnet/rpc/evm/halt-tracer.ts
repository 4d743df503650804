import { AnvilRequestError } from "../../anvil/anvil-request.ts";
import { needsSlot, type HaltLocation, toGethHalt } from "./evm-halt.ts";
import type { Node } from "../method.ts";
import { PrunedStateError } from "./pruned-state.ts";
import type { CallFrame } from "./call-frame.ts";

/** Max traced steps; a longer run keeps the text without the instruction. */
const stepsMax = 200_000;

/** Error and last instruction of a failed frame. */
type FailedFrame = readonly [error: string, last: readonly [opcode: number, stackItems: number] | null];

/** Tracer that runs in anvil, with geth's interface (`step`, `enter`, `exit`, `result`): lists the failed frames in exit order. */
const tracer = `{
  depth: 0, steps: 0, last: [null], failed: [],
  step: function (log) {
    this.steps += 1;
    if (this.steps > ${stepsMax}) throw "too long";
    this.last[this.depth] = [log.op.toNumber(), log.stack.length()];
  },
  fault: function () {},
  enter: function () { this.depth += 1; this.last[this.depth] = null; },
  exit: function (frame) {
    if (frame.getError()) this.failed.push([frame.getError(), this.last[this.depth]]);
    this.depth -= 1;
  },
  result: function (context) {
    if (context.error) this.failed.push([context.error, this.last[0]]);
    return this.steps > ${stepsMax} ? [] : this.failed;
  }
}`;

/** Run to repeat: a transaction of the chain, or a call with the arguments of `debug_traceCall`. */
type Rerun =
  | Readonly<{ transaction: string }>
  | Readonly<{ call: object; block: unknown; overrides: Readonly<Record<string, unknown>> }>;

/**
 * Finds the halting instruction of each frame whose error text contains the instruction, in exit order. Returns an empty list if the run is
 * too long to trace or its state is pruned.
 */
async function findHaltPlaces(node: Node, rerun: Rerun): Promise<readonly (HaltLocation | undefined)[]> {
  const failed = await repeatRun(node, rerun);
  return failed.filter(([error]) => needsSlot(readHaltName(error))).map(([, last]) => toPlace(last));
}

/** Finds the instruction at which a run as a whole halted. */
export async function findHaltLocation(node: Node, rerun: Rerun): Promise<HaltLocation | undefined> {
  return (await findHaltPlaces(node, rerun)).at(-1);
}

async function repeatRun({ anvil }: Node, rerun: Rerun): Promise<readonly FailedFrame[]> {
  try {
    const found =
      "transaction" in rerun
        ? await anvil.request("debug_traceTransaction", [rerun.transaction, { tracer }])
        : await anvil.request("debug_traceCall", [rerun.call, rerun.block, { tracer, ...rerun.overrides }]);
    return Array.isArray(found) ? (found as readonly FailedFrame[]) : [];
  } catch (error) {
    if (error instanceof AnvilRequestError || error instanceof PrunedStateError) return [];
    throw error;
  }
}

/** Reads a halt's name; the outermost frame has `execution halted: StackUnderflow`. */
function readHaltName(error: string): string {
  return error.replace("execution halted: ", "");
}

function toPlace(last: FailedFrame[1]): HaltLocation | undefined {
  return last === null ? undefined : { opcode: last[0], stackItems: last[1] };
}

/** Replaces the error texts of a trace's failed frames with geth's; repeats the run if a text contains an instruction. */
export async function withGethHalts(node: Node, frame: CallFrame, rerun: Rerun): Promise<CallFrame> {
  const count = countUnplaced(frame);
  if (count === 0) return rewrite(frame, []);
  const places = await findHaltPlaces(node, rerun);
  // A trace of the outermost call alone has no inner frames.
  return rewrite(frame, places.slice(Math.max(0, places.length - count)));
}

function countUnplaced({ error, calls = [] }: CallFrame): number {
  const own = error !== undefined && needsSlot(error) ? 1 : 0;
  return calls.reduce((sum, call) => sum + countUnplaced(call), own);
}

/** Consumes `places` in the frames' exit order: inner frames before their caller. */
function rewrite(outermost: CallFrame, places: readonly (HaltLocation | undefined)[]): CallFrame {
  let next = 0;
  const visit = (frame: CallFrame): CallFrame => {
    const calls = frame.calls?.map(visit);
    const { error } = frame;
    const inner = calls === undefined ? {} : { calls };
    if (error === undefined) return { ...frame, ...inner };
    return { ...frame, ...inner, error: toGethHalt(error, needsSlot(error) ? places[next++] : undefined) };
  };
  return visit(outermost);
}
