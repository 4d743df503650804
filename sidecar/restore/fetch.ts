import { lookupName } from "#daemon/http/name-lookup.ts";

/**
 * Creates a `fetch` that resolves host names via {@link lookupName}, so that an unresolvable name doesn't block other destinations. Node's
 * own `fetch` accepts no lookup function. Loaded on first use, because it takes 13 MiB.
 */
export function createFetch(): typeof globalThis.fetch {
  let pendingFetch: Promise<typeof globalThis.fetch> | undefined;
  return async (input, init) => {
    pendingFetch ??= load();
    return (await pendingFetch)(input, init);
  };
}

async function load(): Promise<typeof globalThis.fetch> {
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({ connect: { lookup: lookupName } });
  // Node's types and the library's follow two versions of the same standard.
  const undiciFetch = fetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => undiciFetch(input, { ...init, dispatcher });
}
