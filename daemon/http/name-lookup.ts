import { lookup as lookUpBySystem, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { pause } from "../time.ts";

/** Nobody said what address a name has: whoever has the name was not asked, and is not to blame. */
export class UnresolvedNameError extends Error {
  override readonly name = "UnresolvedNameError";
  /** The system's own code of it, "temporary failure in name resolution". */
  readonly code = "EAI_AGAIN";
  readonly hostname: string;

  constructor(hostname: string, cause: unknown) {
    super(`no name server says what address ${hostname} has`, { cause });
    this.hostname = hostname;
  }
}

/** The system's lookup of a name's addresses. */
type SystemLookup = (
  hostname: string,
  options: Readonly<{ all: true; hints?: number }>,
  answer: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** Every name by which this host is itself (RFC 6761, section 6.3). */
const loopback: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Time that the lookup of a name may take before its last known address is used again. */
const reuseAfterMs = 500;
/** Most names whose addresses are remembered; those first found go first. */
const namesMax = 256;

/**
 * Creates a lookup for sockets. The system's own waits in one of few threads for as long as a name server is silent, ten seconds and more,
 * and other names wait behind it. So a name is requested once at a time however many want it; one that had an address keeps it while no
 * server answers; and `localhost` is never looked up. A name that a server denies (`ENOTFOUND`) is reported as denied.
 */
export function createNameLookup({ lookUp }: Readonly<{ lookUp: SystemLookup }>): LookupFunction {
  const known = new Map<string, readonly LookupAddress[]>();
  const lookups = new Map<string, Promise<readonly LookupAddress[]>>();

  const remember = (hostname: string, addresses: readonly LookupAddress[]): void => {
    const [first] = known.keys();
    if (first !== undefined && known.size >= namesMax && !known.has(hostname)) known.delete(first);
    known.set(hostname, addresses);
  };
  const lookUpOnce = (hostname: string, hints: number | undefined): Promise<readonly LookupAddress[]> => {
    const running = lookups.get(hostname);
    if (running !== undefined) return running;
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
    const answer = lookUpOnce(hostname, hints);
    const before = known.get(hostname);
    if (before === undefined) return answer;
    const over = new AbortController();
    const late = pause(reuseAfterMs, over.signal).then(() => before);
    const kept = answer.catch((error: unknown) => {
      if (error instanceof UnresolvedNameError) return before;
      throw error;
    });
    return Promise.race([kept, late]).finally(() => over.abort());
  };
  return (hostname, { all, family, hints }, answer) => {
    const wanted = family === "IPv4" ? 4 : family === "IPv6" ? 6 : (family ?? 0);
    find(hostname, hints).then(
      (addresses) => {
        const fitting = [...addresses].filter((one) => wanted === 0 || one.family === wanted);
        const [first] = fitting;
        if (first === undefined) return answer(buildNoAddressError(hostname), "");
        return all === true ? answer(null, fitting) : answer(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => answer(error, ""),
    );
  };
}

function buildNoAddressError(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address of the family that is wanted`), { code: "ENOTFOUND" });
}

/** The lookup of this process, whose threads all its sockets share. */
export const lookupName = createNameLookup({ lookUp: lookUpBySystem });

/** A lookup of one connection. */
type WatchedLookup = Readonly<{
  lookup: LookupFunction;
  /** The name that nobody has answered for yet; undefined when none is requested. */
  pending: () => string | undefined;
}>;

/** Creates {@link lookupName} for one connection, so that whoever gives up waiting knows whether it was for a name. */
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
