import { lookup as lookUpBySystem, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { pause } from "../time.ts";

/** No name server returned an address for the host name. The host itself was not contacted and is not at fault. */
export class UnresolvedNameError extends Error {
  override readonly name = "UnresolvedNameError";
  /** The system's code for "temporary failure in name resolution". */
  readonly code = "EAI_AGAIN";
  readonly hostname: string;

  constructor(hostname: string, cause: unknown) {
    super(`no DNS server resolves ${hostname}`, { cause });
    this.hostname = hostname;
  }
}

type SystemLookup = (
  hostname: string,
  options: Readonly<{ all: true; hints?: number }>,
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** The addresses of `localhost` names (RFC 6761, section 6.3). */
const loopback: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Time limit for a DNS lookup, after which the name's last known address is reused. */
const reuseAfterMs = 500;
/** Max number of names whose addresses are remembered; the oldest entries are evicted first. */
const namesMax = 256;

/**
 * Creates a DNS lookup for sockets. While a name server doesn't respond, the system's own lookup blocks a thread of the small thread pool
 * for ten seconds or more, and other names queue behind it. Therefore concurrent lookups of a name share one request; a name with a known
 * address keeps it while no server responds; and `localhost` is never looked up. If a server reports that a name doesn't exist
 * (`ENOTFOUND`), so does the lookup.
 */
export function createNameLookup({ lookUp }: Readonly<{ lookUp: SystemLookup }>): LookupFunction {
  const known = new Map<string, readonly LookupAddress[]>();
  const lookups = new Map<string, Promise<readonly LookupAddress[]>>();

  const remember = (hostname: string, addresses: readonly LookupAddress[]): void => {
    const [first] = known.keys();
    if (first !== undefined && known.size >= namesMax && !known.has(hostname)) known.delete(first);
    known.set(hostname, addresses);
  };
  const lookUpShared = (hostname: string, hints: number | undefined): Promise<readonly LookupAddress[]> => {
    const lookupInFlight = lookups.get(hostname);
    if (lookupInFlight !== undefined) return lookupInFlight;
    const { promise, resolve, reject } = Promise.withResolvers<readonly LookupAddress[]>();
    lookups.set(hostname, promise);
    lookUp(hostname, { all: true, ...(hints === undefined ? {} : { hints }) }, (error, addresses) => {
      lookups.delete(hostname);
      if (error === null) {
        remember(hostname, addresses);
        resolve(addresses);
      } else reject(error.code === "EAI_AGAIN" ? new UnresolvedNameError(hostname, error) : error);
    });
    return promise;
  };
  const find = async (hostname: string, hints: number | undefined): Promise<readonly LookupAddress[]> => {
    if (/^(?:.+\.)?localhost\.?$/i.test(hostname)) return loopback;
    const lookup = lookUpShared(hostname, hints);
    const previousLookup = known.get(hostname);
    if (previousLookup === undefined) return lookup;
    const over = new AbortController();
    const late = pause(reuseAfterMs, over.signal).then(() => previousLookup);
    const kept = lookup.catch((error: unknown) => {
      if (error instanceof UnresolvedNameError) return previousLookup;
      throw error;
    });
    return Promise.race([kept, late]).finally(() => over.abort());
  };
  return (hostname, { all, family, hints }, respond) => {
    const wantedFamily = family === "IPv4" ? 4 : family === "IPv6" ? 6 : (family ?? 0);
    find(hostname, hints).then(
      (addresses) => {
        const matchingAddresses = [...addresses].filter((one) => wantedFamily === 0 || one.family === wantedFamily);
        const [first] = matchingAddresses;
        if (first === undefined) return respond(buildNoAddressError(hostname), "");
        return all === true ? respond(null, matchingAddresses) : respond(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => respond(error, ""),
    );
  };
}

function buildNoAddressError(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address of the required family`), { code: "ENOTFOUND" });
}

/** The DNS lookup of this process, whose thread pool is shared by all its sockets. */
export const lookupName = createNameLookup({ lookUp: lookUpBySystem });

type WatchedLookup = Readonly<{
  lookup: LookupFunction;
  /** The name being looked up; undefined if there is none. */
  pending: () => string | undefined;
}>;

/** Wraps {@link lookupName} for one connection, so that a caller that times out knows whether it was waiting for a DNS lookup. */
export function watchLookup(): WatchedLookup {
  let pending: string | undefined;
  return {
    lookup: (hostname, how, done) => {
      pending = hostname;
      lookupName(hostname, how, (...found) => {
        pending = undefined;
        done(...found);
      });
    },
    pending: () => pending,
  };
}
