/** The host by which a listener is reached from its own machine: one that listens on every address is on loopback, too. */
export function findReachedHost(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
}
