/** Fixed cost of an entry beside its text: map slot, object, string headers. */
const entryOverheadBytes = 160;

type Entry = { readonly json: string; used: boolean };

/**
 * Texts by key, counted in bytes. What was not used since it was last passed over goes first (second chance), so that a
 * hit moves nothing.
 */
export type SecondChanceStore = Readonly<{
  get: (key: string) => string | undefined;
  put: (key: string, json: string) => void;
  /** Removes what was unused for longest until at least so many bytes are gone, or everything is. */
  giveUp: (bytes: number) => void;
  clear: () => void;
  bytes: () => number;
  entries: () => number;
}>;

/** Makes an empty store. It has no bound of its own: whoever puts into it calls `giveUp`. */
export function makeSecondChanceStore(): SecondChanceStore {
  let entries = new Map<string, Entry>();
  let bytes = 0;
  const remove = (key: string, { json }: Entry) => {
    entries.delete(key);
    bytes -= sizeOf(key, json);
  };
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entry.used = true;
      return entry.json;
    },
    put: (key, json) => {
      const before = entries.get(key);
      if (before !== undefined) remove(key, before);
      entries.set(key, { json, used: false });
      bytes += sizeOf(key, json);
    },
    giveUp: (count) => {
      const most = bytes - count;
      // A map passes over what is set again while it is walked, so that the walk ends only when there is room.
      for (const [key, entry] of entries) {
        if (bytes <= most) return;
        remove(key, entry);
        if (!entry.used) continue;
        entry.used = false;
        entries.set(key, entry);
        bytes += sizeOf(key, entry.json);
      }
    },
    clear: () => {
      // A new map, because emptying one takes as long as it has entries.
      entries = new Map();
      bytes = 0;
    },
    bytes: () => bytes,
    entries: () => entries.size,
  };
}

function sizeOf(key: string, json: string): number {
  return key.length + json.length + entryOverheadBytes;
}
