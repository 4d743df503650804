/** Bounds of the cache. */
export type AnswerCacheOptions = Readonly<{ totalBytes: number; entryBytes: number }>;

/** Fixed cost of an entry beside its text: map slot, object, string headers. */
const entryOverheadBytes = 160;

/** Generation of what does not end with the head. */
const ever = -1;

type Entry = { readonly json: string; readonly generation: number; used: boolean };

/**
 * Results of reads, by method and parameters. Bounded in bytes; what was not used since it was last passed over goes first
 * (second chance), so that a hit moves nothing.
 */
export type AnswerCache = Readonly<{
  get: (key: string, generation: number) => string | undefined;
  /** Keeps a result while the head's generation is this one. */
  putForHead: (key: string, json: string, generation: number) => void;
  /** Counts how often the cache was cleared: what was asked for in one epoch is not kept in another. */
  epoch: () => number;
  /** Keeps a result that can't change, unless the cache was cleared since the epoch in which it was asked for. */
  putForEver: (key: string, json: string, askedIn: number) => void;
  clear: () => void;
  bytes: () => number;
  entries: () => number;
}>;

/** Makes an empty cache. */
export function makeAnswerCache(options: AnswerCacheOptions): AnswerCache {
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let epoch = 0;

  const remove = (key: string, entry: Entry) => {
    entries.delete(key);
    bytes -= sizeOf(key, entry.json);
  };
  const makeRoom = () => {
    for (const [key, entry] of entries) {
      if (bytes <= options.totalBytes) return;
      if (entry.used) {
        entry.used = false;
        entries.delete(key);
        entries.set(key, entry);
      } else remove(key, entry);
    }
  };
  const put = (key: string, json: string, generation: number) => {
    if (json.length > options.entryBytes) return;
    const before = entries.get(key);
    if (before !== undefined) remove(key, before);
    entries.set(key, { json, generation, used: false });
    bytes += sizeOf(key, json);
    if (bytes > options.totalBytes) makeRoom();
  };
  return {
    get: (key, generation) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (entry.generation !== ever && entry.generation !== generation) {
        remove(key, entry);
        return undefined;
      }
      entry.used = true;
      return entry.json;
    },
    putForHead: put,
    epoch: () => epoch,
    putForEver: (key, json, askedIn) => {
      if (askedIn === epoch) put(key, json, ever);
    },
    clear: () => {
      epoch += 1;
      entries.clear();
      bytes = 0;
    },
    bytes: () => bytes,
    entries: () => entries.size,
  };
}

function sizeOf(key: string, json: string): number {
  return key.length + json.length + entryOverheadBytes;
}
