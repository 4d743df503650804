import type { ServerResponse } from "node:http";
import type { BoundedLog } from "#daemon/log/bounded-log.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import { within } from "#daemon/time.ts";
import type { SaleInfo } from "./sale/sale-lines.ts";
import type { SaleOutcome } from "./sale/sale-outcome.ts";

/** Outcomes that deliver an upstream's response to the client. */
type Given = Extract<SaleOutcome, { kind: "sold" | "declined" }>;

/** Response, memory and timeout of a delivery. */
type Sending = Readonly<{ outgoing: ServerResponse; memory: ConnectionMemory; deliveryTimeoutMs: number }>;

type About = Readonly<{ facts: SaleInfo; lines: BoundedLog }>;

/**
 * Ends a delivery when the whole response is written to the network, the connection is closed (possibly in favour of other clients), or on
 * timeout. Buffers the response until then.
 */
export async function followDelivery(
  given: Given,
  { outgoing, memory, deliveryTimeoutMs }: Sending,
  { facts, lines }: About,
): Promise<void> {
  memory.waits(given.response.body.byteLength);
  const broken = await waitForEnd(outgoing, deliveryTimeoutMs);
  memory[Symbol.dispose]();
  if (given.kind === "declined") return;
  const { delivery } = given;
  if (broken === undefined) return record(delivery.delivered(), { facts, lines });
  lines.warn(
    { event: "delivery-broken", err: broken, ...facts },
    "the client did not take its response; the same payment gets it again",
  );
  return record(delivery.undelivered(), { facts, lines });
}

/** Waits until a response is sent. Returns the error if sending failed; the connection is closed then. */
async function waitForEnd(outgoing: ServerResponse, deliveryTimeoutMs: number): Promise<unknown> {
  try {
    await within("the delivery", deliveryTimeoutMs, waitForFinish(outgoing));
    return undefined;
  } catch (error) {
    outgoing.destroy();
    return error;
  }
}

/** Like `finished` of `node:stream`, which adds a dozen listeners to each response. */
function waitForFinish(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => (outgoing.writableFinished ? resolve() : reject(new Error("the connection was closed")));
    outgoing.once("finish", resolve).once("close", end);
    if (outgoing.destroyed) end();
  });
}

async function record(end: Promise<void>, { facts, lines }: About): Promise<void> {
  try {
    await end;
  } catch (error) {
    lines.error(
      { event: "delivery-not-recorded", err: error, ...facts },
      "the end of a delivery can't be recorded; the same payment could get its response again",
    );
  }
}
