import type { CallerIdentity } from "../../callers/caller.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Identifies the holder of a client's key or token again. */
export type IdentifyAgain = () => CallerIdentity | Promise<CallerIdentity>;

/** Close code for a policy violation (RFC 6455, section 7.4.1). */
const policyViolation = 1008;
/** Timeout for the client's close frame; until then, the client is served no other data. */
const goneWithinMs = 1_000;

/**
 * Creates the check for whether a connected client still has its original identity. A client whose key or token was revoked, has expired or
 * has changed tier is closed with 1008: it can reconnect with a valid credential, and its subscriptions end with the credential that
 * allowed them.
 */
export function createCredentialCheck(
  { socket, caller }: Pick<ConnectedClient, "socket" | "caller">,
  identifyAgain: IdentifyAgain,
  withdrawn: () => void,
): Readonly<{ ping: () => void }> {
  const judge = (identity: CallerIdentity) => {
    // The credential could not be checked: the next ping checks it again.
    if (identity.kind === "refused" && identity.retryAfterSeconds !== undefined) return;
    const isSame =
      identity.kind === "caller" && identity.caller.key === caller.key && identity.caller.tierName === caller.tierName;
    if (isSame || socket.readyState !== socket.OPEN) return;
    withdrawn();
    socket.close(policyViolation, "the key or token is not valid any more, or has another tier; connect again");
    setTimeout(() => socket.terminate(), goneWithinMs).unref();
  };
  return {
    ping: () => {
      const identity = identifyAgain();
      if (identity instanceof Promise) void identity.then(judge);
      else judge(identity);
    },
  };
}
