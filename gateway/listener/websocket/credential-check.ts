import type { CallerIdentity } from "../../callers/caller.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Checks again whose a client's key or token is. */
export type IdentifyAgain = () => CallerIdentity | Promise<CallerIdentity>;

/** Close code of a server that may not go on (RFC 6455, section 7.4.1). */
const policyViolation = 1008;
/** Time in which a client may answer the close; it is served no further than that. */
const goneWithinMs = 1_000;

/**
 * Creates the check whether a connected client is still who it was when it connected. One whose key or token was withdrawn, has expired or has got another
 * tier is closed with 1008: it can connect again with what is good then, and its subscriptions end with what they were allowed by.
 */
export function createCredentialCheck(
  { socket, caller }: Pick<ConnectedClient, "socket" | "caller">,
  identifyAgain: IdentifyAgain,
  withdrawn: () => void,
): Readonly<{ ping: () => void }> {
  const judge = (identity: CallerIdentity) => {
    // Nobody has looked: the next ping checks again.
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
