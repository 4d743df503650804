import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { prependHandler, sliceReads, type SlicedReads } from "#daemon/http/raw-connections.ts";
import { toPeerInfo } from "../callers/request-facts.ts";
import { PendingTurn } from "../wire/shared-turns.ts";
import type { RequestContext } from "./listener-context.ts";

/**
 * Passes a connection's bytes to node:http in slices, round-robin with other callers: node:http parses all bytes that it gets at once, and
 * a single read may contain thousands of requests or chunks. Call it before anything else handles the server's connections.
 */
export function paceConnections(
  server: Server,
  { turns, addressOf }: Pick<RequestContext, "turns" | "addressOf">,
): void {
  const paced = new WeakMap<Socket, SlicedReads>();
  prependHandler(server, (behind) => (socket) => {
    behind(socket);
    const address = () => addressOf(toPeerInfo(socket));
    const turn = new PendingTurn(turns, () => reads.next());
    const reads = sliceReads(socket, (isFirst) => (isFirst ? turn.waitForTurn(address) : turn.waitIfOver(address)));
    paced.set(socket, reads);
  });
  for (const event of ["request", "checkContinue"])
    server.prependListener(event, ({ headers, socket }: IncomingMessage) =>
      paced.get(socket)?.allow(Number(headers["content-length"] ?? 0)),
    );
  server.prependListener("upgrade", ({ socket }: IncomingMessage) => paced.get(socket)?.release());
}
