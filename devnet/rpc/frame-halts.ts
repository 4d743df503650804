import type { CallFrame } from "./call-frame.ts";
import { gethHalt, needsPlace, type HaltPlace } from "./evm-halt.ts";
import { haltPlaces, type Rerun } from "./halt-tracer.ts";
import type { Node } from "./method.ts";

/** Gives the failed frames of a trace geth's texts; the run is made again where a text names an instruction. */
export async function withGethHalts(node: Node, frame: CallFrame, rerun: Rerun): Promise<CallFrame> {
  const count = countUnplaced(frame);
  if (count === 0) return rewrite(frame, []);
  const places = await haltPlaces(node, rerun);
  // A trace of the outermost call alone has none of the others.
  return rewrite(frame, places.slice(Math.max(0, places.length - count)));
}

function countUnplaced({ error, calls = [] }: CallFrame): number {
  const own = error !== undefined && needsPlace(error) ? 1 : 0;
  return calls.reduce((sum, call) => sum + countUnplaced(call), own);
}

/** Takes `places` in the order in which the frames ended: inner ones before the one that made them. */
function rewrite(outermost: CallFrame, places: readonly (HaltPlace | undefined)[]): CallFrame {
  let next = 0;
  const visit = (frame: CallFrame): CallFrame => {
    const calls = frame.calls?.map(visit);
    const { error } = frame;
    const inner = calls === undefined ? {} : { calls };
    if (error === undefined) return { ...frame, ...inner };
    return { ...frame, ...inner, error: gethHalt(error, needsPlace(error) ? places[next++] : undefined) };
  };
  return visit(outermost);
}
