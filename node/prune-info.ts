/**
 * Output of `node_cli prune --get` (specification, "PruneInfo output"). Version numbers may exceed 2^53. A tool may print only some
 * of the five fields; whether pruning is on is the one that is always known.
 */
export type PruneInfo = Readonly<{
  autoPrune: boolean;
  reservedWindow: bigint | undefined;
  pruneReservedVersion: bigint | undefined;
  flushedVersion: bigint | undefined;
  realPruneReservedVersion: bigint | undefined;
}>;

const versionFields = [
  "auto_prune_reserved_window",
  "prune_reserved_version",
  "flushed_version",
  "real_prune_reserved_version",
] as const;

/** A PruneInfo, or what is missing. */
export type PruneInfoResult = Readonly<{ ok: true; info: PruneInfo } | { ok: false; message: string }>;

/**
 * Reads PruneInfo from lines or JSON, with `:`, `=` or blanks between a name and its value, however they are spaced; anything else
 * (log lines, headings) does not matter. `enable_auto_prune` alone is enough, and has to be 0 or 1, not both: what is switched on can't be
 * switched off, so nothing is guessed.
 */
export function parsePruneInfo(output: string): PruneInfoResult {
  const found = new Map<string, string>();
  const pattern = /(?<![\w-])["']?([a-z_]+)["']?(?:\s*[:=]\s*|\s+)["']?(0x[0-9a-f]+|\d+|true|false)(?![\w.])/gi;
  const switches = new Set<boolean | undefined>();
  for (const [, name = "", value = ""] of output.matchAll(pattern)) {
    found.set(name.toLowerCase(), value.toLowerCase());
    if (name.toLowerCase() === "enable_auto_prune") switches.add(parseSwitch(value.toLowerCase()));
  }
  const shown = JSON.stringify(output.slice(0, 200));
  if (switches.has(true) && switches.has(false))
    return { ok: false, message: `printed enable_auto_prune as 0 and as 1; found ${shown}.` };
  const autoPrune = parseSwitch(found.get("enable_auto_prune"));
  if (autoPrune === undefined)
    return { ok: false, message: `printed no enable_auto_prune that is 0 or 1; found ${shown}.` };
  const [reservedWindow, pruneReservedVersion, flushedVersion, realPruneReservedVersion] = versionFields.map((name) =>
    parseVersion(found.get(name)),
  );
  return {
    ok: true,
    info: { autoPrune, reservedWindow, pruneReservedVersion, flushedVersion, realPruneReservedVersion },
  };
}

function parseSwitch(text: string | undefined): boolean | undefined {
  if (text === "1" || text === "true") return true;
  return text === "0" || text === "false" ? false : undefined;
}

function parseVersion(text: string | undefined): bigint | undefined {
  return text === undefined || text === "true" || text === "false" ? undefined : BigInt(text);
}
