import { describe, expect, it } from "vitest";
import { SharedTurns } from "./shared-turns.ts";
import { BatchPiece } from "../upstream/batch-piece.ts";
import type { NodeCall, NodeSink } from "../upstream/node-call.ts";
import { finishedFlow } from "../answers/answer-sink.ts";
import { createTurns, turnBytes } from "./turns.ts";

const answer = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":"0x${id}"}`;

/** Turns over a clock that is set by hand, as are the later turns. */
function turnsByHand() {
  const state = { now: 0 };
  const later: (() => void)[] = [];
  const shared = new SharedTurns({ now: () => state.now, later: (run) => void later.push(run) });
  return {
    shared,
    /** Somebody else takes all of this turn's time. */
    use: () => {
      shared.isOver();
      state.now += 100;
    },
    next: () => later.shift()?.(),
  };
}

describe("work in a turn whose time is over", () => {
  it("waits for its caller's turn also where it begins, and goes on then", () => {
    const { shared, use, next } = turnsByHand();
    let steps = 0;
    const step = () => ((steps += 1) <= 3 ? turnBytes : 0);
    use();
    createTurns(shared, "a").run(step, () => false);
    expect(steps).toBe(0);
    next();
    expect(steps).toBe(4);
  });

  it("is not left for later again and again when each turn has but time for one step", () => {
    const { shared, use, next } = turnsByHand();
    let steps = 0;
    const step = () => {
      steps += 1;
      use();
      return steps <= 3 ? turnBytes : 0;
    };
    use();
    createTurns(shared, "a").run(step, () => false);
    for (let turn = 1; turn <= 4; turn += 1) {
      next();
      expect(steps).toBe(turn);
    }
  });

  it("is the handing out of a long answer to a batch, too", () => {
    const { shared, use, next } = turnsByHand();
    const answers: string[] = [];
    let toPiece: NodeSink | undefined;
    const pool = {
      send: ({ sink }: NodeCall) => {
        toPiece = sink;
        return { ...finishedFlow, join: () => undefined };
      },
    };
    const piece = new BatchPiece(
      { items: 100, responseBytes: 1_000_000 },
      { pool, turns: shared, refused: () => undefined, cutAfter: () => undefined },
    );
    const sink = {
      whole: (body: Buffer) => void answers.push(body.toString()),
      begin: () => undefined,
      chunk: () => true,
      end: () => undefined,
      fail: () => undefined,
    };
    for (const id of [1, 2]) {
      piece.add({ caller: "a", id: String(id), body: "", timeoutMs: 1, repeatable: true, sink });
    }
    piece.send();
    toPiece?.begin(undefined);
    toPiece?.chunk(Buffer.from(`[${answer(1)},`));
    toPiece?.chunk(Buffer.from(`${answer(2)}]`));
    use();
    toPiece?.end();
    expect(answers).toEqual([]);
    next();
    expect(answers).toEqual([answer(1), answer(2)]);
  });
});
