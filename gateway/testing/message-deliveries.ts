import * as fc from "fast-check";
import { messageBytes } from "./generated-messages.ts";

/** Number of deliveries generated at a time. */
const madeAtOnce = 1_000;

/**
 * How a message is sent: in one write, in pieces, in chunks or over WebSocket; or as an unreadable message: in invalid chunks, with a wrong
 * length, or cut off by a client that disconnects.
 */
type DeliveryWay = "whole" | "pieces" | "chunks" | "webSocket" | "brokenChunks" | "wrongLength" | "cutOff";

/** A message and how it is sent. */
export type Delivery = Readonly<{
  body: Buffer;
  way: DeliveryWay;
  /** Positions at which the body is split, in thousandths of its length. */
  cuts: readonly number[];
  /** Pause between the pieces, in ms. */
  pauseMs: number;
  /** Number that selects the fault in an unreadable delivery. */
  harm: number;
}>;

const delivery: fc.Arbitrary<Delivery> = fc.record({
  body: messageBytes,
  way: fc.oneof(
    { weight: 10, arbitrary: fc.constant<DeliveryWay>("whole") },
    { weight: 6, arbitrary: fc.constantFrom<DeliveryWay[]>("pieces", "chunks", "webSocket") },
    { weight: 3, arbitrary: fc.constantFrom<DeliveryWay[]>("brokenChunks", "wrongLength", "cutOff") },
  ),
  cuts: fc.array(fc.nat(999), { maxLength: 4 }),
  pauseMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 5),
  harm: fc.nat(1_000),
});

/** Generates deliveries; deterministic for a given seed. */
export function* createDeliveries(seed: number, runs: number): Generator<Delivery> {
  for (let made = 0; made < runs; made += madeAtOnce) {
    yield* fc.sample(delivery, { seed: seed + made, numRuns: Math.min(madeAtOnce, runs - made) });
  }
}

/** Splits the body into the pieces to send. */
export function truncateBody({ body, cuts }: Delivery): readonly Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.floor((cut * body.length) / 1_000)).sort((a, b) => a - b), body.length];
  return places.slice(1).map((end, at) => body.subarray(places[at], end));
}

const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";

/** Returns the pieces of a delivery that can't be read as a request. */
export function cutBroken(given: Delivery): readonly Buffer[] {
  const { body, way, harm } = given;
  const pieces = truncateBody(given);
  if (way === "brokenChunks") {
    const sizes = ["zz", "-1", "", "ffffffffffffffffff", `${(body.length + 1).toString(16)}`, "5 5", "0x5", "5;a\n"];
    const size = sizes[harm % sizes.length] ?? "";
    return [`${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n`, ...pieces, "\r\n0\r\n\r\n"].map((piece) =>
      Buffer.from(piece),
    );
  }
  if (way === "wrongLength") {
    const length = Math.max(0, body.length + (harm % 41) - 20);
    return [Buffer.from(`${head}Content-Length: ${length}\r\n\r\n`), ...pieces];
  }
  const sent = pieces.slice(0, harm % (pieces.length + 1));
  return [Buffer.from(`${head}Content-Length: ${body.length + 1}\r\n\r\n`), ...sent];
}
