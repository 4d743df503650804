import type { ForwardedBy } from "#daemon/http/proxies/client-address.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { SettingNames } from "../settings/names.ts";

/** Called for a request that is counted by the address of its connection, whether or not that address belongs to a trusted proxy. */
export type ProxyNotice = (isTrusted: boolean, facts: ForwardedBy & Readonly<{ remoteAddress: string }>) => void;

/** Min interval between two log lines of the same kind: anyone can send such requests. */
const pauseMs = 3_600_000;

/**
 * Logs signs that a proxy does not match the settings, because all its clients would then share one client's limits: an untrusted peer
 * sends a forwarding header with an address, or a trusted proxy sends no address in the configured header.
 */
export function logProxyNotices(
  { forwardedHeader, proxyProtocol }: Readonly<{ forwardedHeader: string; proxyProtocol: boolean }>,
  { log, settingNames, now }: Readonly<{ log: Logger; settingNames: SettingNames; now: () => number }>,
): ProxyNotice {
  const nextAt = { untrusted: 0, silent: 0 };
  const trusted = settingNames.key("callers.trustedProxies");
  const header = settingNames.key("callers.forwardedHeader");
  return (isTrusted, { remoteAddress, forwardedFor, forwarded }) => {
    const kind = isTrusted ? "silent" : "untrusted";
    if (!isTrusted && forwardedFor === undefined && forwarded === undefined) return;
    // A proxy that sends the client's address via the PROXY protocol sends none for its own requests, such as health checks.
    if (isTrusted && proxyProtocol) return;
    if (now() < nextAt[kind]) return;
    nextAt[kind] = now() + pauseMs;
    const what = isTrusted
      ? `the trusted proxy ${remoteAddress} sends requests without ${forwardedHeader}: its clients share the limits of one address; make it send that header, or name the one that it sends in ${header}`
      : `${remoteAddress} says whom it serves and is not believed; if it is a proxy of yours, its clients share the limits of one address: add it to ${trusted}`;
    log.warn({ event: isTrusted ? "proxy-header-missing" : "proxy-not-trusted", remoteAddress }, what);
  };
}
