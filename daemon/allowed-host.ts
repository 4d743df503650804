import { isIP } from "node:net";
import { isLoopback } from "./loopback.ts";

/** Where an operator's listener listens, and by which names it may be asked beside addresses. */
export type AllowedHosts = Readonly<{ host: string; allowedHosts: readonly string[] }>;

/**
 * Whether a Host header may ask an operator's listener. On loopback only an address, `localhost` or a listed name does: a page in a
 * browser on this machine could else make its own name resolve to 127.0.0.1 and read what is served (DNS rebinding). Elsewhere every
 * name does, until some are listed.
 */
export function allowedHost({ host, allowedHosts }: AllowedHosts): (header: string | undefined) => boolean {
  const names = new Set(["localhost", ...allowedHosts.map((name) => name.toLowerCase())]);
  if (allowedHosts.length === 0 && !isLoopback(host)) return () => true;
  return (header) => {
    const name = header?.replace(/:\d{1,5}$/, "").toLowerCase() ?? "";
    return names.has(name) || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
  };
}
