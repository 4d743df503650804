import { BlockList, isIP } from "node:net";

/** Formats host and port as in a URL; an IPv6 address is enclosed in brackets (RFC 3986, section 3.2.2). */
export function formatAuthority(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Returns a URL's host; an IPv6 address without its brackets. */
export function readUrlHost({ hostname }: Pick<URL, "hostname">): string {
  return hostname.replace(/^\[|\]$/g, "");
}

export function readUrlPort({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Checks whether a listener's host, an address or `localhost`, is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === "localhost" : loopback.check(host, version === 6 ? "ipv6" : "ipv4");
}

export type AllowedHosts = Readonly<{ host: string; allowedHosts: readonly string[] }>;

/**
 * Creates a check for the Host header on an operator's listener. On loopback, the check accepts only an address, `localhost` or a listed
 * name: otherwise a page in a browser on this machine could resolve its own name to 127.0.0.1 and read the responses (DNS rebinding). On
 * other addresses, it accepts every name unless some are listed.
 */
export function createAllowedHostCheck({ host, allowedHosts }: AllowedHosts): (header: string | undefined) => boolean {
  if (allowedHosts.length === 0 && !isLoopback(host)) return () => true;
  const isNamed = createNamedHostCheck(["localhost", ...allowedHosts]);
  return (header) => isNamed(header) || isIP(readHostName(header).replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/** Creates a function that checks whether a Host header, with or without a port, matches one of these hosts. */
export function createNamedHostCheck(hosts: readonly string[]): (header: string | undefined) => boolean {
  const names = new Set(hosts.map((name) => name.toLowerCase()));
  return (header) => names.has(readHostName(header));
}

function readHostName(header: string | undefined): string {
  return header?.replace(/:\d{1,5}$/, "").toLowerCase() ?? "";
}

/** Returns the host at which a listener is reached from its own machine: loopback for a listener on all addresses. */
export function findReachedHost(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
}

/**
 * Returns the TLS option with a server's name (SNI). An IP address is not a valid server name (RFC 6066, section 3), and Node throws if it
 * gets one.
 */
export function buildServerName(host: string): Readonly<{ servername?: string }> {
  return isIP(host) === 0 ? { servername: host } : {};
}
