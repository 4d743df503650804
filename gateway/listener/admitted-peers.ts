import type { Server } from "node:http";
import { refuseConnection } from "#daemon/http/connections/refused-connection.ts";
import { putBefore } from "#daemon/http/raw-connections.ts";
import { addressNotAdmitted, rawRefusal } from "./http-errors.ts";

/** Who may call a listener. */
export type AdmittedPeers = Readonly<{
  mayCall: (address: string) => boolean;
  /** The setting that names those who may, for the refusal. */
  setting: string;
}>;

/**
 * Puts a gate before whoever serves a server's connections: a peer whose address may not call is answered 403, and nothing that it
 * sends is read. Call it last of all, before the server listens.
 */
export function admitPeers(server: Server, { mayCall, setting }: AdmittedPeers): void {
  const refusal = rawRefusal(addressNotAdmitted(setting));
  putBefore(server, (behind) => (socket) => {
    if (mayCall(socket.remoteAddress ?? "")) behind(socket);
    else refuseConnection(socket, refusal);
  });
}
